import { setTimeout as sleep } from 'node:timers/promises';
import { createBackoff, createLimitedWarning, type Host } from '../../../extension/index.ts';
import type { Warn } from '../../../platform/observability/limited-warning.ts';
import {
  ENTRY_KIND_FIELDS,
  type Entry,
  entryPositionOf,
  erasureGapKey,
  isEntryBefore,
  redisStreamKey,
} from './entry.ts';

/** Reads events from the Redis stream while this process has open client streams. */
export interface Reader {
  /** Starts to read at the end of the Redis stream; does nothing if the reader is already reading. */
  startReading(): void;
  /**
   * Returns at most `limit` entries after the entry `after` up to the entry `upTo`, oldest first. Returns undefined if entries in
   * this range may be missing. An entry that an erasure removed counts as missing only if it left a gap: see `erasureGapKey`.
   *
   * @throws if Redis is unreachable
   */
  readRange(after: string, upTo: string, limit: number): Promise<Entry[] | undefined>;
  /**
   * Returns the ids of those entries that are still in the Redis stream.
   *
   * @throws if Redis is unreachable
   */
  findRemaining(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Stops reading until the next call of `startReading`. */
  pauseReading(): void;
  /** Stops reading for good, and waits until the running call of `onEntries` has ended. */
  stop(): Promise<void>;
}

/**
 * Handles entries of the Redis stream, in their order; must not reject. The first call after a start has no entries.
 *
 * @param upTo the id of the last of the entries; in the first call, the id of the entry after which reading starts
 * @param lost whether entries between the previous call and this call may be missing
 */
type EntryHandler = (entries: readonly Entry[], upTo: string, lost: boolean) => Promise<void>;

type RawEntry = [id: string, fields: string[]];
type ReadReply = [key: string, entries: RawEntry[]][] | null;

const ENTRIES_PER_READ = 200;
const BLOCK_MS = 5000;
// After this many ms without a reply from Redis, the reader reconnects.
const SILENCE_MS = BLOCK_MS + 5000;
const RETRY_MS = 200;
const MAX_RETRY_MS = 3000;
const WARNING_INTERVAL_MS = 10_000;
// After each read, the reader pauses for as long as handling its entries took, but at most this many ms, so that the next read of a
// busy process returns more entries at once.
const LONGEST_PAUSE_MS = 50;

const toEntry = ([id, [field = '', text = '']]: RawEntry): Entry => ({ id, field, text });

type Redis = Host['redis'];
type BlockingConnection = ReturnType<Redis['createBlockingConnection']>;

/**
 * Resolves with the reply to a Redis command, or rejects when reading stops, because a Redis client that is closed while it reconnects
 * never settles its commands.
 */
async function awaitUntilStopped<T>(command: Promise<T>, signal: AbortSignal): Promise<T> {
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

const readOldestEntry = async (connection: Pick<BlockingConnection, 'xrange'>, key: string) =>
  (await connection.xrange(key, '-', '+', 'COUNT', 1))[0];

/** Returns the id of the newest entry. Adds a tick to an empty Redis stream first, so that later reads find this position again. */
async function readOrCreateNewestId(connection: BlockingConnection, key: string): Promise<string> {
  const [last] = await connection.xrevrange(key, '+', '-', 'COUNT', 1);
  return last?.[0] ?? (await connection.xadd(key, '*', ENTRY_KIND_FIELDS.tick, ''))!;
}

/** Creates the functions that read entries of the past. */
function createRangeReader({ commands }: Redis, prefix: string): Pick<Reader, 'readRange' | 'findRemaining'> {
  const [key, gaps] = [redisStreamKey(prefix), erasureGapKey(prefix)];
  return {
    async readRange(after, upTo, limit) {
      const reading = Promise.all([
        commands.xrange(key, `(${after}`, upTo, 'COUNT', limit),
        readOldestEntry(commands, key),
        commands.xrevrange(key, '+', '-', 'COUNT', 1),
      ]);
      // The gap must be read after the entries, because an erasure stores it before it removes entries. In a cluster, the gap may be on
      // another node, so the order of the commands does not ensure that.
      if (commands.isCluster) await reading;
      const [[rows, oldest, [newest]], gap] = await Promise.all([reading, commands.zscore(gaps, 'gap')]);
      if (gap !== null && entryPositionOf(after) < Number(gap)) return undefined;
      if (oldest === undefined || isEntryBefore(after, oldest[0]) || isEntryBefore(newest![0], after)) return undefined;
      return rows.map(toEntry);
    },
    async findRemaining(ids) {
      const found = await Promise.all(ids.map((id) => commands.xrange(key, id, id)));
      return new Set(found.flat().map(([id]) => id));
    },
  };
}

/** One run of the reader, from its start to its stop. */
interface Run {
  connection: BlockingConnection;
  /** The key of the Redis stream. */
  key: string;
  /** Aborted when reading stops. */
  signal: AbortSignal;
  onEntries: EntryHandler;
  warn: Warn;
}

/** Reads the next entries after the id `from` and passes them to `onEntries`. Returns the id after which the next read starts. */
async function readAndHandleEntriesAfter({ connection, key, signal, onEntries }: Run, from: string): Promise<string> {
  const [reply, oldest] = await awaitUntilStopped(
    Promise.all([
      connection.xread('COUNT', ENTRIES_PER_READ, 'BLOCK', BLOCK_MS, 'STREAMS', key, from) as Promise<ReadReply>,
      readOldestEntry(connection, key),
    ]),
    signal,
  );
  const entries = (reply?.[0]?.[1] ?? []).map(toEntry);
  if (entries.length === 0 || signal.aborted) return from;
  // Redis no longer has the entry `from`, so later entries that were not read yet may be gone too, or Redis was emptied.
  const lost = oldest === undefined || isEntryBefore(from, oldest[0]);
  const takenAt = performance.now();
  const upTo = entries.at(-1)!.id;
  await onEntries(entries, upTo, lost);
  await sleep(Math.min(performance.now() - takenAt, LONGEST_PAUSE_MS));
  return upTo;
}

/** Reads from the end of the Redis stream on. After an error, tries again. */
async function readUntilStopped(run: Run): Promise<void> {
  const { connection, key, signal, onEntries, warn } = run;
  const backoff = createBackoff(RETRY_MS, MAX_RETRY_MS);
  let position: string | undefined;
  let answered = performance.now();
  const watch = setInterval(() => {
    if (performance.now() - answered > SILENCE_MS) connection.disconnect(true);
  }, BLOCK_MS);
  while (!signal.aborted) {
    try {
      if (position === undefined) {
        position = await awaitUntilStopped(readOrCreateNewestId(connection, key), signal);
        if (signal.aborted) break;
        await onEntries([], position, false);
      }
      position = await readAndHandleEntriesAfter(run, position);
      answered = performance.now();
      backoff.reset();
    } catch (error) {
      if (signal.aborted) break;
      warn({ err: error }, 'Could not read events for open streams');
      await backoff.wait(signal);
    }
  }
  clearInterval(watch);
}

/**
 * Creates the reader of the Redis stream.
 *
 * @param onEntries handles the entries of one read; the next read starts after it has resolved
 */
export function createReader(
  { redis, env, log }: Pick<Host, 'redis' | 'env' | 'log'>,
  onEntries: EntryHandler,
): Reader {
  const key = redisStreamKey(env.redisPrefix);
  const warn = createLimitedWarning(log, WARNING_INTERVAL_MS);
  let stopping = new AbortController();
  let connection: BlockingConnection | undefined;
  let running: Promise<void> | undefined;
  let isWanted = false;

  function connectAndRead(): void {
    stopping = new AbortController();
    connection = redis.createBlockingConnection();
    const run = { connection, key, signal: stopping.signal, onEntries, warn };
    running = readUntilStopped(run).finally(() => {
      run.connection.disconnect();
      [connection, running] = [undefined, undefined];
      // `startReading` was called again while this run was stopping.
      if (isWanted) connectAndRead();
    });
  }

  function pauseReading(): void {
    isWanted = false;
    stopping.abort();
    connection?.disconnect();
  }

  return {
    ...createRangeReader(redis, env.redisPrefix),
    startReading() {
      isWanted = true;
      if (running === undefined) connectAndRead();
    },
    pauseReading,
    async stop() {
      pauseReading();
      await running;
    },
  };
}
