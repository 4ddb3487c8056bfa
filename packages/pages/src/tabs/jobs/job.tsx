import {
  ActionButton,
  Code,
  call,
  durationText,
  Facts,
  Loaded,
  Page,
  place,
  RecordLink,
  Section,
  timeOf,
  useLoaded,
  userResource,
} from '../../console/kit.ts';
import { jobsHref, progressText, StatusBadge } from './status.tsx';
import type { Job, JobProgress, JobStatus } from './types.ts';

/** The interval in ms at which the job is read, because another process may run it. */
const READ_EVERY_MS = 1000;

const CANCEL = { verb: 'cancel', label: 'Cancel' };
const RETRY = { verb: 'retry', label: 'Retry' };

/** The action that a job of a status allows. */
const ACTIONS: Partial<Record<JobStatus, { verb: string; label: string }>> = {
  waiting: CANCEL,
  running: CANCEL,
  failed: RETRY,
  cancelled: RETRY,
};

/** How long the last attempt took; null if it has not finished. */
function runDuration({ startedAt, finishedAt }: Job) {
  if (startedAt === null || finishedAt === null || finishedAt < startedAt) return null;
  return durationText(Date.parse(finishedAt) - Date.parse(startedAt));
}

function JobFacts({ job }: { job: Job }) {
  const { id, attempts, status, runAt, scheduledAt, startedAt, finishedAt, user } = job;
  const users = userResource();
  return (
    <Facts
      of={[
        ['Attempts', String(attempts)],
        ['Enqueued', timeOf(job.createdAt)],
        [status === 'waiting' ? 'Next attempt' : 'Due', timeOf(runAt)],
        ['Scheduled for', scheduledAt === runAt ? null : timeOf(scheduledAt)],
        ['Last attempt', timeOf(startedAt)],
        ['Finished', timeOf(finishedAt)],
        ['Duration', runDuration(job)],
        ['Schedule', job.schedule],
        ['Unique key', job.uniqueKey],
        ['User', user && users ? <RecordLink resource={users.name} id={user} /> : user],
        ['Request', job.requestId && <code>{job.requestId}</code>],
        ['Id', <code>{id}</code>],
      ]}
    />
  );
}

function Progress({ progress }: { progress: JobProgress }) {
  const { done, total, note } = progress;
  const value = total === undefined ? {} : { max: total || 1, value: Math.min(done, total) };
  return (
    <div class="jobs-progress">
      <progress aria-label="Progress" {...value}></progress>
      <p>
        {progressText(progress)}
        {note !== undefined && ` · ${note}`}
      </p>
    </div>
  );
}

const jsonText = (value: unknown) => (value === null ? null : JSON.stringify(value, null, 2));

/** A value that is stored of the job, as a text, which is never parsed as HTML. */
function Value({ title, label, text }: { title: string; label: string; text: string | null }) {
  if (text === null) return null;
  return (
    <Section title={title}>
      <Code text={text} label={label} />
    </Section>
  );
}

/** One job with everything that is stored of it. It follows the job while it runs. */
export function JobPage({ id }: { id: string }) {
  const path = `/jobs/runs/${encodeURIComponent(id)}`;
  const loaded = useLoaded<Job>(path, { everyMs: READ_EVERY_MS });
  const { params } = place.value;
  const filter = { job: params.get('job'), status: params.get('status'), after: params.get('after') };
  const action = loaded.data && ACTIONS[loaded.data.status];
  const perform = async (verb: string) => {
    await call(`${path}/${verb}`, { method: 'POST' });
    await loaded.reload();
  };
  return (
    <Page
      title={loaded.data?.job ?? 'Job'}
      back={{ href: jobsHref(filter), label: 'All jobs' }}
      intro={
        loaded.data && (
          <span role="status" class="jobs-status">
            <StatusBadge status={loaded.data.status} />
          </span>
        )
      }
      actions={
        action && (
          <ActionButton key={action.verb} run={() => perform(action.verb)}>
            {action.label}
          </ActionButton>
        )
      }
    >
      <Loaded from={loaded}>
        {(job) => (
          <>
            {job.progress !== null && <Progress progress={job.progress} />}
            <JobFacts job={job} />
            <Value title="Error of the last attempt" label="Text of the error" text={job.error} />
            <Value title="Input" label="JSON of the input" text={jsonText(job.input)} />
            <Value title="Result" label="JSON of the result" text={jsonText(job.result)} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
