import type { Logger } from '../platform/observability/log.ts';
import type { Viewer } from './actor.ts';
import type { AnyJob, JobDeclaration, JobSettings } from './job-queue.ts';
import type { PushSender } from './push.ts';
import type { Senders } from './senders.ts';
import type { Services, Transact } from './service.ts';

/** What the function of a job gets. */
export interface JobContext<Input = unknown> extends Senders {
  /** The id of the job, the same for all of its attempts. */
  id: string;
  /** The input that was passed to `enqueue`, checked again by the schema of the job. */
  input: Input;
  /** The number of this attempt, from 1. */
  attempt: number;
  /** The time for which the job was enqueued: `runAt`, or the tick of its schedule. */
  scheduledAt: Date;
  /** Aborted after `timeoutMs`, when the job is cancelled, and when the process must stop. Pass it to whatever may take long. */
  signal: AbortSignal;
  /**
   * Reports how far the run is. The latest report is stored, at most once per second.
   *
   * @param done the number of finished steps
   * @param total the number of all steps, if it is known
   * @param note a text of up to 200 characters
   * @throws TypeError for a number that is negative or not finite, or a text that cannot be stored
   */
  progress(done: number, total?: number, note?: string): void;
  /**
   * The user whose request enqueued the job; undefined if there was none, or if the account no longer exists or is not active. If an API key
   * of an organisation enqueued it: that organisation, as in the request.
   */
  user: Viewer | undefined;
  push: PushSender;
  /** The service of a resource, with system privilege unless a call says otherwise. */
  service: Services;
  /** Runs changes of several records in one transaction. */
  transaction: Transact;
  /** Logs with the id and the name of the job. */
  log: Logger;
}

/** The options of a job. */
export interface JobOptions<Input = undefined, Output = Input> extends JobSettings<Input, Output> {
  /**
   * Does the work. A value that it returns is stored with the job, as JSON of up to 64 KB. If it throws, the job is retried. It may run
   * more than once, because its process may die after the work is done, so repeating it must do no harm.
   */
  run(context: JobContext<Output>): unknown;
}

const defined = new Set<string>();

/** The names of all jobs that `defineJob` has created in this process. An app uses them to find jobs that its code enqueues but `jobs` lacks. */
export const definedJobNames: ReadonlySet<string> = defined;

/**
 * Declares a kind of background work. Add it to the option `jobs` of `createApp`, and run it with `jobs.enqueue`.
 *
 * @param name lower case, with hyphens: `close-stale-tickets`
 * @example
 * const closeStale = defineJob('close-stale-tickets', {
 *   input: z.strictObject({ olderThanDays: z.number().int() }),
 *   run: async ({ input, service }) => { … },
 * });
 * await app.jobs.enqueue(closeStale, { olderThanDays: 30 });
 */
export function defineJob<Input = undefined, Output = Input>(
  name: string,
  options: JobOptions<Input, Output>,
): JobDeclaration<Input> {
  defined.add(name);
  return { name, options };
}

/** Enqueues a job again and again. Each tick is enqueued once, however many processes there are. */
export interface ScheduleDeclaration {
  /** Five fields: minute, hour, day of month, month, day of week. Names such as JAN and MON are allowed. */
  cron: string;
  job: AnyJob;
  /** The input of the job. */
  input?: unknown;
  /** Identifies the schedule across deployments. Default: the name of the job. */
  name?: string | undefined;
  /** An IANA time zone, such as Europe/Berlin. Default UTC. */
  timeZone?: string | undefined;
  /** Which ticks are enqueued late, if no relay was running when they were due. `all`: the last 100. Default `latest`. */
  catchUp?: 'none' | 'latest' | 'all' | undefined;
  /** Whether a tick is enqueued while the job of an earlier one is waiting or running. Default `skip`. */
  overlap?: 'skip' | 'allow' | undefined;
}
