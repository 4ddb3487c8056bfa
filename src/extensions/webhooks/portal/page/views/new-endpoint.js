import { html } from 'htm/preact';
import { Title, useAction } from '../parts/controls.js';
import { EndpointForm } from '../parts/endpoint-form.js';
import { newSecrets } from '../parts/secret.js';
import { goTo, hrefOf } from '../router.js';
import { send } from '../session.js';

/** The page that creates an endpoint. */
export function NewEndpoint() {
  const { busy, error, run } = useAction();
  const create = (values) =>
    run(async () => {
      const { data } = await send('', { method: 'POST', body: values });
      newSecrets.value = { ...newSecrets.value, [data.id]: data.secret };
      goTo(data.id, 'verify');
    });
  return html`
    <nav aria-label="Back"><a href=${hrefOf()}>← All endpoints</a></nav>
    <${Title}>Add an endpoint<//>
    <div class="card"><${EndpointForm} isNew busy=${busy} error=${error} label="Add the endpoint" onSubmit=${create} /></div>
  `;
}
