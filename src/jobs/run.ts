import type { Viewer } from '../declare/actor.ts';
import type { JobContext } from '../declare/job.ts';
import { withTimeoutFallback } from '../platform/helpers/concurrency/deadline.ts';
import type { LazyAbort } from '../platform/helpers/concurrency/lazy-abort.ts';
import type { Logger } from '../platform/observability/log.ts';
import type { AttemptResult } from '../platform/work/leased-work/job.ts';
import { LeaseLostError } from '../platform/work/leased-work/lease.ts';
import type { Slot } from '../platform/work/leased-work/local-queue.ts';
import { runAsActor } from '../rules/acting.ts';
import { type CompiledJob, checkInput } from './declarations/declarations.ts';
import { toStorableJson } from './declarations/values.ts';
import { createProgress, type Progress } from './progress.ts';
import type { ClaimedJob, JobStore } from './store.ts';

/** ms that an aborted run may need to end. Then its slot is used again, although its code may still run. */
const ABORT_GRACE_MS = 2000;

/** ms after its claim from which a job is checked before it starts: it may have been cancelled, and its lease may have expired. */
const CHECK_AFTER_MS = 100;

/** A failure that another attempt would only repeat. The job can still be retried by hand. */
export class PermanentFailure extends Error {
  override readonly name: string = 'PermanentFailure';
}

/** A run that was aborted after `timeoutMs`. */
class JobTimeoutError extends Error {
  override readonly name = 'JobTimeoutError';
}

/** Why a run was aborted because its process stops. */
export const STOPPING = new Error('The process stops');

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
  stopping: LazyAbort;
  /** See `JobRuntime`. */
  loadUser(id: string, organisationRole: string | null): Promise<Viewer | undefined>;
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

/** Waits for a run, and after an abort for a moment only. Throws the reason of an abort, whatever the run does then. */
function waitForRun(running: Promise<unknown>, abort: LazyAbort, onIgnored: () => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    running.then(
      (result) => abort.isAborted || resolve(result),
      (error) => abort.isAborted || reject(error),
    );
    abort.onAbort(async () => {
      const ended = running.then(
        () => true,
        () => true,
      );
      if (!(await withTimeoutFallback(ended, ABORT_GRACE_MS, false))) onIgnored();
      reject(abort.reason);
    });
  });
}

/** What a run gets, before its input and user are known. */
type RunContext = { -readonly [Name in keyof JobContext]: JobContext[Name] };

/** Runs jobs that were claimed. */
export class JobRunner {
  readonly #dependencies: RunDependencies;

  constructor(dependencies: RunDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Runs a claimed job and stores its result.
   *
   * @param abort aborted when the lease is lost; the runner aborts it at the timeout, and when the process stops
   * @throws FailedRun; LeaseLostError
   */
  async run(job: CompiledJob, claimed: ClaimedJob, slot: Slot, abort: LazyAbort): Promise<AttemptResult> {
    const { store } = this.#dependencies;
    if (!claimed.isCounted || slot.waitedMs > CHECK_AFTER_MS) await store.start(claimed);
    if (claimed.attempt > job.retry.attempts)
      throw new FailedRun(new PermanentFailure('Its workers stopped before the run was finished'), null);
    const progress = createProgress((report) => store.storeProgress(claimed, report));
    try {
      const result = await this.#callRunInTime(job, claimed, abort, progress);
      slot.free();
      return await this.#storeResult(claimed, job.name, result, await progress.end());
    } catch (error) {
      const lastProgress = await progress.end();
      if (error instanceof LeaseLostError) throw error;
      if (error !== STOPPING) throw new FailedRun(error, lastProgress);
      if ((await store.release(job.name, [claimed])) === undefined)
        throw new LeaseLostError('it was cancelled or deleted');
      return { outcome: 'released' };
    }
  }

  /** Returns what a run gets. Signal and log are created only if the run reads them. */
  #createContext(job: CompiledJob, claimed: ClaimedJob, abort: LazyAbort, progress: Progress): RunContext {
    const { context, log } = this.#dependencies;
    let jobLog: Logger | undefined;
    return {
      ...context,
      id: claimed.id,
      input: undefined,
      attempt: claimed.attempt,
      scheduledAt: new Date(claimed.scheduledAt),
      user: undefined,
      progress: progress.report,
      get signal() {
        return abort.signal;
      },
      get log() {
        jobLog ??= log.child({ job: claimed.id, name: job.name });
        return jobLog;
      },
    };
  }

  async #callRun(job: CompiledJob, claimed: ClaimedJob, abort: LazyAbort, progress: Progress) {
    const { userId, requestId, organisationRole } = claimed;
    const own = this.#createContext(job, claimed, abort, progress);
    own.input = await readInput(job, claimed.input);
    if (userId !== null) own.user = await this.#dependencies.loadUser(userId, organisationRole);
    // Changes of the run are recorded for the user and the request that enqueued the job.
    const actor = { user: own.user, req: undefined, requestId: requestId ?? undefined };
    const running = runAsActor(actor, async () => job.run(own));
    return waitForRun(running, abort, () =>
      own.log.warn('a run ignores its signal: its code may still be running, although its slot is used again'),
    );
  }

  /** Calls the run, and aborts it at its timeout and when the process stops. */
  async #callRunInTime(job: CompiledJob, claimed: ClaimedJob, abort: LazyAbort, progress: Progress) {
    const { timeoutMs } = job;
    const { stopping } = this.#dependencies;
    const onTimeout = () => abort.abort(new JobTimeoutError(`The run took longer than ${timeoutMs} ms`));
    const onStopping = () => abort.abort(stopping.reason);
    const timer = setTimeout(onTimeout, timeoutMs);
    stopping.onAbort(onStopping);
    try {
      return await this.#callRun(job, claimed, abort, progress);
    } finally {
      clearTimeout(timer);
      stopping.offAbort(onStopping);
    }
  }

  /** Stores the result of a run. A result that cannot be stored does not make the run fail, because its work is done. */
  async #storeResult(claimed: ClaimedJob, name: string, result: unknown, progress: string | null) {
    const { store, log } = this.#dependencies;
    const json = result === undefined ? undefined : toStorableJson(result);
    const error = json?.error === undefined ? null : `The result was not stored. ${json.error}`;
    if (error !== null) log.warn({ job: claimed.id, name, error }, 'the result of a job was not stored');
    await store.finish(claimed, { status: 'succeeded', result: json?.text ?? null, error, progress });
    return { outcome: 'succeeded' };
  }
}
