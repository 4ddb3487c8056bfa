import { call, Loaded, Page, showToast, useLoaded } from '../../console/kit.ts';
import { EndpointForm, type EndpointValues } from './endpoint-form.tsx';
import type { Endpoint, NewSecret } from './responses.ts';
import { showSecret } from './secret.tsx';
import { endpointHref, HOME } from './states.tsx';
import { texts } from './texts.ts';

/** Creates an endpoint for a chosen owner. */
export function NewEndpointPage() {
  const create = async (body: EndpointValues) => {
    const { data } = await call<NewSecret>('/webhooks/endpoints', { method: 'POST', body });
    await showSecret(data);
    return endpointHref(data.id);
  };
  return (
    <Page title={texts.createEndpoint} back={{ href: `${HOME}/endpoints`, label: texts.endpoints.title }}>
      <EndpointForm onSubmit={create} cancelHref={`${HOME}/endpoints`} />
    </Page>
  );
}

/** Changes the URL, the events and the pace of an endpoint. */
export function EditEndpointPage({ id }: { id: string }) {
  const path = `/webhooks/endpoints/${encodeURIComponent(id)}`;
  const loaded = useLoaded<Endpoint>(path);
  const save = async (body: EndpointValues) => {
    await call(path, { method: 'PATCH', body });
    showToast(texts.form.saved);
    return endpointHref(id);
  };
  return (
    <Page title={texts.form.editTitle} back={{ href: endpointHref(id), label: texts.endpoint }}>
      <Loaded from={loaded}>
        {(endpoint) => <EndpointForm endpoint={endpoint} onSubmit={save} cancelHref={endpointHref(id)} />}
      </Loaded>
    </Page>
  );
}
