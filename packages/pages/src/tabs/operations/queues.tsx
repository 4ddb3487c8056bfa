import {
  app,
  DataTable,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  type TableColumn,
  useLoaded,
} from '../../console/kit.ts';
import { durationText, numberText } from './format.tsx';
import { OutboxSection } from './outbox.tsx';
import type { JobKind, Queue } from './types.ts';

/** The interval in ms at which the queues are read. */
export const POLL_MS = 3000;
/** The path of the page. */
export const QUEUES = '/console/operations/queues';
/** Seconds of waiting from which a queue or the outbox is late. */
const LATE_SECONDS = 60;

const hrefOfQueue = (name: string) => `${QUEUES}/${encodeURIComponent(name)}`;

function QueueStatus({ queue: { waiting, delayed, workers, oldestSeconds, failed } }: { queue: Queue }) {
  if (workers === 0)
    return waiting + delayed > 0 ? <Status kind="bad">No process</Status> : <Status kind="neutral">No process</Status>;
  if (oldestSeconds !== null && oldestSeconds > LATE_SECONDS) return <Status kind="warn">Late</Status>;
  return failed > 0 ? <Status kind="warn">Failures</Status> : <Status kind="good">Running</Status>;
}

/** The columns of queues; the first one names the queue. */
export const QUEUE_COLUMNS: TableColumn<Queue>[] = [
  {
    name: 'name',
    label: 'Queue',
    render: ({ name }) => (
      <a class="row-link" href={hrefOfQueue(name)}>
        {name}
      </a>
    ),
  },
  { name: 'status', label: 'Status', render: (queue) => <QueueStatus queue={queue} /> },
  { name: 'waiting', label: 'Waiting', isNumber: true, render: ({ waiting }) => numberText(waiting) },
  { name: 'active', label: 'Running', isNumber: true, render: ({ active }) => numberText(active) },
  { name: 'delayed', label: 'Scheduled', isNumber: true, render: ({ delayed }) => numberText(delayed) },
  {
    name: 'failures',
    label: 'Failures',
    isNumber: true,
    render: ({ failed, failures }) => numberText(failed + failures.length),
  },
  {
    name: 'oldest',
    label: 'Oldest wait',
    isNumber: true,
    render: ({ oldestSeconds }) => durationText(oldestSeconds),
  },
  {
    name: 'workers',
    label: 'Processes',
    isNumber: true,
    render: ({ workers, concurrency }) => `${workers} × ${workers === 0 ? 0 : Math.round(concurrency / workers)}`,
  },
];

function Queues() {
  const queues = useLoaded<Queue[]>('/operations/queues', { everyMs: POLL_MS });
  return (
    <Section title="Queues">
      <Loaded from={queues}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing title="No queue yet">
              <p>
                A queue appears when a process with a worker starts: <code>npx belfry start webhook-worker</code>
              </p>
            </Nothing>
          ) : (
            <DataTable label="Queues" rows={rows} columns={QUEUE_COLUMNS} keyOf={({ name }) => name} />
          )
        }
      </Loaded>
      <p class="soft operations-note">
        An entry of a queue only points to a row in Postgres. If Redis loses it, the relay adds it again.
      </p>
    </Section>
  );
}

const JOB_COLUMNS: TableColumn<JobKind>[] = [
  { name: 'name', label: 'Job', render: ({ name }) => name },
  { name: 'waiting', label: 'Waiting', isNumber: true, render: ({ counts }) => numberText(counts.waiting) },
  { name: 'running', label: 'Running', isNumber: true, render: ({ counts }) => numberText(counts.running) },
  {
    name: 'failed',
    label: 'Failed',
    isNumber: true,
    render: ({ counts }) => (counts.failed > 0 ? <Status kind="bad">{numberText(counts.failed)}</Status> : '0'),
  },
  { name: 'succeeded', label: 'Succeeded', isNumber: true, render: ({ counts }) => numberText(counts.succeeded) },
];

function Jobs() {
  const jobs = useLoaded<{ kinds: JobKind[] }>('/operations/jobs', { everyMs: 2 * POLL_MS });
  const tab = app.value.tabs.find(({ id }) => id === 'jobs');
  return (
    <Section title="Background jobs" actions={tab && <a href={tab.path}>Open the jobs</a>}>
      <Loaded from={jobs}>
        {({ kinds }) =>
          kinds.length === 0 ? (
            <Nothing title="The app declares no jobs">
              <p>
                Jobs of{' '}
                <code>
                  createApp({'{'} jobs: [defineJob('close-stale', …)] {'}'})
                </code>{' '}
                appear here with their numbers.
              </p>
            </Nothing>
          ) : (
            <DataTable label="Background jobs" rows={kinds} columns={JOB_COLUMNS} keyOf={({ name }) => name} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** The work in the background: queues, the outbox and jobs. */
export function QueuesPage() {
  return (
    <Page
      title="Queues and outbox"
      intro="The work that waits, runs and fails in the background. This page updates itself every 3 seconds."
    >
      <Queues />
      <OutboxSection />
      <Jobs />
    </Page>
  );
}
