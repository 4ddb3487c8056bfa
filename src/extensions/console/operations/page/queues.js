import {
  ActionButton,
  app,
  call,
  DataTable,
  html,
  Loaded,
  Nothing,
  Page,
  Section,
  Status,
  Time,
  useLoaded,
} from 'belfry/console';
import { durationText, numberText } from './format.js';

const POLL_MS = 3000;
const BASE = '/console/operations/queues';
/** Seconds of waiting from which a queue or the outbox is late. */
const LATE_SECONDS = 60;

const hrefOfQueue = (name) => `${BASE}/${encodeURIComponent(name)}`;

function QueueStatus({ queue: { waiting, delayed, workers, oldestSeconds, failed } }) {
  if (workers === 0)
    return waiting + delayed > 0
      ? html`<${Status} kind="bad">No process<//>`
      : html`<${Status} kind="neutral">No process<//>`;
  if (oldestSeconds > LATE_SECONDS) return html`<${Status} kind="warn">Late<//>`;
  return failed > 0 ? html`<${Status} kind="warn">Failures<//>` : html`<${Status} kind="good">Running<//>`;
}

const QUEUE_COLUMNS = [
  {
    name: 'name',
    label: 'Queue',
    render: ({ name }) => html`<a class="row-link" href=${hrefOfQueue(name)}>${name}</a>`,
  },
  { name: 'status', label: 'Status', render: (queue) => html`<${QueueStatus} queue=${queue} />` },
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
  const queues = useLoaded('/operations/queues', { everyMs: POLL_MS });
  return html`<${Section} title="Queues">
    <${Loaded} from=${queues}>
      ${(rows) =>
        rows.length === 0
          ? html`<${Nothing} title="No queue yet"><p>A queue appears when a process with a worker starts: <code>npx belfry start webhook-worker</code></p><//>`
          : html`<${DataTable} label="Queues" rows=${rows} columns=${QUEUE_COLUMNS} keyOf=${({ name }) => name} />`}
    <//>
    <p class="soft operations-note">
      An entry of a queue only points to a row in Postgres. If Redis loses it, the relay adds it again.
    </p>
  <//>`;
}

const EVENT_COLUMNS = [
  { name: 'name', label: 'Event', render: ({ name }) => html`<code>${name}</code>` },
  { name: 'waiting', label: 'Waiting', isNumber: true, render: ({ waiting }) => numberText(waiting) },
  { name: 'oldest', label: 'Oldest', isNumber: true, render: ({ oldestSeconds }) => durationText(oldestSeconds) },
  {
    name: 'failing',
    label: 'Failed so far',
    isNumber: true,
    render: ({ failing, attempts }) => (failing > 0 ? `${numberText(failing)}, up to ${attempts} attempts` : '0'),
  },
];

function StuckRow({ row, onRetry }) {
  const { id, name, resource, record, attempts, error, createdAt, availableAt } = row;
  const isDeferred = new Date(availableAt).getTime() > Date.now();
  const retry = async () => {
    await call(`/operations/outbox/${id}/retry`, { method: 'POST' });
    await onRetry();
  };
  return html`<li>
    <div class="operations-row-head">
      <span><code>${name}</code> ${record && html`<span class="soft">${resource} ${record}</span>`}</span>
      ${isDeferred && html`<${ActionButton} run=${retry} done="The relay processes the row now" label=${`Retry row ${id} now`}>Retry now<//>`}
    </div>
    <p class="soft">
      Row ${id}, happened <${Time} value=${createdAt} />,
      ${attempts === 0 ? ' not processed yet' : html` ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} failed, next <${Time} value=${availableAt} />`}
    </p>
    ${error && html`<pre class="operations-error">${error}</pre>`}
  </li>`;
}

function Outbox() {
  const outbox = useLoaded('/operations/outbox', { everyMs: POLL_MS });
  const retryAll = async () => {
    await call('/operations/outbox/retry', { method: 'POST' });
    await outbox.reload();
  };
  const hasDeferred = outbox.data?.stuck.some(({ availableAt }) => new Date(availableAt).getTime() > Date.now());
  return html`<${Section}
    title="Outbox"
    actions=${
      hasDeferred &&
      html`<${ActionButton}
        run=${retryAll}
        done="The relay processes the rows now"
        confirm=${{ title: 'Retry all failed rows now?', text: 'The relay processes every row that waits for its next attempt.', action: 'Retry all' }}
        >Retry all now<//
      >`
    }
  >
    <${Loaded} from=${outbox}>
      ${({ rows, isCapped, events, stuck }) =>
        rows === 0
          ? html`<${Nothing} title="Nothing waits">
              <p>Each change of a record adds a row to the outbox, in the same transaction. The relay turns it into webhooks, pushes and other work, usually within milliseconds.</p>
            <//>`
          : html`<p class="part-text soft operations-lead">${numberText(rows)}${isCapped ? ' or more' : ''} rows wait for the relay.</p>
              <${DataTable} label="Outbox rows by event" rows=${events} columns=${EVENT_COLUMNS} keyOf=${({ name }) => name} />
              ${
                stuck.length > 0 &&
                html`<h3 class="operations-subhead">Rows that failed or wait for more than a minute</h3>
                  <ul class="operations-list">
                    ${stuck.map((row) => html`<${StuckRow} key=${row.id} row=${row} onRetry=${outbox.reload} />`)}
                  </ul>`
              }`}
    <//>
  <//>`;
}

