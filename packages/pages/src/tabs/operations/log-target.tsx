import type { ComponentChildren } from 'preact';
import { apiPathOf, app, dataHref, RecordLink, type ResourceInfo, userResource } from '../../console/kit.ts';
import { numberText } from './format.tsx';
import type { LogFields } from './log-fields.ts';
import { texts } from './texts.ts';

const { log: words } = texts;
const MAX_ID = 8;

/** Whether the tab that has the page of a target exists in this app. */
const hasTab = (id: string) => app.value.tabs.some((tab) => tab.id === id);

/** A link to the page of something that has no title, such as a run of a job: its kind and the end of its id, in which neighbours differ. */
function PageLink({ tab, path, kind, id }: { tab: string; path: string; kind: string; id: string }) {
  const text = (
    <>
      {kind} <code>{id.length > MAX_ID ? `…${id.slice(-MAX_ID)}` : id}</code>
    </>
  );
  if (!hasTab(tab)) return <span title={id}>{text}</span>;
  return (
    <a class="reference" href={`/console/${tab}/${path}/${encodeURIComponent(id)}`} title={id}>
      {text}
    </a>
  );
}

/** The resource whose records a route is about. */
const resourceOfRoute = (route: string | undefined): ResourceInfo | undefined =>
  app.value.resources.find((one) => route === apiPathOf(one) || route?.startsWith(`${apiPathOf(one)}/`));

/** What a request was about: a record, or the list of a resource. */
export function RequestTarget({ route, record }: Pick<LogFields, 'route' | 'record'>) {
  const resource = resourceOfRoute(route);
  if (resource === undefined) return null;
  if (record !== undefined) return <RecordLink resource={resource.name} id={record} />;
  return (
    <a class="reference" href={dataHref([resource.name])}>
      {resource.plural}
    </a>
  );
}

function User({ id }: { id: string }) {
  const users = userResource();
  return users === undefined ? <code>{id}</code> : <RecordLink resource={users.name} id={id} />;
}

/** The parts of a target. */
function partsOf(fields: LogFields): ComponentChildren[] {
  const { method, resource, record, userId, job, mail, outcome, push, devices, endpoint, delivery, deliveries } =
    fields;
  const { user, queue, rows, attempt } = fields;
  const { targets } = words;
  return [
    method !== undefined && <RequestTarget {...fields} />,
    method === undefined && resource && record && <RecordLink resource={resource} id={record} />,
    method !== undefined && userId && (
      <span class="soft">
        {words.by} <User id={userId} />
      </span>
    ),
    job && <PageLink tab="jobs" path="runs" kind={targets.run} id={job} />,
    endpoint && <PageLink tab="webhooks" path="endpoints" kind={targets.endpoint} id={endpoint} />,
    delivery && <PageLink tab="webhooks" path="deliveries" kind={targets.delivery} id={delivery} />,
    push && <PageLink tab="push" path="sends" kind={targets.push} id={push} />,
    mail && outcome === 'captured' && <PageLink tab="mails" path="captured" kind={targets.mail} id={mail} />,
    user && <User id={user} />,
    queue && <PageLink tab="operations" path="queues" kind={targets.queue} id={queue} />,
    devices !== undefined && <span class="soft">{words.devices(numberText(devices))}</span>,
    deliveries !== undefined && <span class="soft">{words.deliveries(numberText(deliveries))}</span>,
    rows !== undefined && <span class="soft">{words.rows(numberText(rows))}</span>,
    attempt !== undefined && attempt > 1 && <span class="soft">{words.attempt(numberText(attempt))}</span>,
  ].filter(Boolean);
}

/** What a line of the log is about, as links. */
export const LogTarget = ({ fields }: { fields: LogFields }) => (
  <span class="operations-target">
    {partsOf(fields).map((part, index) => (
      <span key={index}>{part}</span>
    ))}
  </span>
);

/** What has happened: a request, a unit of work, or the message of a line. */
export function LogSubject({ fields }: { fields: LogFields }) {
  const { method, route, msg = '', name, kind, sweep } = fields;
  if (method !== undefined)
    return (
      <span class="operations-route">
        {method} {route ?? words.unknownPath}
      </span>
    );
  const units: Readonly<Record<string, string>> = words.units;
  const unit = Object.hasOwn(units, msg) && fields.outcome !== undefined ? units[msg] : undefined;
  if (unit === undefined) return <span class="operations-text">{msg}</span>;
  const detail = name ?? kind ?? sweep;
  return (
    <span class="operations-text">
      {unit} {detail && <code>{detail}</code>}
    </span>
  );
}
