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
import { ColumnHelp, durationText, Marked, numberText } from './format.tsx';
import { OutboxSection } from './outbox.tsx';
import { texts } from './texts.ts';
import type { JobCounts, JobKind, QueueState } from './types.ts';

const { queues: words } = texts;
/** The interval in ms at which the queues are read. */
export const POLL_MS = 3000;
/** The path of the page. */
export const QUEUES = '/console/operations/queues';
/** Seconds of waiting from which a queue or the outbox is late. */
const LATE_SECONDS = 60;

const hrefOfQueue = (name: string) => `${QUEUES}/${encodeURIComponent(name)}`;

function QueueStatus({ queue: { waiting, delayed, workers, oldestSeconds, failed } }: { queue: QueueState }) {
  if (workers === 0) return <Status kind={waiting + delayed > 0 ? 'bad' : 'neutral'}>{words.states.noProcess}</Status>;
  if (oldestSeconds !== null && oldestSeconds > LATE_SECONDS) return <Status kind="warn">{words.states.late}</Status>;
  return failed > 0 ? (
    <Status kind="warn">{words.states.failures}</Status>
  ) : (
    <Status kind="good">{words.states.running}</Status>
  );
}

/** The columns of queues; the first one names the queue. */
export const QUEUE_COLUMNS: TableColumn<QueueState>[] = [
  {
    name: 'name',
    label: words.queue,
    render: ({ name }) => (
      <a class="row-link" href={hrefOfQueue(name)}>
        {name}
      </a>
    ),
  },
  { name: 'status', label: words.status, render: (queue) => <QueueStatus queue={queue} /> },
  { name: 'waiting', label: words.waiting, isNumber: true, render: ({ waiting }) => numberText(waiting) },
  { name: 'active', label: words.running, isNumber: true, render: ({ active }) => numberText(active) },
  { name: 'delayed', label: words.scheduled, isNumber: true, render: ({ delayed }) => numberText(delayed) },
  {
    name: 'failures',
    label: words.failures,
    isNumber: true,
    render: ({ failed, failures }) => numberText(failed + failures.length),
  },
  {
    name: 'oldest',
    label: words.oldest,
    isNumber: true,
    render: ({ oldestSeconds }) => durationText(oldestSeconds),
  },
  {
    name: 'workers',
    label: words.processes,
    isNumber: true,
    render: ({ workers, concurrency }) =>
      workers === 0 ? '0' : words.workers(numberText(workers), numberText(Math.round(concurrency / workers))),
  },
];

const HELP = (['status', 'scheduled', 'failures', 'oldest', 'processes'] as const).map(
  (name) => [words[name], words.helps[name]] as const,
);

function Queues() {
  const queues = useLoaded<QueueState[]>('/operations/queues', { everyMs: POLL_MS });
  return (
    <Section title={words.queues}>
      <Loaded from={queues}>
        {(rows) =>
          rows.length === 0 ? (
            <Nothing title={words.none}>
              <p>
                <Marked text={words.noneNote} />
              </p>
            </Nothing>
          ) : (
            <>
              <DataTable label={words.queues} rows={rows} columns={QUEUE_COLUMNS} keyOf={({ name }) => name} />
              <ColumnHelp title={words.help} of={HELP} />
            </>
          )
        }
      </Loaded>
      <p class="soft operations-note">{words.note}</p>
    </Section>
  );
}

const JOB_COLUMNS: TableColumn<JobKind>[] = [
  { name: 'name', label: words.job, render: ({ name }) => name },
  { name: 'waiting', label: words.waiting, isNumber: true, render: ({ counts }) => numberText(counts.waiting) },
  { name: 'running', label: words.running, isNumber: true, render: ({ counts }) => numberText(counts.running) },
  {
    name: 'failed',
    label: words.failed,
    isNumber: true,
    render: ({ counts }) => (counts.failed > 0 ? <Status kind="bad">{numberText(counts.failed)}</Status> : '0'),
  },
  { name: 'succeeded', label: words.succeeded, isNumber: true, render: ({ counts }) => numberText(counts.succeeded) },
];

function Jobs() {
  const jobs = useLoaded<JobCounts>('/operations/jobs', { everyMs: 2 * POLL_MS });
  const tab = app.value.tabs.find(({ id }) => id === 'jobs');
  return (
    <Section title={words.jobs} actions={tab && <a href={tab.path}>{words.openJobs}</a>}>
      <Loaded from={jobs}>
        {({ kinds }) =>
          kinds.length === 0 ? (
            <Nothing title={words.noJobs}>
              <p>
                <Marked text={words.noJobsNote} />
              </p>
            </Nothing>
          ) : (
            <DataTable label={words.jobs} rows={kinds} columns={JOB_COLUMNS} keyOf={({ name }) => name} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** The work in the background: queues, the outbox and jobs. */
export function QueuesPage() {
  return (
    <Page title={words.title} intro={words.intro}>
      <Queues />
      <OutboxSection />
      <Jobs />
    </Page>
  );
}
