import { useState } from 'preact/hooks';
import type { RequestError } from '../../kit/request.ts';
import { texts as kitTexts } from '../../kit/texts.ts';
import { Health, StatusBadge } from '../parts/endpoint-state.tsx';
import { Loading, Notice, Title } from '../parts/page.tsx';
import { useAction, useData } from '../parts/requests.ts';
import type { Endpoint, PortalLink } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
import { hrefOf } from '../window.ts';
import { Deliveries } from './deliveries.tsx';
import { NewSecret, Verify } from './secret.tsx';
import { Settings } from './settings.tsx';
import { StatisticsSection } from './statistics.tsx';
import { Tools } from './tools.tsx';

const SECTIONS = ['deliveries', 'statistics', 'tools', 'verify', 'settings'] as const;

function SectionLinks({ endpoint: { id, delivery }, current }: { endpoint: Endpoint; current: string }) {
  return (
    <nav class="sections" aria-label={texts.endpoint.sections}>
      {SECTIONS.map((name) => (
        <a key={name} href={hrefOf(id, name)} aria-current={name === current ? 'page' : undefined}>
          {texts.endpoint[name === 'verify' && delivery === 'poll' ? 'fetch' : name]}
        </a>
      ))}
    </nav>
  );
}

/** What is shown while the endpoint is read, and if that fails. */
function NotLoaded({ error, reload }: { error: RequestError | undefined; reload: () => void }) {
  if (error === undefined) return <Loading />;
  if (error.status === 404) return <Title>{texts.endpoint.missing}</Title>;
  return (
    <>
      <Title>{texts.endpoint.notLoaded}</Title>
      <Notice kind="bad">{error.message}</Notice>
      <button type="button" onClick={reload}>
        {texts.tryAgain}
      </button>
    </>
  );
}

interface LoadedEndpointProps {
  endpoint: Endpoint;
  section: string | undefined;
  link: PortalLink;
  onChange: (endpoint: Endpoint) => void;
}

function LoadedEndpoint({ endpoint, section, link, onChange }: LoadedEndpointProps) {
  const { id } = endpoint;
  const { busy, error, run } = useAction();
  const enable = () =>
    run(async () => onChange((await send<Endpoint>(`/${id}`, { method: 'PATCH', body: { enabled: true } })).data));
  const refresh = () => run(async () => onChange((await send<Endpoint>(`/${id}`)).data));
  const current = SECTIONS.find((name) => name === section) ?? 'deliveries';
  return (
    <>
      <div class="row spread top">
        <Title>{endpoint.url ?? texts.poll.title}</Title>
        <StatusBadge endpoint={endpoint} />
      </div>
      {endpoint.description && <p>{endpoint.description}</p>}
      <Health endpoint={endpoint} />
      {!endpoint.enabled && (
        <p>
          <button type="button" class="primary" disabled={busy} onClick={enable}>
            {texts.endpoint.enable}
          </button>
        </p>
      )}
      <Notice kind="bad">{error?.message}</Notice>
      <NewSecret id={id} />
      <SectionLinks endpoint={endpoint} current={current} />
      <div class="card section">
        {current === 'deliveries' && <Deliveries endpoint={endpoint} onSettled={refresh} />}
        {current === 'statistics' && <StatisticsSection id={id} />}
        {current === 'tools' && (
          <Tools
            endpoint={endpoint}
            keepDays={link.keepDeliveriesDays}
            keepEventsDays={link.keepEventsDays}
            onSent={refresh}
          />
        )}
        {current === 'verify' && <Verify endpoint={endpoint} />}
        {current === 'settings' && <Settings endpoint={endpoint} link={link} onChange={onChange} />}
      </div>
    </>
  );
}

/** One endpoint with its sections. */
export function EndpointView({ id, section, link }: { id: string; section: string | undefined; link: PortalLink }) {
  const [changed, setChanged] = useState<Endpoint>();
  const { data, error, reload } = useData<Endpoint>(`/${encodeURIComponent(id)}`);
  const endpoint = changed ?? data;
  return (
    <>
      {link.endpointId === null && (
        <nav class="back" aria-label={kitTexts.back}>
          <a href={hrefOf()}>{texts.allEndpoints}</a>
        </nav>
      )}
      {endpoint === undefined ? (
        <NotLoaded error={error} reload={reload} />
      ) : (
        <LoadedEndpoint endpoint={endpoint} section={section} link={link} onChange={setChanged} />
      )}
    </>
  );
}
