import { withDeadline, withTimeoutFallback } from '../../helpers/concurrency/deadline.ts';
import { StartupError } from '../../helpers/config-errors.ts';
import type { Logger } from '../../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import { isConnectionError } from '../postgres/errors.ts';
import { type ReplicaProgress, removeBlockHeader } from './progress.ts';

/** The connections that a monitor checks. */
interface MonitoredServers {
  primary: Pick<Database, 'read'>;
  replica: Pick<Database, 'read'>;
  /** The host of the replica, for messages. */
  address: string;
  /** Called when the replica cannot be reached any more: statements that it is running may never end. */
  abandonStatements(error: unknown): void;
}

/** Why the replica cannot be used. `unknown_lag`: the primary has not responded to checks for too long. */
type UnusableReason = 'unavailable' | 'lag' | 'unknown_lag';

type Status = 'unknown' | 'replica' | 'unreachable' | 'not a replica' | 'other database' | 'other timeline';

/** How lists are read from the replica, or why they are not. */
type State = Exclude<Status, 'unknown' | 'replica'> | 'lag' | 'unknown_lag' | 'in use';

const MAX_INTERVAL_MS = 1000;
const CHECK_DEADLINE_MS = 2000;
const LOG_EVERY_MS = 10_000;
/** Beyond the greatest lag: how long a replica that had not lagged is used while the primary does not respond to checks. */
export const MAX_UNCHECKED_MS = 10_000;

const OTHER_DATABASE = 'DATABASE_REPLICA_URL leads to another database';
const FROM_PRIMARY = 'lists are read from the primary';

/** The log line of each state. */
const LINES: Readonly<Record<State, readonly [level: 'info' | 'warn' | 'error', text: string]>> = {
  'in use': ['info', 'lists are read from the replica'],
  lag: ['warn', `the replica lags too far behind; ${FROM_PRIMARY}`],
  unreachable: ['warn', `the replica cannot be used; ${FROM_PRIMARY}`],
  unknown_lag: [
    'warn',
    `the primary does not respond to checks, so the lag of the replica is unknown; ${FROM_PRIMARY}`,
  ],
  'not a replica': ['warn', `DATABASE_REPLICA_URL leads to a server that is no replica; ${FROM_PRIMARY}`],
  'other timeline': [
    'warn',
    `the replica does not follow the current primary, or has not finished a checkpoint since a failover; ${FROM_PRIMARY}`,
  ],
  'other database': ['error', `${OTHER_DATABASE}; ${FROM_PRIMARY}`],
};

/** Creates the function that logs how lists are read, when that has changed. */
function createStateLog(address: string, progress: ReplicaProgress, maxLagMs: number, log: Logger) {
  let logged: State | undefined;
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (state: State, { foundAt, failure }: { foundAt: number; failure: unknown }): void => {
    const now = performance.now();
    if (state === logged || now - loggedAt < LOG_EVERY_MS) return;
    const lagMs = Math.round(progress.lagMs());
    // The replica has just been found, and has not replayed the first position of the primary yet.
    if (state === 'lag' && !Number.isFinite(lagMs) && now - foundAt < maxLagMs) return;
    // After a start, the next change is worth a line however soon it comes.
    loggedAt = logged === undefined && state === 'in use' ? Number.NEGATIVE_INFINITY : now;
    logged = state;
    const [level, text] = LINES[state];
    const lag = state === 'lag' && { ...(Number.isFinite(lagMs) && { lagMs }), maxLagMs };
    log[level]({ ...(failure !== undefined && { err: failure }), replica: address, ...lag }, text);
  };
}

type SampleRow = [clock: number, position: number, timeline: string, blockBytes: number, segmentBytes: number];

// The clock is read before the position. Positions are bytes since the beginning of the log.
const SAMPLE = `
  select (extract(epoch from clock_timestamp()) * 1000)::float8,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
    left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    current_setting('wal_block_size')::int, pg_size_bytes(current_setting('wal_segment_size'))`;

