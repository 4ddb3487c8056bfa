import {
  Code,
  DataTable,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  type TableColumn,
  useLoaded,
} from '../../console/kit.ts';
import { durationText, Meter, msText, numberText, percentText, sizeText, versionText } from './format.tsx';
import type { ProcessFacts, ProcessList, ProcessVersion, RunningProcess } from './types.ts';

const POLL_MS = 5000;
/** Seconds without a heartbeat after which a process may have died. */
const LATE_SECONDS = 25;

const secondsSince = (time: string) => (Date.now() - Date.parse(time)) / 1000;

const countText = (count: number, name: string) => `${numberText(count)} ${name}${count === 1 ? '' : 's'}`;

/** What the process is working on now. */
function workOf({ facts: { requests, queues = [], streams } = {} }: RunningProcess) {
  const counts = { request: requests?.inFlight ?? 0, job: 0, stream: streams?.open ?? 0 };
  for (const { running } of queues) counts.job += running;
  const parts = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [countText(count, name)] : []));
  return parts.length === 0 ? <span class="soft">idle</span> : parts.join(', ');
}

function Version({ version, appVersion }: ProcessVersion) {
  return (
    <span class="operations-stack">
      <span class="operations-commit" title={appVersion}>
        {appVersion ? versionText(appVersion) : <span class="soft">app not known</span>}
      </span>
      <span class="soft">Belfry {version}</span>
    </span>
  );
}

function Heartbeat({ at }: { at: string }) {
  const seconds = Math.max(0, Math.round(secondsSince(at)));
  const text = (
    <time datetime={at} title={at}>
      {durationText(seconds)} ago
    </time>
  );
  return seconds > LATE_SECONDS ? <Status kind="warn">{text}</Status> : text;
}

function Connections({ connections }: Pick<ProcessFacts, 'connections'>) {
  if (connections === undefined) return '–';
  const used = connections.open - connections.idle;
  const text =
    connections.waiting > 0
      ? `${used} of ${connections.max}, ${connections.waiting} wait`
      : `${used} of ${connections.max}`;
  return <Meter value={used} max={connections.max} text={text} isHigh={connections.waiting > 0} />;
}

const columns = (own: string): TableColumn<RunningProcess>[] => [
  {
    name: 'roles',
    label: 'Process',
    render: ({ id, roles = [], host, pid }) => (
      <span class="operations-stack">
        <span>
          {roles.join(', ')}
          {id === own && (
            <>
              {' '}
              <span class="chip">This one</span>
            </>
          )}
        </span>
        <span class="soft">
          {host} · {pid}
        </span>
      </span>
    ),
  },
  {
    name: 'version',
    label: 'Version',
    render: ({ version, appVersion }) => <Version version={version} appVersion={appVersion} />,
  },
  {
    name: 'started',
    label: 'Running for',
    render: ({ startedAt }) => (
      <span title={startedAt}>
        {durationText(startedAt === undefined ? undefined : Math.round(secondsSince(startedAt)))}
      </span>
    ),
  },
  { name: 'seen', label: 'Heartbeat', render: ({ seenAt }) => <Heartbeat at={seenAt} /> },
  {
    name: 'memory',
    label: 'Memory and CPU',
    isNumber: true,
    render: ({ memory, cpu }) => (
      <span class="operations-stack">
        <span title={`heap ${sizeText(memory?.heapUsed)} of ${sizeText(memory?.heapLimit)}`}>
          {sizeText(memory?.rss)}
        </span>
        <span class="soft">{percentText(cpu)}</span>
      </span>
    ),
  },
  {
    name: 'loop',
    label: 'Event loop delay',
    isNumber: true,
    render: ({ eventLoop }) => (
      <span class="operations-stack">
        <span title="the longest since the last heartbeat">{msText(eventLoop?.maxMs)}</span>
        <span class="soft" title="the share of the time in which code ran">
          {percentText(eventLoop?.busy)} busy
        </span>
      </span>
    ),
  },
  { name: 'postgres', label: 'Postgres', render: ({ facts }) => <Connections connections={facts?.connections} /> },
  { name: 'work', label: 'Work now', render: workOf },
];

/** During a rolling deployment, two versions run side by side. */
function VersionWarning({ processes }: { processes: RunningProcess[] }) {
  const versions = new Set(processes.map(({ version, appVersion }) => `${version} ${appVersion ?? ''}`));
  if (versions.size < 2) return null;
  return (
    <p class="banner warn operations-banner" role="status">
      <span>
        <b>{versions.size} versions run side by side.</b> During a deployment that is expected. If it lasts, a process
        was not restarted.
      </span>
    </p>
  );
}

type Streaming = RunningProcess & { streams: NonNullable<ProcessFacts['streams']> };

const STREAM_COLUMNS: TableColumn<Streaming>[] = [
  {
    name: 'process',
    label: 'Process',
    render: ({ roles = [], host, pid }) => (
      <>
        {roles.join(', ')}{' '}
        <span class="soft operations-plain">
          {host} · {pid}
        </span>
      </>
    ),
  },
  {
    name: 'open',
    label: 'Open streams',
    render: ({ streams: { open, max } }) => (
      <Meter value={open} max={max} text={`${numberText(open)} of ${numberText(max)}`} isHigh={open > 0.9 * max} />
    ),
  },
  {
    name: 'subscriptions',
    label: 'Subscriptions',
    isNumber: true,
    render: ({ streams }) => numberText(streams.subscriptions),
  },
  { name: 'lag', label: 'Delay of the last change', isNumber: true, render: ({ streams }) => msText(streams.lagMs) },
  { name: 'changes', label: 'Changes read', isNumber: true, render: ({ streams }) => numberText(streams.changes) },
  { name: 'cut', label: 'Ended: too slow', isNumber: true, render: ({ streams }) => numberText(streams.cutOff) },
];

function Streams({ processes }: { processes: RunningProcess[] }) {
  const rows = processes.flatMap((process): Streaming[] => {
    const { requests, streams } = process.facts ?? {};
    return requests === undefined || streams === undefined ? [] : [{ ...process, streams }];
  });
  if (rows.length === 0) return null;
  return (
    <Section title="Realtime streams">
      <DataTable label="Realtime streams by process" rows={rows} columns={STREAM_COLUMNS} />
    </Section>
  );
}

/** All processes of the app that run. */
export function ProcessesPage() {
  const list = useLoaded<ProcessList>('/operations/processes', { everyMs: POLL_MS });
  return (
    <Page
      title="Processes"
      intro="Every process of the app, of each role and on each machine, with what it reported within the last 10 seconds. A process that stops is gone at once; one that was killed, after 45 seconds."
    >
      <Loaded from={list}>
        {({ processes, own, problem }) => (
          <>
            {problem !== null && (
              <p class="banner bad" role="alert">
                <span>{problem}</span>
              </p>
            )}
            <VersionWarning processes={processes} />
            {processes.length === 0 && problem === null ? (
              <Nothing title="No process has reported yet">
                <p>Processes appear here within seconds of their start:</p>
                <Code label="Command" text="npx belfry start relay" />
              </Nothing>
            ) : (
              processes.length > 0 && <DataTable label="Processes" rows={processes} columns={columns(own)} />
            )}
            <Streams processes={processes} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
