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
import { ColumnHelp, durationText, Meter, msText, numberText, percentText, sizeText, versionText } from './format.tsx';
import { texts } from './texts.ts';
import type { Processes, ProcessFacts, ProcessVersion, RunningProcess } from './types.ts';

const { processes: words } = texts;
const POLL_MS = 5000;
/** Seconds without a heartbeat after which a process may have died. */
const LATE_SECONDS = 25;

const secondsSince = (time: string) => (Date.now() - Date.parse(time)) / 1000;

/** What the process is working on now. */
function workOf({ facts: { requests, queues = [], streams } = {} }: RunningProcess) {
  const counts: [number, (count: string) => string][] = [
    [requests?.inFlight ?? 0, words.requestCount],
    [queues.reduce((sum, { running }) => sum + running, 0), words.jobCount],
    [streams?.open ?? 0, words.streamCount],
  ];
  const parts = counts.flatMap(([count, say]) => (count > 0 ? [say(numberText(count))] : []));
  return parts.length === 0 ? <span class="soft">{words.idle}</span> : parts.join(', ');
}

function Version({ version, appVersion }: ProcessVersion) {
  return (
    <span class="operations-stack">
      <span class="operations-commit" title={appVersion}>
        {appVersion ? versionText(appVersion) : <span class="soft">{words.appUnknown}</span>}
      </span>
      <span class="soft">
        {texts.products.belfry} {version}
      </span>
    </span>
  );
}

function Heartbeat({ at }: { at: string }) {
  const seconds = Math.max(0, Math.round(secondsSince(at)));
  const text = (
    <time datetime={at} title={at}>
      {words.ago(durationText(seconds))}
    </time>
  );
  return seconds > LATE_SECONDS ? <Status kind="warn">{text}</Status> : text;
}

function Connections({ connections }: Partial<Pick<ProcessFacts, 'connections'>>) {
  if (connections === undefined) return '–';
  const used = connections.open - connections.idle;
  const inUse = words.connections(numberText(used), numberText(connections.max));
  const text =
    connections.waiting > 0 ? `${inUse}, ${words.connectionsWaiting(numberText(connections.waiting))}` : inUse;
  return <Meter value={used} max={connections.max} text={text} isHigh={connections.waiting > 0} />;
}

const columns = (own: string): TableColumn<RunningProcess>[] => [
  {
    name: 'roles',
    label: words.process,
    render: ({ id, roles = [], host, pid }) => (
      <span class="operations-stack">
        <span>
          {roles.join(', ')}
          {id === own && (
            <>
              {' '}
              <span class="chip">{words.own}</span>
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
    label: words.version,
    render: ({ version, appVersion }) => <Version version={version} appVersion={appVersion} />,
  },
  {
    name: 'started',
    label: words.runningFor,
    render: ({ startedAt }) => (
      <span title={startedAt}>
        {durationText(startedAt === undefined ? undefined : Math.round(secondsSince(startedAt)))}
      </span>
    ),
  },
  { name: 'seen', label: words.heartbeat, render: ({ seenAt }) => <Heartbeat at={seenAt} /> },
  {
    name: 'memory',
    label: words.memory,
    isNumber: true,
    render: ({ memory, cpu }) => (
      <span class="operations-stack">
        <span title={words.heap(sizeText(memory?.heapUsed), sizeText(memory?.heapLimit))}>{sizeText(memory?.rss)}</span>
        <span class="soft">{percentText(cpu)}</span>
      </span>
    ),
  },
  {
    name: 'loop',
    label: words.eventLoop,
    isNumber: true,
    render: ({ eventLoop }) => (
      <span class="operations-stack">
        <span title={words.eventLoopTitle}>{msText(eventLoop?.maxMs)}</span>
        <span class="soft" title={words.busyTitle}>
          {words.busy(percentText(eventLoop?.busy))}
        </span>
      </span>
    ),
  },
  { name: 'postgres', label: words.postgres, render: ({ facts }) => <Connections connections={facts?.connections} /> },
  { name: 'work', label: words.work, render: workOf },
];

const HELP = (['heartbeat', 'memory', 'eventLoop', 'postgres', 'work'] as const).map(
  (name) => [words[name], words.helps[name]] as const,
);

/** During a rolling deployment, two versions run side by side. */
function VersionWarning({ processes }: { processes: RunningProcess[] }) {
  const versions = new Set(processes.map(({ version, appVersion }) => `${version} ${appVersion ?? ''}`));
  if (versions.size < 2) return null;
  return (
    <p class="banner warn operations-banner" role="status">
      <span>
        <b>{words.versions(numberText(versions.size))}</b> {words.versionsNote}
      </span>
    </p>
  );
}

type Streaming = RunningProcess & { streams: ProcessFacts['streams'] };

const STREAM_COLUMNS: TableColumn<Streaming>[] = [
  {
    name: 'process',
    label: words.process,
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
    label: words.open,
    render: ({ streams: { open, max } }) => (
      <Meter
        value={open}
        max={max}
        text={words.connections(numberText(open), numberText(max))}
        isHigh={open > 0.9 * max}
      />
    ),
  },
  {
    name: 'subscriptions',
    label: words.subscriptions,
    isNumber: true,
    render: ({ streams }) => numberText(streams.subscriptions),
  },
  { name: 'lag', label: words.lag, isNumber: true, render: ({ streams }) => msText(streams.lagMs) },
  { name: 'changes', label: words.changes, isNumber: true, render: ({ streams }) => numberText(streams.changes) },
  { name: 'cut', label: words.cutOff, isNumber: true, render: ({ streams }) => numberText(streams.cutOff) },
];

function Streams({ processes }: { processes: RunningProcess[] }) {
  const rows = processes.flatMap((process): Streaming[] => {
    const { requests, streams } = process.facts ?? {};
    return requests === undefined || streams === undefined ? [] : [{ ...process, streams }];
  });
  if (rows.length === 0) return null;
  return (
    <Section title={words.streams}>
      <DataTable label={words.streamsTable} rows={rows} columns={STREAM_COLUMNS} />
    </Section>
  );
}

/** All processes of the app that run. */
export function ProcessesPage() {
  const list = useLoaded<Processes>('/operations/processes', { everyMs: POLL_MS });
  return (
    <Page title={words.title} intro={words.intro}>
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
              <Nothing title={words.none}>
                <p>{words.noneNote}</p>
                <Code label={words.command} text={texts.products.startRelay} />
              </Nothing>
            ) : (
              processes.length > 0 && (
                <>
                  <DataTable label={words.title} rows={processes} columns={columns(own)} />
                  <ColumnHelp title={words.help} of={HELP} />
                </>
              )
            )}
            <Streams processes={processes} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
