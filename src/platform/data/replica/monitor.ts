import { withDeadline, withTimeoutFallback } from '../../helpers/concurrency/deadline.ts';
import { StartupError } from '../../helpers/config-errors.ts';
import type { Logger } from '../../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import { isConnectionError } from '../postgres/errors.ts';
import { type PrimarySample, type ReplicaProgress, removeBlockHeader } from './progress.ts';

/** The connections that a monitor checks. */
export interface MonitoredServers {
  primary: Pick<Database, 'read'>;
  replica: Pick<Database, 'read'>;
  /** The host of the replica, for messages. */
  address: string;
  /** Called when the replica cannot be reached any more: statements that it is running may never end. */
  abandonStatements(error: unknown): void;
}

/** Why the replica cannot be used. `unknown_lag`: the primary has not responded to checks for too long. */
export type UnusableReason = 'unavailable' | 'lag' | 'unknown_lag';

/** Checks regularly whether a replica can be used, and how far it has caught up. */
export interface ReplicaMonitor {
  /**
   * Checks both servers once, then regularly, and logs how lists are read.
   *
   * @throws StartupError if the server is certainly no replica of the primary
   */
  start(): Promise<void>;
  /** Checks both servers now. Returns whether the replica can be reached and belongs to the primary, whatever its lag. */
  check(): Promise<boolean>;
  /** Checks the replica at once, because a statement could not run there. */
  checkSoon(): void;
  /** Why the replica cannot be used at this moment; undefined if it can. */
  unusableReason(): UnusableReason | undefined;
  stop(): void;
}

type Status = 'unknown' | 'replica' | 'unreachable' | 'not a replica' | 'other database' | 'other timeline';

const MAX_INTERVAL_MS = 1000;
const CHECK_DEADLINE_MS = 2000;
const LOG_EVERY_MS = 10_000;
/** Beyond the greatest lag: how long a replica that had not lagged is used while the primary does not respond to checks. */
export const MAX_UNCHECKED_MS = 10_000;

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

