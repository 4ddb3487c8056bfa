import { withDeadline } from '../../helpers/concurrency/deadline.ts';
import type { Logger } from '../../observability/log.ts';
import { writeToEveryMaster } from '../redis/check.ts';
import type { RedisConnections } from '../redis/connections.ts';
import type { ReplicaProgress } from './progress.ts';

/** When each user last changed records, in any process, for as long as a replica may lack the change. */
interface OwnWrites {
  /** Records that a user has just changed a record. Does not wait for Redis. */
  add(userId: string): void;
  /**
   * Returns when the user last changed a record, as the primary's time or later; undefined if the replica has every change of the user.
   * `unknown`: Redis does not say, or may lack writes.
   */
  find(userId: string): Promise<number | 'unknown' | undefined>;
  /** Checks that Redis keeps writes. Call it about once a second in a process that calls `find`. Never rejects. */
  check(): Promise<void>;
}

/** The connections and settings of the record of users' writes. */
interface OwnWritesOptions {
  redis: Pick<RedisConnections, 'commands' | 'onPossibleFailover'>;
  /** The prefix of all Redis keys. */
  prefix: string;
  /** How long a write is kept: longer than a replica may lag. */
  keepMs: number;
  progress: ReplicaProgress;
  log: Logger;
}

/** The time of the primary is estimated, and two processes may estimate it differently by a few ms. */
const TOLERANCE_MS = 100;
const READ_DEADLINE_MS = 500;
const CHECK_DEADLINE_MS = 2000;
/** After this time without a process whose checks succeed, a new process does not trust Redis at once. */
const COMPLETE_MS = 5000;

/** The key that says that Redis has all writes: processes that have seen no failure for `keepMs` renew it. */
export const completeKeyOf = (prefix: string) => `${prefix}:writes-complete`;

/** Creates the record of users' writes. It is kept in Redis, and in this process, which needs no Redis for its own writes. */
export function createOwnWrites({ redis, prefix, keepMs, progress, log }: OwnWritesOptions): OwnWrites {
  const { commands } = redis;
  /** The writes of this process, the oldest first. */
  const local = new Map<string, { time: number; until: number }>();
  /** Until then, Redis may lack a write that could not be stored there. */
  let incompleteUntil = Number.NEGATIVE_INFINITY;
  let isChecked = false;
  let isUsable = true;

  const markIncomplete = () => {
    incompleteUntil = performance.now() + keepMs;
  };
  let wasReady = commands.status === 'ready';
  commands.on('ready', () => {
    // What other processes could not store meanwhile is missing now, and a restarted server may have lost everything.
    if (wasReady) markIncomplete();
    wasReady = true;
  });
  // A cluster stays ready while one of its nodes fails over.
  redis.onPossibleFailover(markIncomplete);

  const keyOf = (userId: string) => `${prefix}:wrote:${userId}`;
  const completeKey = completeKeyOf(prefix);

  function removeOld(): void {
    const now = performance.now();
    for (const [userId, { until }] of local) {
      if (until > now) return;
      local.delete(userId);
    }
  }

  function remember(userId: string, time: number): void {
    removeOld();
    // Deleted first, so that the order stays that of the times.
    local.delete(userId);
    local.set(userId, { time, until: performance.now() + keepMs });
  }

  async function readTime(userId: string): Promise<number | 'unknown' | undefined> {
    // Also spares lists the wait for a Redis that does not reply.
    const isIncomplete = () => performance.now() < incompleteUntil;
    if (isIncomplete()) return 'unknown';
    try {
      const value = await withDeadline(commands.get(keyOf(userId)), READ_DEADLINE_MS);
      if (isIncomplete()) return 'unknown';
      return value === null ? undefined : Number(value);
    } catch {
      // `check` logs it.
      markIncomplete();
      return 'unknown';
    }
  }

  /** Fails in every state of Redis in which the writes of other processes fail, although reads may succeed. */
  async function writeToRedis(): Promise<void> {
    await writeToEveryMaster(commands, prefix);
    // Other processes may have failed to store writes before this one started.
    if (!isChecked && (await commands.exists(completeKey)) === 0) markIncomplete();
    if (performance.now() >= incompleteUntil) await commands.set(completeKey, '1', 'PX', COMPLETE_MS);
  }

  return {
    add(userId) {
      const now = progress.primaryNow();
      // A process that does not watch the replica cannot name the time: the write then counts until its key expires.
      const time = now === undefined ? Number.POSITIVE_INFINITY : Math.ceil(now + TOLERANCE_MS);
      remember(userId, time);
      commands.set(keyOf(userId), String(time), 'PX', keepMs).catch(markIncomplete);
    },
    async find(userId) {
      removeOld();
      const own = local.get(userId)?.time;
      if (own !== undefined && !progress.hasCommitsUntil(own)) return own;
      const time = await readTime(userId);
      return typeof time === 'number' && progress.hasCommitsUntil(time) ? undefined : time;
    },
    async check() {
      try {
        await withDeadline(writeToRedis(), CHECK_DEADLINE_MS);
        const seconds = Math.ceil(keepMs / 1000);
        if (!isUsable)
          log.info(`Redis is usable again; lists of signed-in users are read from the replica again in ${seconds} s`);
        isUsable = true;
      } catch (error) {
        markIncomplete();
        if (isUsable)
          log.warn({ err: error }, 'Redis is not usable; lists of signed-in users are read from the primary');
        isUsable = false;
      }
      isChecked = true;
    },
  };
}
