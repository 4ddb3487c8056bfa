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
import { StoredSection } from './shown.tsx';
import { jobsHref, progressText, runHref, StatusBadge, timeText } from './status.tsx';
import { texts } from './texts.ts';
import type { Job, JobStatus } from './types.ts';

/** The interval in ms at which the job is read, because another process may run it. */
const READ_EVERY_MS = 1000;
/** A job whose time is later than this after it was added was planned for that time. */
const PLANNED_MS = 1000;

const { run } = texts;
const CANCEL = { verb: 'cancel', label: run.cancel };
const RETRY = { verb: 'retry', label: run.retry };

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

/** Who or what started a job, as far as it is stored. */
function Starter({ job: { schedule, user, organisation, requestId } }: { job: Job }) {
  const users = userResource();
  if (schedule !== null) return run.schedule(schedule);
  if (organisation !== null)
    return (
      <>
        {run.user} <RecordLink resource="organisation" id={organisation} />
      </>
    );
  if (user === null) return requestId === null ? run.code : run.noUser;
  return (
    <>
      {run.user} {users ? <RecordLink resource={users.name} id={user} /> : <code>{user}</code>}
    </>
  );
}

/** Whether a job was added for a later time. */
const isPlanned = ({ createdAt, scheduledAt }: Job) => Date.parse(scheduledAt) - Date.parse(createdAt) > PLANNED_MS;

function JobFacts({ job }: { job: Job }) {
  const { attempts, maxAttempts, status, runAt, scheduledAt, startedAt, finishedAt } = job;
  const isFirst = status === 'waiting' && attempts === 0;
  return (
    <Facts
      of={[
        [run.startedBy, <Starter key="starter" job={job} />],
        [run.added, timeOf(job.createdAt)],
        [run.attempts, maxAttempts === null ? String(attempts) : run.attemptsOf(attempts, maxAttempts)],
        [isFirst ? run.due : run.nextAttempt, status === 'waiting' ? timeOf(runAt) : null],
        [run.scheduledFor, isPlanned(job) && !isFirst ? timeOf(scheduledAt) : null],
        [run.lastAttempt, timeOf(startedAt)],
        [run.finished, timeOf(finishedAt)],
        [run.duration, runDuration(job)],
      ]}
    />
  );
}

/** What helps developers to find the job in code, the log and the database. */
function TechnicalDetails({ job: { id, job, uniqueKey, requestId } }: { job: Job }) {
  return (
    <Section title={run.technical}>
      <Facts
        of={[
          [run.name, <code key="name">{job}</code>],
          [run.uniqueKey, uniqueKey],
          [run.request, requestId && <code>{requestId}</code>],
          [run.id, <code key="id">{id}</code>],
        ]}
      />
    </Section>
  );
}

function Progress({ progress }: { progress: NonNullable<Job['progress']> }) {
  const { done, total, note } = progress;
  const value = total === undefined ? {} : { max: total || 1, value: Math.min(done, total) };
  return (
    <div class="jobs-progress">
      <progress aria-label={run.progress} {...value}></progress>
      <p>
        {progressText(progress)}
        {note !== undefined && ` · ${note}`}
      </p>
    </div>
  );
}

/** The error of the last attempt, as a text, which is never parsed as HTML. Of a job that has succeeded, why its result is not stored. */
function ErrorSection({ job: { error, status, attempts } }: { job: Job }) {
  if (error === null) return null;
  return (
    <Section title={status === 'succeeded' ? run.note : run.error}>
      <Code text={error} label={run.errorLabel} />
      {attempts > 1 && <p class="jobs-note soft">{run.earlierErrors}</p>}
    </Section>
  );
}

/** The question before a job runs earlier than it was planned for. Other retries need none. */
const retryQuestion = ({ status, scheduledAt, label }: Job) =>
  status === 'cancelled' && Date.parse(scheduledAt) > Date.now()
    ? {
        title: run.retryNow(label),
        text: run.retryNowText(timeText(scheduledAt)),
        action: run.retryNowAction,
      }
    : undefined;

/** The actions that the state of a job allows. */
function Actions({ job, perform }: { job: Job; perform: (verb: string) => Promise<void> }) {
  const action = ACTIONS[job.status];
  return (
    <>
      {action && (
        <ActionButton key={action.verb} run={() => perform(action.verb)} confirm={retryQuestion(job)}>
          {action.label}
        </ActionButton>
      )}
      {job.finishedAt !== null && job.maxAttempts !== null && (
        <a class="button" href={runHref(job.job, job.id)}>
          {run.runAgain}
        </a>
      )}
    </>
  );
}

/** One job with everything that is stored of it. It follows the job while it runs. */
export function JobPage({ id }: { id: string }) {
  const path = `/jobs/runs/${encodeURIComponent(id)}`;
  const loaded = useLoaded<Job>(path, { everyMs: READ_EVERY_MS });
  const { params } = place.value;
  const filter = { job: params.get('job'), status: params.get('status'), after: params.get('after') };
  const perform = async (verb: string) => {
    await call(`${path}/${verb}`, { method: 'POST' });
    await loaded.reload();
  };
  return (
    <Page
      title={loaded.data?.label ?? texts.job}
      back={{ href: jobsHref(filter), label: texts.allJobs }}
      intro={
        loaded.data && (
          <span role="status" class="jobs-status">
            <StatusBadge job={loaded.data} />
          </span>
        )
      }
      actions={loaded.data && <Actions job={loaded.data} perform={perform} />}
    >
      <Loaded from={loaded}>
        {(job) => (
          <>
            {job.progress !== null && <Progress progress={job.progress} />}
            <JobFacts job={job} />
            <ErrorSection job={job} />
            {job.result !== null && <StoredSection title={run.result} stored={job.result} />}
            {job.status === 'succeeded' && job.result === null && job.error === null && (
              <Section title={run.result}>
                <p class="soft">{run.noResult}</p>
              </Section>
            )}
            {job.input !== null && <StoredSection title={run.input} stored={job.input} />}
            <TechnicalDetails job={job} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