const JOB_COLUMNS = [
  { name: 'name', label: 'Job', render: ({ name }) => name },
  { name: 'waiting', label: 'Waiting', isNumber: true, render: ({ counts }) => numberText(counts.waiting) },
  { name: 'running', label: 'Running', isNumber: true, render: ({ counts }) => numberText(counts.running) },
  {
    name: 'failed',
    label: 'Failed',
    isNumber: true,
    render: ({ counts }) => (counts.failed > 0 ? html`<${Status} kind="bad">${numberText(counts.failed)}<//>` : '0'),
  },
  { name: 'succeeded', label: 'Succeeded', isNumber: true, render: ({ counts }) => numberText(counts.succeeded) },
];

function Jobs() {
  const jobs = useLoaded('/operations/jobs', { everyMs: 2 * POLL_MS });
  const tab = app.value.tabs.find(({ id }) => id === 'jobs');
  return html`<${Section} title="Background jobs" actions=${tab && html`<a href=${tab.path}>Open the jobs</a>`}>
    <${Loaded} from=${jobs}>
      ${({ kinds }) =>
        kinds.length === 0
          ? html`<${Nothing} title="The app declares no jobs"><p>Jobs of <code>createApp({ jobs: [defineJob('close-stale', …)] })</code> appear here with their numbers.</p><//>`
          : html`<${DataTable} label="Background jobs" rows=${kinds} columns=${JOB_COLUMNS} keyOf=${({ name }) => name} />`}
    <//>
  <//>`;
}

/** The work in the background: queues, the outbox and jobs. */
export function QueuesPage() {
  return html`<${Page} title="Queues and outbox" intro="The work that waits, runs and fails in the background. This page updates itself every 3 seconds.">
    <${Queues} /><${Outbox} /><${Jobs} />
  <//>`;
}

function FailedEntry({ queue, entry, onChange }) {
  const path = `/operations/queues/${encodeURIComponent(queue)}/failed/${encodeURIComponent(entry.id)}`;
  const change = (suffix, method) => async () => {
    await call(path + suffix, { method });
    await onChange();
  };
  const question = {
    title: 'Remove this entry?',
    text: 'Its row in Postgres stays as it is.',
    action: 'Remove',
    isDangerous: true,
  };
  return html`<li>
    <div class="operations-row-head">
      <span><b>${entry.name}</b> <code>${entry.id}</code></span>
      <span class="actions">
        <${ActionButton} run=${change('/retry', 'POST')} done="The entry waits again" label=${`Retry ${entry.id}`}>Retry<//>
        <${ActionButton} kind="danger quiet" run=${change('', 'DELETE')} confirm=${question} done="The entry is removed" label=${`Remove ${entry.id}`}>Remove<//>
      </span>
    </div>
    <p class="soft">Failed <${Time} value=${entry.at} /> after ${entry.attempts} ${entry.attempts === 1 ? 'attempt' : 'attempts'}${entry.row && html`, row <code>${entry.row}</code>`}</p>
    <pre class="operations-error">${entry.error}</pre>
  </li>`;
}

function FailedEntries({ queue }) {
  const failed = useLoaded(`/operations/queues/${encodeURIComponent(queue)}/failed`);
  if (failed.data?.length === 0) return null;
  return html`<${Section} title="Kept failed entries">
    <${Loaded} from=${failed}>
      ${(entries) => html`<ul class="operations-list">
        ${entries.map((entry) => html`<${FailedEntry} key=${entry.id} queue=${queue} entry=${entry} onChange=${failed.reload} />`)}
      </ul>`}
    <//>
  <//>`;
}

/** A queue with its failures. @param {{ name: string }} props */
export function QueuePage({ name }) {
  const queues = useLoaded('/operations/queues', { everyMs: POLL_MS });
  const back = { href: BASE, label: 'Queues and outbox' };
  return html`<${Page} title=${name} back=${back} intro="A queue of entries that point to rows in Postgres.">
    <${Loaded} from=${queues}>
      ${(rows) => {
        const queue = rows.find((one) => one.name === name);
        if (queue === undefined)
          return html`<${Nothing} title="There is no such queue"><p>No process has worked on it within a week.</p><//>`;
        return html`<${DataTable} label="State of the queue" rows=${[queue]} columns=${QUEUE_COLUMNS.slice(1)} keyOf=${() => name} />
          <${Section} title="Recent failures">
            ${
              queue.failures.length === 0
                ? html`<${Nothing} title="No failure">
                    <p>When an entry fails, its error appears here until the process restarts. The work itself is retried: its row stays in Postgres, and the relay adds it again.</p>
                  <//>`
                : html`<ul class="operations-list">
                    ${queue.failures.map(
                      ({ id, name: kind, error, at }) => html`<li key=${`${id} ${at}`}>
                        <div class="operations-row-head">
                          <span><b>${kind}</b> <code>${id}</code></span><span class="soft"><${Time} value=${at} /></span>
                        </div>
                        <pre class="operations-error">${error}</pre>
                      </li>`,
                    )}
                  </ul>`
            }
          <//>
          ${queue.failed > 0 && html`<${FailedEntries} queue=${name} />`}`;
      }}
    <//>
  <//>`;
}
