import { createRedisBreaker, type Host } from '../../../extension/index.ts';
import type { RealtimeSettings } from '../settings/settings.ts';
import { ENTRY_KIND_FIELDS, redisStreamKey } from './entry.ts';

/** Adds entries to the Redis stream from which all processes with open client streams read events. */
export interface Appender {
  /**
   * @param deadlineMs ms that each part of about 2 MB may take; the default is short, because webhook deliveries wait meanwhile
   * @returns false if Redis is unreachable; some of the entries may have been added nevertheless
   */
  addEntries(entries: readonly (readonly [field: string, text: string])[], deadlineMs?: number): Promise<boolean>;
  /** Adds an empty entry (a tick) to the Redis stream, and removes entries that are older than `windowSeconds`. */
  addTickAndTrim(): Promise<void>;
}

// Timeout in ms for adding events. Short, because webhook deliveries of the same relay transaction wait meanwhile.
const DEADLINE_MS = 300;
// Timeout in ms for adding a tick. Long, because nothing waits for a tick, and a process that has just started may be busy.
const TICK_DEADLINE_MS = 5000;
/** Maximum characters of the entries that are sent to Redis in one pipeline. */
const MAX_AT_ONCE = 2_000_000;

/** Splits entries into parts of limited size. Each part has its own deadline, so that many entries do not exceed one deadline. */
function splitEntriesIntoParts<E extends readonly [string, string]>(entries: readonly E[]): E[][] {
  const parts: E[][] = [];
  let length = MAX_AT_ONCE;
  for (const entry of entries) {
    if (length >= MAX_AT_ONCE) {
      parts.push([]);
      length = 0;
    }
    parts.at(-1)!.push(entry);
    length += entry[1].length;
  }
  return parts;
}

/** Creates the appender of events to the Redis stream. While Redis is unreachable, it tries Redis only once a second. */
export function createAppender(
  { redis, env, log }: Pick<Host, 'redis' | 'env' | 'log'>,
  { windowEvents, windowSeconds }: Pick<RealtimeSettings, 'windowEvents' | 'windowSeconds'>,
): Appender {
  const key = redisStreamKey(env.redisPrefix);
  const breaker = createRedisBreaker({
    log,
    messages: { opened: 'Redis is unreachable; events for open streams wait in Postgres' },
    waitForTrial: true,
  });

  /** Whether the newest entries may be lost, because a replica without them has become the master. */
  let mayHaveLostEntries = false;
  redis.onPossibleFailover(() => {
    mayHaveLostEntries = true;
  });

  async function addPartToRedis(part: readonly (readonly [string, string])[]): Promise<void> {
    const isMarked = mayHaveLostEntries;
    mayHaveLostEntries = false;
    try {
      const pipeline = redis.commands.pipeline();
      const entries = isMarked ? [[ENTRY_KIND_FIELDS.lost, ''] as const, ...part] : part;
      for (const [field, text] of entries) pipeline.xadd(key, 'MAXLEN', '~', windowEvents, '*', field, text);
      const results = await pipeline.exec();
      const failed = results?.find(([error]) => error !== null);
      if (failed !== undefined) throw failed[0];
    } catch (error) {
      mayHaveLostEntries ||= isMarked;
      throw error;
    }
  }

  async function tryToAddEntries(
    deadlineMs: number,
    entries: readonly (readonly [string, string])[],
  ): Promise<boolean> {
    try {
      for (const part of splitEntriesIntoParts(entries)) await breaker.run(() => addPartToRedis(part), deadlineMs);
      return true;
    } catch {
      // The circuit breaker has logged the error.
      return false;
    }
  }

  return {
    addEntries: (entries, deadlineMs = DEADLINE_MS) => tryToAddEntries(deadlineMs, entries),
    async addTickAndTrim() {
      if (!(await tryToAddEntries(TICK_DEADLINE_MS, [[ENTRY_KIND_FIELDS.tick, '']]))) return;
      const trim = () => redis.commands.xtrim(key, 'MINID', '~', Date.now() - windowSeconds * 1000);
      await breaker.run(trim, TICK_DEADLINE_MS).catch(() => undefined);
    },
  };
}
