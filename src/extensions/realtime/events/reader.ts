import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../../declare/host.ts';
import { ENTRY_FIELDS, type Entry, gapKey, isBefore, positionOf, streamKey } from './entry.ts';

/** Reads the Redis stream while this process has open streams. */
export interface Reader {
  /** Starts to read at the end of the stream; does nothing if it is already reading. */
  start(): void;
  /**
   * Returns the entries after one entry up to another, oldest first. Returns undefined if some of them may be missing. An entry
   * removed by an erasure counts as missing only if it left a gap: see `gapKey`.
   *
   * @throws if Redis is unreachable
   */
  range(after: string, upTo: string, limit: number): Promise<Entry[] | undefined>;
  /**
   * Returns which of these entries are still in the stream.
   *
   * @throws if Redis is unreachable
   */
  findRemaining(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stops reading until the next `start`. */
  pause(): void;
  /** Stops for good; waits for the running `onEntries`. */
  stop(): Promise<void>;
}

/**
 * Handles entries in order; must not reject. The first call after a start has no entries.
 *
 * @param upTo the id of the last entry, or the start position
 * @param lost whether entries before these may be missing
 */
type EntryHandler = (entries: readonly Entry[], upTo: string, lost: boolean) => Promise<void>;

type RawEntry = [id: string, fields: string[]];
type ReadReply = [key: string, entries: RawEntry[]][] | null;

const ENTRIES_PER_READ = 200;
const BLOCK_MS = 5000;
// After this time without a reply, the connection is replaced.
const SILENCE_MS = BLOCK_MS + 5000;
const RETRY_MS = 200;
// A busy process pauses as long as it writes, up to this limit, so that the next read returns more entries at once.
const LONGEST_PAUSE_MS = 50;

const toEntry = ([id, [field = '', text = '']]: RawEntry): Entry => ({ id, field, text });

/**
 * Creates the reader.
 *
 * @param onEntries handles entries; the next ones are read after it resolves
 */
export function createReader(
  { redis, env, log }: Pick<Host, 'redis' | 'env' | 'log'>,
  onEntries: EntryHandler,
): Reader {
  const [key, gaps] = [streamKey(env.redisPrefix), gapKey(env.redisPrefix)];
  let stopping = new AbortController();
  let client: ReturnType<typeof redis.createBlockingConnection> | undefined;
  let running: Promise<void> | undefined;
  let isWanted = false;

  /**
   * Resolves with the reply to a command, or rejects when reading stops. A client that is closed between two connections never
   * replies to its commands.
   */
  async function awaitUntilStopped<T>(command: Promise<T>): Promise<T> {
    const { signal } = stopping;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    command.then(resolve, reject);
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      signal.throwIfAborted();
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  const readOldestEntry = async (connection: ReturnType<typeof redis.createBlockingConnection>) =>
    (await connection.xrange(key, '-', '+', 'COUNT', 1))[0];

  /** Returns the id of the newest entry. An empty stream first gets a tick, so that the position can be found again. */
  async function readNewestId(connection: ReturnType<typeof redis.createBlockingConnection>): Promise<string> {
    const [last] = await connection.xrevrange(key, '+', '-', 'COUNT', 1);
    return last?.[0] ?? (await connection.xadd(key, '*', ENTRY_FIELDS.tick, ''))!;
  }

  /** Reads and handles entries after `from`. Returns the position for the next read. */
  async function readSome(
    connection: ReturnType<typeof redis.createBlockingConnection>,
    from: string,
  ): Promise<string> {
    const [reply, oldest] = await awaitUntilStopped(
      Promise.all([
        connection.xread('COUNT', ENTRIES_PER_READ, 'BLOCK', BLOCK_MS, 'STREAMS', key, from) as Promise<ReadReply>,
        readOldestEntry(connection),
      ]),
    );
    const entries = (reply?.[0]?.[1] ?? []).map(toEntry);
    if (entries.length === 0 || stopping.signal.aborted) return from;
    // The last handled entry is missing: later ones may be missing too, or Redis was emptied.
    const lost = oldest === undefined || isBefore(from, oldest[0]);
    const takenAt = performance.now();
    const upTo = entries.at(-1)!.id;
    await onEntries(entries, upTo, lost);
    await sleep(Math.min(performance.now() - takenAt, LONGEST_PAUSE_MS));
    return upTo;
  }

  async function run(connection: ReturnType<typeof redis.createBlockingConnection>): Promise<void> {
    let position: string | undefined;
    let answered = performance.now();
    const watch = setInterval(() => {
      if (performance.now() - answered > SILENCE_MS) connection.disconnect(true);
    }, BLOCK_MS);
    while (!stopping.signal.aborted) {
      try {
        if (position === undefined) {
          position = await awaitUntilStopped(readNewestId(connection));
          if (stopping.signal.aborted) break;
          await onEntries([], position, false);
        }
        position = await readSome(connection, position);
        answered = performance.now();
      } catch (error) {
        if (stopping.signal.aborted) break;
        log.warn({ err: error }, 'Could not read events for open streams');
        await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    }
    clearInterval(watch);
  }

  function startRun(): void {
    stopping = new AbortController();
    const connection = redis.createBlockingConnection();
    client = connection;
    running = run(connection).finally(() => {
      connection.disconnect();
      [client, running] = [undefined, undefined];
      // `start` was called again while this run was stopping.
      if (isWanted) startRun();
    });
  }

  function pause(): void {
    isWanted = false;
    stopping.abort();
    client?.disconnect();
  }

  return {
    start() {
      isWanted = true;
      if (running === undefined) startRun();
    },
    pause,
    async range(after, upTo, limit) {
      const [rows, oldest, [newest], gap] = await Promise.all([
        redis.commands.xrange(key, `(${after}`, upTo, 'COUNT', limit),
        readOldestEntry(redis.commands),
        redis.commands.xrevrange(key, '+', '-', 'COUNT', 1),
        redis.commands.zscore(gaps, 'gap'),
      ]);
      if (gap !== null && positionOf(after) < Number(gap)) return undefined;
      if (oldest === undefined || isBefore(after, oldest[0]) || isBefore(newest![0], after)) return undefined;
      return rows.map(toEntry);
    },
    async findRemaining(ids) {
      const found = await Promise.all(ids.map((id) => redis.commands.xrange(key, id, id)));
      return new Set(found.flat().map(([id]) => id));
    },
    async stop() {
      pause();
      await running;
    },
  };
}