type StateRow = [isReplica: boolean, replayed: number | null, timeline: string | null];

const STATE_WITHOUT_TIMELINE = `
  select pg_is_in_recovery(), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint, null`;
const STATE = `
  select pg_is_in_recovery(), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint,
    (select upper(lpad(to_hex(timeline_id), 8, '0')) from pg_control_checkpoint())`;

// A replica has the system identifier of its primary.
const IDENTITY = 'select current_database(), (select system_identifier::text from pg_control_system())';
const DATABASE_NAME = 'select current_database(), null';

const INSUFFICIENT_PRIVILEGE = '42501';

/** Runs a statement, or another one if the role may not use a function of the first. */
async function readAllowed<Row extends unknown[]>(
  database: Pick<Database, 'read'>,
  text: string,
  otherwise: string,
): Promise<Row> {
  try {
    return (await database.read<Row>({ text, values: [] }))[0]!;
  } catch (error) {
    if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    return (await database.read<Row>({ text: otherwise, values: [] }))[0]!;
  }
}

/** Whether both servers have the same database, as far as the role may find out. */
async function isSameDatabase({ primary, replica }: Pick<MonitoredServers, 'primary' | 'replica'>): Promise<boolean> {
  const readIdentity = (database: Pick<Database, 'read'>) =>
    readAllowed<[name: string, system: string | null]>(database, IDENTITY, DATABASE_NAME);
  const [[name, system], [otherName, otherSystem]] = await Promise.all([readIdentity(primary), readIdentity(replica)]);
  return name === otherName && (system === null || otherSystem === null || system === otherSystem);
}

/**
 * Runs work again and again, each time after a pause, until the returned function is called. Does not keep the process running.
 *
 * @param work must not reject
 */
