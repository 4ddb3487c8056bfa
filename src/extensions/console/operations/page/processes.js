import { Code, DataTable, html, Loaded, Nothing, Page, Section, Status, useLoaded } from 'belfry/console';
import { durationText, Meter, msText, numberText, percentText, sizeText, versionText } from './format.js';

const POLL_MS = 5000;
/** Seconds without a heartbeat after which a process may have died. */
const LATE_SECONDS = 25;

const secondsSince = (time) => (Date.now() - new Date(time).getTime()) / 1000;

const countText = (count, name) => `${numberText(count)} ${name}${count === 1 ? '' : 's'}`;

/** What the process is working on now. */
function workOf({ facts = {} }) {
  const running = (facts.queues ?? []).reduce((sum, queue) => sum + queue.running, 0);
  const parts = [
    facts.requests?.inFlight > 0 && countText(facts.requests.inFlight, 'request'),
    running > 0 && countText(running, 'job'),
    facts.streams?.open > 0 && countText(facts.streams.open, 'stream'),
  ].filter(Boolean);
  return parts.length === 0 ? html`<span class="soft">idle</span>` : parts.join(', ');
}

function Version({ version, appVersion }) {
  return html`<span class="operations-stack">
    <span class="operations-commit" title=${appVersion}>${appVersion ? versionText(appVersion) : html`<span class="soft">app not known</span>`}</span>
    <span class="soft">Belfry ${version}</span>
  </span>`;
}

function Heartbeat({ at }) {
  const seconds = Math.max(0, Math.round(secondsSince(at)));
  const text = html`<time datetime=${at} title=${at}>${durationText(seconds)} ago</time>`;
  return seconds > LATE_SECONDS ? html`<${Status} kind="warn">${text}<//>` : text;
}

function Connections({ of: { connections } = {} }) {
  if (connections === undefined) return '–';
  const used = connections.open - connections.idle;
  const text =
    connections.waiting > 0
      ? `${used} of ${connections.max}, ${connections.waiting} wait`
      : `${used} of ${connections.max}`;
  return html`<${Meter} value=${used} max=${connections.max} text=${text} isHigh=${connections.waiting > 0} />`;
}

const columns = (own) => [
  {
    name: 'roles',
    label: 'Process',
    render: ({ id, roles = [], host, pid }) => html`<span class="operations-stack">
      <span>${roles.join(', ')}${id === own && html` <span class="chip">This one</span>`}</span>
      <span class="soft">${host} · ${pid}</span>
    </span>`,
  },
  { name: 'version', label: 'Version', render: (row) => html`<${Version} ...${row} />` },
  {
    name: 'started',
    label: 'Running for',
    render: ({ startedAt }) =>
      html`<span title=${startedAt}>${durationText(Math.round(secondsSince(startedAt)))}</span>`,
  },
  { name: 'seen', label: 'Heartbeat', render: ({ seenAt }) => html`<${Heartbeat} at=${seenAt} />` },
  {
    name: 'memory',
    label: 'Memory and CPU',
    isNumber: true,
    render: ({ memory, cpu }) => html`<span class="operations-stack">
      <span title=${`heap ${sizeText(memory?.heapUsed)} of ${sizeText(memory?.heapLimit)}`}>${sizeText(memory?.rss)}</span>
      <span class="soft">${percentText(cpu)}</span>
    </span>`,
  },
  {
    name: 'loop',
    label: 'Event loop delay',
    isNumber: true,
    render: ({ eventLoop }) => html`<span class="operations-stack">
      <span title="the longest since the last heartbeat">${msText(eventLoop?.maxMs)}</span>
      <span class="soft" title="the share of the time in which code ran">${percentText(eventLoop?.busy)}${' '}busy</span>
    </span>`,
  },
  { name: 'postgres', label: 'Postgres', render: ({ facts }) => html`<${Connections} of=${facts} />` },
  { name: 'work', label: 'Work now', render: workOf },
];

/** During a rolling deployment, two versions run side by side. */
function VersionWarning({ processes }) {
  const versions = new Set(processes.map(({ version, appVersion }) => `${version} ${appVersion ?? ''}`));
  if (versions.size < 2) return null;
  return html`<p class="banner warn operations-banner" role="status">
    <span>
      <b>${versions.size} versions run side by side.</b> During a deployment that is expected. If it lasts, a process was not restarted.
    </span>
  </p>`;
}

const STREAM_COLUMNS = [
  {
    name: 'process',
    label: 'Process',
    render: ({ roles = [], host, pid }) =>
      html`${roles.join(', ')} <span class="soft operations-plain">${host} · ${pid}</span>`,
  },
  {
    name: 'open',
    label: 'Open streams',
    render: ({ facts: { streams } }) =>
      html`<${Meter} value=${streams.open} max=${streams.max} text=${`${numberText(streams.open)} of ${numberText(streams.max)}`} isHigh=${streams.open > 0.9 * streams.max} />`,
  },
  {
    name: 'subscriptions',
    label: 'Subscriptions',
    isNumber: true,
    render: ({ facts: { streams } }) => numberText(streams.subscriptions),
  },
  {
    name: 'lag',
    label: 'Delay of the last change',
    isNumber: true,
    render: ({ facts: { streams } }) => msText(streams.lagMs),
  },
  {
    name: 'changes',
    label: 'Changes read',
    isNumber: true,
    render: ({ facts: { streams } }) => numberText(streams.changes),
  },
  {
    name: 'cut',
    label: 'Ended: too slow',
    isNumber: true,
    render: ({ facts: { streams } }) => numberText(streams.cutOff),
  },
];

function Streams({ processes }) {
  const rows = processes.filter(({ facts }) => facts?.streams !== undefined && facts.requests !== undefined);
  if (rows.length === 0) return null;
  return html`<${Section} title="Realtime streams">
    <${DataTable} label="Realtime streams by process" rows=${rows} columns=${STREAM_COLUMNS} />
  <//>`;
}

/** All processes of the app that run. */
export function ProcessesPage() {
  const list = useLoaded('/operations/processes', { everyMs: POLL_MS });
  return html`<${Page}
    title="Processes"
    intro="Every process of the app, of each role and on each machine, with what it reported within the last 10 seconds. A process that stops is gone at once; one that was killed, after 45 seconds."
  >
    <${Loaded} from=${list}>
      ${({ processes, own, problem }) => html`
        ${problem !== null && html`<p class="banner bad" role="alert"><span>${problem}</span></p>`}
        <${VersionWarning} processes=${processes} />
        ${
          processes.length === 0 && problem === null
            ? html`<${Nothing} title="No process has reported yet"><p>Processes appear here within seconds of their start:</p><${Code} label="Command" text="npx belfry start relay" /><//>`
            : processes.length > 0 && html`<${DataTable} label="Processes" rows=${processes} columns=${columns(own)} />`
        }
        <${Streams} processes=${processes} />`}
    <//>
  <//>`;
}
