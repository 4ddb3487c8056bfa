import {
  ActionButton,
  Code,
  call,
  durationText,
  Facts,
  html,
  Loaded,
  Page,
  place,
  RecordLink,
  Section,
  timeOf,
  useLoaded,
  userResource,
} from 'belfry/console';
import { JobStatus, jobsHref, progressText } from './status.js';

/** The interval in ms at which the job is read, because another process may run it. */
const READ_EVERY_MS = 1000;

/** The action that a job of a status allows. */
const ACTIONS = {
  waiting: ['cancel', 'Cancel'],
  running: ['cancel', 'Cancel'],
  failed: ['retry', 'Retry'],
  cancelled: ['retry', 'Retry'],
};

function JobFacts({ job }) {
  const { id, attempts, status, runAt, scheduledAt, startedAt, finishedAt, user } = job;
  const isRunDone = startedAt !== null && finishedAt !== null && finishedAt >= startedAt;
  const users = userResource();
  return html`<${Facts}
    of=${[
      ['Attempts', String(attempts)],
      ['Enqueued', timeOf(job.createdAt)],
      [status === 'waiting' ? 'Next attempt' : 'Due', timeOf(runAt)],
      ['Scheduled for', scheduledAt === runAt ? null : timeOf(scheduledAt)],
      ['Last attempt', timeOf(startedAt)],
      ['Finished', timeOf(finishedAt)],
      ['Duration', isRunDone ? durationText(new Date(finishedAt) - new Date(startedAt)) : null],
      ['Schedule', job.schedule],
      ['Unique key', job.uniqueKey],
      ['User', user && users ? html`<${RecordLink} resource=${users.name} id=${user} />` : user],
      ['Request', job.requestId && html`<code>${job.requestId}</code>`],
      ['Id', html`<code>${id}</code>`],
    ]}
  />`;
}

function Progress({ progress }) {
  const { done, total, note } = progress;
  const value = total === undefined ? {} : { max: total || 1, value: Math.min(done, total) };
  return html`<div class="jobs-progress">
    <progress aria-label="Progress" ...${value}></progress>
    <p>${progressText(progress)}${note !== undefined && ` · ${note}`}</p>
  </div>`;
}

/** Input, result and error as texts, which are never parsed as HTML. */
function Values({ job: { input, result, error } }) {
  const values = [
    ['Error of the last attempt', 'Text of the error', error],
    ['Input', 'JSON of the input', input === null ? null : JSON.stringify(input, null, 2)],
    ['Result', 'JSON of the result', result === null ? null : JSON.stringify(result, null, 2)],
  ];
  return values
    .filter(([, , text]) => text !== null)
    .map(
      ([title, label, text]) =>
        html`<${Section} key=${title} title=${title}><${Code} text=${text} label=${label} /><//>`,
    );
}

/** One job with everything that is stored of it. It follows the job while it runs. */
export function JobPage({ id }) {
  const path = `/jobs/runs/${encodeURIComponent(id)}`;
  const loaded = useLoaded(path, { everyMs: READ_EVERY_MS });
  const { data: job } = loaded;
  const { params } = place.value;
  const filter = { job: params.get('job'), status: params.get('status'), after: params.get('after') };
  const [verb, label] = ACTIONS[job?.status] ?? [];
  const perform = async () => {
    await call(`${path}/${verb}`, { method: 'POST' });
    await loaded.reload();
  };
  return html`<${Page}
    title=${job?.job ?? 'Job'}
    back=${{ href: jobsHref({ ...filter }), label: 'All jobs' }}
    intro=${job && html`<span role="status" class="jobs-status"><${JobStatus} status=${job.status} /></span>`}
    actions=${verb && html`<${ActionButton} key=${verb} run=${perform}>${label}<//>`}
  >
    <${Loaded} from=${loaded}>
      ${() => html`${job.progress !== null && html`<${Progress} progress=${job.progress} />`}
        <${JobFacts} job=${job} />
        <${Values} job=${job} />`}
    <//>
  <//>`;
}
