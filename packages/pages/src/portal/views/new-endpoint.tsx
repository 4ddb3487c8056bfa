import { texts as kitTexts } from '../../kit/texts.ts';
import { EndpointForm } from '../parts/endpoint-form.tsx';
import { Title } from '../parts/page.tsx';
import { useAction } from '../parts/requests.ts';
import type { EndpointInput, EndpointWithSecret, PortalLink } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
import { goTo, hrefOf } from '../window.ts';
import { addSecret } from './secret.tsx';

/** The page that creates an endpoint. */
export function NewEndpoint({ link }: { link: PortalLink }) {
  const { busy, error, run } = useAction();
  const create = (body: EndpointInput) =>
    run(async () => {
      const { data } = await send<EndpointWithSecret>('', { method: 'POST', body });
      addSecret(data.id, data.secret);
      goTo(data.id, 'verify');
    });
  return (
    <>
      <nav class="back" aria-label={kitTexts.back}>
        <a href={hrefOf()}>{texts.allEndpoints}</a>
      </nav>
      <Title>{texts.addEndpoint}</Title>
      <div class="card">
        <EndpointForm
          includeGlobal={link.includeGlobal}
          roles={link.organisation?.roles}
          busy={busy}
          error={error}
          label={texts.form.add}
          onSubmit={create}
        />
      </div>
    </>
  );
}