/** Creates the monitor of a replica, which keeps `progress` up to date. Opens no connection yet. */
export function createReplicaMonitor(
  { primary, replica, address, abandonStatements }: MonitoredServers,
  progress: ReplicaProgress,
  maxLagMs: number,
  log: Logger,
): ReplicaMonitor {
  let status: Status = 'unknown';
  let lastError: unknown;
  let primaryTimeline: string | undefined;
  const timers = new Set<NodeJS.Timeout>();
  let stopped = false;
  let isLogging = false;
  let hasWarnedOfTimeline = false;
  let runningCheck: Promise<void> | undefined;
  /** When the replica was last found to be one. */
  let foundAt = Number.NEGATIVE_INFINITY;
  let logged = '';
  let loggedAt = Number.NEGATIVE_INFINITY;

  async function samplePrimary(): Promise<void> {
    const askedAt = performance.now();
    const rows = await primary.read<SampleRow>({ text: SAMPLE, values: [] });
    const [clock, position, timeline, blockBytes, segmentBytes] = rows[0]!;
    if (primaryTimeline !== undefined && primaryTimeline !== timeline) progress.reset();
    primaryTimeline = timeline;
    const sample: PrimarySample = { askedAt, clock, position: removeBlockHeader(position, blockBytes, segmentBytes) };
    progress.addSample(sample);
  }

  /** Whether both servers have the same database, as far as the role may find out. */
  async function isSameDatabase(): Promise<boolean> {
    const readIdentity = (database: Pick<Database, 'read'>) =>
      readAllowed<[name: string, system: string | null]>(database, IDENTITY, DATABASE_NAME);
    const [[name, system], [otherName, otherSystem]] = await Promise.all([
      readIdentity(primary),
      readIdentity(replica),
    ]);
    return name === otherName && (system === null || otherSystem === null || system === otherSystem);
  }

  async function readStatus(): Promise<Status> {
    const isKnown = status === 'replica' || status === 'other timeline';
    if (!isKnown && !(await isSameDatabase())) return 'other database';
    const [isReplica, replayed, timeline] = await readAllowed<StateRow>(replica, STATE, STATE_WITHOUT_TIMELINE);
    if (!isReplica) return 'not a replica';
    if (timeline === null) warnOfTimeline();
    // After a failover, a replica may still follow the old primary, whose log has continued differently.
    if (timeline !== null && primaryTimeline !== undefined && timeline !== primaryTimeline) return 'other timeline';
    if (replayed !== null) progress.setReplayed(replayed);
    return 'replica';
  }

  function warnOfTimeline(): void {
    if (hasWarnedOfTimeline) return;
    hasWarnedOfTimeline = true;
    log.warn(
      { replica: address },
      'the role may not call pg_control_checkpoint() on the replica, so a replica that follows the old primary after a failover is not ' +
        'recognized: grant execute on function pg_control_checkpoint() to the role',
    );
  }

  function unusableReason(): UnusableReason | undefined {
    if (status !== 'replica') return 'unavailable';
    if (progress.lagMs() > maxLagMs) return 'lag';
    return progress.ageMs() > maxLagMs + MAX_UNCHECKED_MS ? 'unknown_lag' : undefined;
  }

  /** Logs how lists are read, when that has changed. */
  function logChange(): void {
    const state = status === 'replica' ? (unusableReason() ?? 'in use') : status;
    if (!isLogging || stopped || state === logged || state === 'unknown' || performance.now() - loggedAt < LOG_EVERY_MS)
      return;
    // The replica has just been found, and has not replayed the first position of the primary yet.
    if (!Number.isFinite(progress.lagMs()) && state === 'lag' && performance.now() - foundAt < maxLagMs) return;
    const isFirst = logged === '';
    logged = state;
    loggedAt = performance.now();
    const consequence = 'lists are read from the primary';
    if (state === 'in use') {
      // After a start, the next change is worth a line however soon it comes.
      if (isFirst) loggedAt = Number.NEGATIVE_INFINITY;
      log.info({ replica: address }, 'lists are read from the replica');
    } else if (state === 'lag') {
      const lagMs = Math.round(progress.lagMs());
      const details = Number.isFinite(lagMs) ? { replica: address, lagMs } : { replica: address };
      log.warn({ ...details, maxLagMs }, `the replica lags too far behind; ${consequence}`);
    } else if (state === 'unreachable')
      log.warn({ err: lastError, replica: address }, `the replica cannot be used; ${consequence}`);
    else if (state === 'unknown_lag')
      log.warn(
        { replica: address },
        `the primary does not respond to checks, so the lag of the replica is unknown; ${consequence}`,
      );
    else if (state === 'not a replica')
      log.warn({ replica: address }, `DATABASE_REPLICA_URL leads to a server that is no replica; ${consequence}`);
    else if (state === 'other timeline')
      log.warn(
        { replica: address },
        `the replica does not follow the current primary, or has not finished a checkpoint since a failover; ${consequence}`,
      );
    else log.error({ replica: address }, `${OTHER_DATABASE}; ${consequence}`);
  }

  async function runCheck(): Promise<void> {
    const before = status;
    try {
      // A lost connection does not mean that the server is down, so a second one is tried.
      const read = readStatus().catch((error) => (isConnectionError(error) ? readStatus() : Promise.reject(error)));
      status = await withDeadline(read, CHECK_DEADLINE_MS);
      if (status !== before) foundAt = performance.now();
    } catch (error) {
      status = 'unreachable';
      lastError = error;
      abandonStatements(error);
    }
    logChange();
  }

  /** Checks the replica; callers at the same time share one check. */
  function checkReplica(): Promise<void> {
    runningCheck ??= runCheck().finally(() => {
      runningCheck = undefined;
    });
    return runningCheck;
  }

  // Without the primary there is nothing to compare with; `unusableReason` limits for how long.
  const trySample = () => samplePrimary().catch(() => undefined);

  async function check(): Promise<boolean> {
    await withTimeoutFallback(trySample(), CHECK_DEADLINE_MS, undefined);
    await checkReplica();
    return status === 'replica';
  }

  const intervalMs = Math.min(MAX_INTERVAL_MS, maxLagMs / 5);

  /** Runs a check regularly. The two servers have separate loops, so that one that responds late does not delay the check of the other. */
  function repeat(run: () => Promise<unknown>): void {
    if (stopped) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      void run().then(() => repeat(run));
    }, intervalMs);
    timer.unref();
    timers.add(timer);
  }

  return {
    check,
    async start() {
      isLogging = true;
      await check();
      if (status === 'other database')
        throw new StartupError('The app cannot start:', [
          `${OTHER_DATABASE}: ${address} is not a replica of the server in DATABASE_URL`,
        ]);
      repeat(trySample);
      repeat(checkReplica);
    },
    checkSoon() {
      if (status === 'replica') void checkReplica();
    },
    unusableReason,
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

const OTHER_DATABASE = 'DATABASE_REPLICA_URL leads to another database';
