import type { Viewer } from '../declare/actor.ts';
import type { JobContext } from '../declare/job.ts';
import { withTimeoutFallback } from '../platform/helpers/concurrency/deadline.ts';
import type { Logger } from '../platform/observability/log.ts';
import type { AttemptResult } from '../platform/work/leased-work/job.ts';
import { LeaseLostError } from '../platform/work/leased-work/lease.ts';
import { runAsActor } from '../rules/acting.ts';
import { type CompiledJob, checkInput } from './declarations/declarations.ts';
import { toStorableJson } from './declarations/values.ts';
import { createProgress, type Progress } from './progress.ts';
import type { ClaimedJob, JobStore } from './store.ts';

/** ms that an aborted run may need to end. Then its slot is used again, although its code may still run. */
const ABORT_GRACE_MS = 2000;

/** A failure that another attempt would only repeat. The job can still be retried by hand. */
export class PermanentFailure extends Error {
  override readonly name: string = 'PermanentFailure';
}

/** A run that was aborted after `timeoutMs`. */
class JobTimeoutError extends Error {
  override readonly name = 'JobTimeoutError';
}

/** Why a run was aborted because its process stops. */
const STOPPING = new Error('The process stops');

/** A failed attempt, with the last progress that is not stored yet. */
export class FailedRun extends Error {
  readonly progress: string | null;

  constructor(cause: unknown, progress: string | null) {
    super('The run failed', { cause });
    this.progress = progress;
  }
}

/** What runs of jobs need, besides their own input. */
export interface RunDependencies {
  store: JobStore;
  log: Logger;
  /** Aborted when runs must end, because the process stops. */
  stopping: AbortSignal;
  /** Returns an active user; undefined if the user does not exist or is not active. */
  loadUser(id: string): Promise<Viewer | undefined>;
  /** What every run gets. */
  context: Pick<JobContext, 'service' | 'transaction' | 'push' | 'mail' | 'webhooks' | 'jobs'>;
}

/** @throws PermanentFailure if the input does not fit the declaration, which may have changed since the job was enqueued */
async function readInput(job: CompiledJob, input: string | null): Promise<unknown> {
  const checked = await checkInput(job, input === null ? undefined : JSON.parse(input));
  if (checked.details === undefined) return checked.value;
  const errors = Object.entries(checked.details).map(([name, message]) => `${name}: ${message}`);
  throw new PermanentFailure(`The input does not fit the declaration of the job: ${errors.join('; ')}`);
}

/** A signal that ends a run: at the timeout, with the lease, or when the process stops. Call `dispose` when the run has ended. */
function createRunSignal({ timeoutMs }: CompiledJob, lost: AbortSignal, stopping: AbortSignal) {
  const ending = new AbortController();
  const timer = setTimeout(
    () => ending.abort(new JobTimeoutError(`The run took longer than ${timeoutMs} ms`)),
    timeoutMs,
  );
  const onLost = () => ending.abort(new LeaseLostError('it was cancelled, deleted, or claimed by another worker'));
  const onStopping = () => ending.abort(STOPPING);
  lost.addEventListener('abort', onLost);
  stopping.addEventListener('abort', onStopping);
  if (lost.aborted) onLost();
  if (stopping.aborted) onStopping();
  return {
    signal: ending.signal,
    dispose() {
      clearTimeout(timer);
      lost.removeEventListener('abort', onLost);
      stopping.removeEventListener('abort', onStopping);
    },
  };
}

/**
 * Waits for a run, and after an abort for a moment only.
 *
 * @returns what the run returned
 * @throws what the run threw; the reason of the signal if it was aborted, whatever the run does then
 */
async function waitForRun(running: Promise<unknown>, signal: AbortSignal, onIgnored: () => void): Promise<unknown> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (signal.aborted) resolve();
  const ended = running.then(
    () => true,
    () => true,
  );
  await Promise.race([ended, aborted]);
  if (!signal.aborted) return running;
  if (!(await withTimeoutFallback(ended, ABORT_GRACE_MS, false))) onIgnored();
  throw signal.reason;
}

/** Runs jobs that were claimed. */
export interface JobRunner {
  /**
   * Runs a claimed job and stores its result.
   *
   * @param lost aborted when the lease is lost
   * @throws FailedRun; LeaseLostError
   */
  run(job: CompiledJob, claimed: ClaimedJob, lost: AbortSignal): Promise<AttemptResult>;
}

/** Creates the runner of jobs. */
export function createJobRunner({ store, log, stopping, loadUser, context }: RunDependencies): JobRunner {
  async function callRun(job: CompiledJob, claimed: ClaimedJob, signal: AbortSignal, progress: Progress) {
    const { id, attempt, userId, requestId } = claimed;
    const input = await readInput(job, claimed.input);
    const user = userId === null ? undefined : await loadUser(userId);
    const jobLog = log.child({ job: id, name: job.name });
    const scheduledAt = new Date(claimed.scheduledAt);
    const { report } = progress;
    const own = { id, input, attempt, scheduledAt, signal, progress: report, user, log: jobLog };
    // Changes of the run are recorded for the user and the request that enqueued the job.
    const actor = { user, req: undefined, requestId: requestId ?? undefined };
    const running = runAsActor(actor, async () => job.run({ ...context, ...own }));
    return waitForRun(running, signal, () =>
      jobLog.warn('a run ignores its signal: its code may still be running, although its slot is used again'),
    );
  }

  /** Stores the result of a run. A result that cannot be stored does not make the run fail, because its work is done. */
  async function storeResult(claimed: ClaimedJob, result: unknown, progress: string | null): Promise<AttemptResult> {
    const json = result === undefined ? undefined : toStorableJson(result);
    const error = json?.error === undefined ? null : `The result was not stored. ${json.error}`;
    if (error !== null) log.warn({ job: claimed.id, name: claimed.name, error }, 'the result of a job was not stored');
    await store.finish(claimed, { status: 'succeeded', result: json?.text ?? null, error, progress });
    return { outcome: 'succeeded' };
  }

  return {
    async run(job, claimed, lost) {
      if (claimed.attempt > job.retry.attempts)
        throw new FailedRun(new PermanentFailure('Its workers stopped before the run was finished'), null);
      const { signal, dispose } = createRunSignal(job, lost, stopping);
      const progress = createProgress((report) => store.storeProgress(claimed, report));
      try {
        const result = await callRun(job, claimed, signal, progress);
        return await storeResult(claimed, result, await progress.end());
      } catch (error) {
        const lastProgress = await progress.end();
        if (error instanceof LeaseLostError) throw error;
        if (error !== STOPPING) throw new FailedRun(error, lastProgress);
        await store.release(claimed);
        return { outcome: 'released' };
      } finally {
        dispose();
      }
    },
  };
}