export function repeat(work: () => Promise<unknown>, pauseMs: number): () => void {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  function plan(): void {
    if (!isStopped) timer = setTimeout(() => void work().then(plan), pauseMs).unref();
  }
  plan();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** Checks regularly whether a replica can be used, and how far it has caught up: keeps `progress` up to date. */
export class ReplicaMonitor {
  readonly #servers: MonitoredServers;
  readonly #progress: ReplicaProgress;
  readonly #maxLagMs: number;
  readonly #log: Logger;
  readonly #logState: ReturnType<typeof createStateLog>;
  #status: Status = 'unknown';
  #primaryTimeline: string | undefined;
  #stopLoops: (() => void)[] = [];
  #isLogging = false;
  #isStopped = false;
  #hasWarnedOfTimeline = false;
  #runningCheck: Promise<void> | undefined;
  /** When the replica was last found to be one. */
  #foundAt = Number.NEGATIVE_INFINITY;

  constructor(servers: MonitoredServers, progress: ReplicaProgress, maxLagMs: number, log: Logger) {
    this.#servers = servers;
    this.#progress = progress;
    this.#maxLagMs = maxLagMs;
    this.#log = log;
    this.#logState = createStateLog(servers.address, progress, maxLagMs, log);
  }

  /**
   * Checks both servers once, then regularly, and logs how lists are read.
   *
   * @throws StartupError if the server is certainly no replica of the primary
   */
  async start(): Promise<void> {
    this.#isLogging = true;
    await this.check();
    if (this.#status === 'other database')
      throw new StartupError('The app cannot start:', [
        `${OTHER_DATABASE}: ${this.#servers.address} is not a replica of the server in DATABASE_URL`,
      ]);
    if (this.#isStopped) return;
    const intervalMs = Math.min(MAX_INTERVAL_MS, this.#maxLagMs / 5);
    // The two servers have separate loops, so that one that responds late does not delay the check of the other.
    this.#stopLoops = [repeat(() => this.#trySample(), intervalMs), repeat(() => this.#checkReplica(), intervalMs)];
  }

  /** Checks both servers now. Returns whether the replica can be reached and belongs to the primary, whatever its lag. */
  async check(): Promise<boolean> {
    await withTimeoutFallback(this.#trySample(), CHECK_DEADLINE_MS, undefined);
    await this.#checkReplica();
    return this.#status === 'replica';
  }

  /** Checks the replica at once, because a statement could not run there. */
  checkSoon(): void {
    if (this.#status === 'replica') void this.#checkReplica();
  }

  /** Why the replica cannot be used at this moment; undefined if it can. */
  unusableReason(): UnusableReason | undefined {
    return this.#status === 'replica' ? this.#findLag() : 'unavailable';
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stopLoops) stop();
  }

  #findLag(): 'lag' | 'unknown_lag' | undefined {
    if (this.#progress.lagMs() > this.#maxLagMs) return 'lag';
    return this.#progress.ageMs() > this.#maxLagMs + MAX_UNCHECKED_MS ? 'unknown_lag' : undefined;
  }

  // Without the primary there is nothing to compare with; `unusableReason` limits for how long.
  #trySample(): Promise<void> {
    return this.#samplePrimary().catch(() => undefined);
  }

  async #samplePrimary(): Promise<void> {
    const askedAt = performance.now();
    const rows = await this.#servers.primary.read<SampleRow>({ text: SAMPLE, values: [] });
    const [clock, position, timeline, blockBytes, segmentBytes] = rows[0]!;
    if (this.#primaryTimeline !== undefined && this.#primaryTimeline !== timeline) this.#progress.reset();
    this.#primaryTimeline = timeline;
    this.#progress.addSample({ askedAt, clock, position: removeBlockHeader(position, blockBytes, segmentBytes) });
  }

  /** Checks the replica; callers at the same time share one check. */
  #checkReplica(): Promise<void> {
    this.#runningCheck ??= this.#runCheck().finally(() => {
      this.#runningCheck = undefined;
    });
    return this.#runningCheck;
  }

  async #runCheck(): Promise<void> {
    const before = this.#status;
    let failure: unknown;
    try {
      // A lost connection does not mean that the server is down, so a second one is tried.
      const read = this.#readStatus().catch((error) => {
        if (isConnectionError(error)) return this.#readStatus();
        throw error;
      });
      this.#status = await withDeadline(read, CHECK_DEADLINE_MS);
      if (this.#status !== before) this.#foundAt = performance.now();
    } catch (error) {
      this.#status = 'unreachable';
      failure = error;
      this.#servers.abandonStatements(error);
    }
    if (!this.#isLogging || this.#isStopped || this.#status === 'unknown') return;
    const state = this.#status === 'replica' ? (this.#findLag() ?? 'in use') : this.#status;
    this.#logState(state, { foundAt: this.#foundAt, failure });
  }

  async #readStatus(): Promise<Status> {
    const isKnown = this.#status === 'replica' || this.#status === 'other timeline';
    if (!isKnown && !(await isSameDatabase(this.#servers))) return 'other database';
    const row = await readAllowed<StateRow>(this.#servers.replica, STATE, STATE_WITHOUT_TIMELINE);
    const [isReplica, replayed, timeline] = row;
    if (!isReplica) return 'not a replica';
    if (timeline === null) this.#warnOfTimeline();
    // After a failover, a replica may still follow the old primary, whose log has continued differently.
    else if (this.#primaryTimeline !== undefined && timeline !== this.#primaryTimeline) return 'other timeline';
    if (replayed !== null) this.#progress.setReplayed(replayed);
    return 'replica';
  }

  #warnOfTimeline(): void {
    if (this.#hasWarnedOfTimeline) return;
    this.#hasWarnedOfTimeline = true;
    this.#log.warn(
      { replica: this.#servers.address },
      'the role may not call pg_control_checkpoint() on the replica, so a replica that follows the old primary after a failover is not ' +
        'recognized: grant execute on function pg_control_checkpoint() to the role',
    );
  }
}
