import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../declare/host.ts';
import { type Entry, FIELDS, gapKey, isBefore, placeOf, streamKey } from './entry.ts';

/** Reads the Redis stream while somebody wants it. */
export interface Reader {
  /** Begins to read at the end of the stream, unless it reads already. */
  start(): void;
  /**
   * Entries behind one, up to another, oldest first; undefined when some behind it may be gone, or the stream does not know it.
   * An entry that an erasure removed counts as gone only if it left a gap: see `gapKey`.
   *
   * @throws when Redis is away
   */
  range(after: string, upTo: string, most: number): Promise<Entry[] | undefined>;
  /**
   * Returns which of these entries are still in the stream.
   *
   * @throws when Redis is away
   */
  kept(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stops reading until the next `start`. */
  pause(): void;
  /** Stops for good; waits for what is being taken. */
  stop(): Promise<void>;
}

/**
 * Takes entries in order; it does not reject. The first call of a reading has none.
 *
 * @param upTo the last of them, or where the reading begins
 * @param lost whether there may have been others before them
 */
type Take = (entries: readonly Entry[], upTo: string, lost: boolean) => Promise<void>;

type Raw = [id: string, fields: string[]];
type Reply = [key: string, entries: Raw[]][] | null;

const AT_ONCE = 200;
const BLOCK_MS = 5000;
// Without any answer for so long the connection is given up for another one.
const SILENCE_MS = BLOCK_MS + 5000;
const AGAIN_MS = 200;
// Of a busy process about half of the time goes into writing; what gathers in between makes up the next writes.
const LONGEST_PAUSE_MS = 50;

const toEntry = ([id, [field = '', text = '']]: Raw): Entry => ({ id, field, text });

/** @param take what is done with entries; the next are read when it is done */
export function createReader({ redis, env, log }: Pick<Host, 'redis' | 'env' | 'log'>, take: Take): Reader {
  const [key, gaps] = [streamKey(env.redisPrefix), gapKey(env.redisPrefix)];
  let stopping = new AbortController();
  let client: ReturnType<typeof redis.patient> | undefined;
  let running: Promise<void> | undefined;
  let wanted = false;

  /**
   * What Redis answers, as long as it is read. A client that is closed between two connections leaves its commands without an
   * answer for ever.
   */
  async function untilStopped<T>(asked: Promise<T>): Promise<T> {
    const { signal } = stopping;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    asked.then(resolve, reject);
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      signal.throwIfAborted();
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  const first = async (on: ReturnType<typeof redis.patient>) => (await on.xrange(key, '-', '+', 'COUNT', 1))[0];

  /** The end of the stream. An empty one gets an entry, so that it has an end that can be found again. */
  async function end(on: ReturnType<typeof redis.patient>): Promise<string> {
    const [last] = await on.xrevrange(key, '+', '-', 'COUNT', 1);
    return last?.[0] ?? (await on.xadd(key, '*', FIELDS.tick, ''))!;
  }

  /** Gives where the next reading begins. */
  async function readSome(on: ReturnType<typeof redis.patient>, from: string): Promise<string> {
    const [reply, oldest] = await untilStopped(
      Promise.all([on.xread('COUNT', AT_ONCE, 'BLOCK', BLOCK_MS, 'STREAMS', key, from) as Promise<Reply>, first(on)]),
    );
    const entries = (reply?.[0]?.[1] ?? []).map(toEntry);
    if (entries.length === 0 || stopping.signal.aborted) return from;
    // The last entry that was taken is no longer there: nobody knows what else is not, or Redis was emptied.
    const lost = oldest === undefined || isBefore(from, oldest[0]);
    const begun = performance.now();
    const upTo = entries.at(-1)!.id;
    await take(entries, upTo, lost);
    await sleep(Math.min(performance.now() - begun, LONGEST_PAUSE_MS));
    return upTo;
  }

  async function run(on: ReturnType<typeof redis.patient>): Promise<void> {
    let position: string | undefined;
    let answered = performance.now();
    const watch = setInterval(() => {
      if (performance.now() - answered > SILENCE_MS) on.disconnect(true);
    }, BLOCK_MS);
    while (!stopping.signal.aborted) {
      try {
        if (position === undefined) {
          position = await untilStopped(end(on));
          if (stopping.signal.aborted) break;
          await take([], position, false);
        }
        position = await readSome(on, position);
        answered = performance.now();
      } catch (error) {
        if (stopping.signal.aborted) break;
        log.warn({ err: error }, 'events for open streams could not be read');
        await sleep(AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
    clearInterval(watch);
  }

  function begin(): void {
    stopping = new AbortController();
    const on = redis.patient();
    client = on;
    running = run(on).finally(() => {
      on.disconnect();
      [client, running] = [undefined, undefined];
      // It was wanted again while it stopped.
      if (wanted) begin();
    });
  }

  function pause(): void {
    wanted = false;
    stopping.abort();
    client?.disconnect();
  }

  return {
    start() {
      wanted = true;
      if (running === undefined) begin();
    },
    pause,
    async range(after, upTo, most) {
      const [rows, oldest, [newest], gap] = await Promise.all([
        redis.commands.xrange(key, `(${after}`, upTo, 'COUNT', most),
        first(redis.commands),
        redis.commands.xrevrange(key, '+', '-', 'COUNT', 1),
        redis.commands.zscore(gaps, 'gap'),
      ]);
      if (gap !== null && placeOf(after) < Number(gap)) return undefined;
      if (oldest === undefined || isBefore(after, oldest[0]) || isBefore(newest![0], after)) return undefined;
      return rows.map(toEntry);
    },
    async kept(ids) {
      const found = await Promise.all(ids.map((id) => redis.commands.xrange(key, id, id)));
      return new Set(found.flat().map(([id]) => id));
    },
    async stop() {
      pause();
      await running;
    },
  };
}
