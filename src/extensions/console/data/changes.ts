import type { Response } from 'express';
import {
  ApiError,
  type ExtensionHost,
  emittedActionsOf,
  newId,
  type RecordAction,
  type RouteContext,
  type StoredRecord,
} from '../../../extension/index.ts';
import type { ConsoleAccess } from '../access/access.ts';

/** Interval in ms at which streams send a heartbeat, and renew the mark that makes other processes publish their changes. */
const HEARTBEAT_MS = 5000;
/** Interval in ms at which the access of the caller is checked again. */
const CHECK_ACCESS_MS = 1000;
/** Delay in ms before a page reconnects. */
const RETRY_MS = 1000;
const WATCHED_SECONDS = 15;
/** How long (ms) a process caches whether streams are open. */
const WATCHED_FRESH_MS = 1000;
const MAX_STREAMS = 100;

/** A change of a record, as pages of the console receive it. */
interface RecordChange {
  resource: string;
  id: string;
  action: RecordAction;
}

interface OpenStream {
  res: Response;
  /** The resource whose changes the page shows; undefined for all. */
  resource: string | undefined;
  ctx: Pick<RouteContext, 'user' | 'auth'>;
  /** Whether a change was left out because the client had not received the earlier ones. */
  isBehind: boolean;
}

/** Streams of the changes of records. */
export interface ChangeFeed {
  /** Responds with a stream of the events `change`, `lost` (changes were left out; read again) and `beat` (a heartbeat). */
  openStream(ctx: RouteContext, resource: string | undefined): void;
  /** The listeners of the changes of this process, by event. */
  listeners: Record<string, (event: { resource: string; action: RecordAction; record: StoredRecord }) => void>;
  /** Ends all streams; new ones get 503. */
  stop(): Promise<void>;
}

/** Creates the channel that carries changes between processes over Redis. @param onChange called with the changes of other processes */
function createChannel({ redis, env }: Pick<ExtensionHost, 'redis' | 'env'>, onChange: (change: RecordChange) => void) {
  const channel = `${env.redisPrefix}:console:changes`;
  const watchedKey = `${env.redisPrefix}:console:watched`;
  const process = newId();
  let subscription: ReturnType<typeof redis.subscribe> | undefined;
  let watched = { until: 0, isWatched: Promise.resolve(false) };

  /** Whether a process has an open stream. While Redis is down, no other process can receive changes. */
  function isWatchedAnywhere(): Promise<boolean> {
    const now = performance.now();
    if (now >= watched.until) {
      const isWatched = redis.commands.exists(watchedKey).then(
        (count) => count > 0,
        () => false,
      );
      watched = { until: now + WATCHED_FRESH_MS, isWatched };
    }
    return watched.isWatched;
  }

  return {
    open() {
      subscription = redis.subscribe(channel, (message) => {
        const { from, ...change } = JSON.parse(message) as RecordChange & { from: string };
        if (from !== process) onChange(change);
      });
    },
    close() {
      subscription?.stop();
      subscription = undefined;
    },
    /** Makes all processes publish their changes for `WATCHED_SECONDS`. */
    markWatched() {
      redis.commands.set(watchedKey, '1', 'EX', WATCHED_SECONDS).catch(() => undefined);
    },
    async publish(change: RecordChange): Promise<void> {
      if (!(await isWatchedAnywhere())) return;
      // The message is a hint: without Redis, pages show the change when they read again.
      await redis.commands.publish(channel, JSON.stringify({ from: process, ...change })).catch(() => undefined);
    },
  };
}

function sendChange(streams: Iterable<OpenStream>, { resource, id, action }: RecordChange): void {
  const text = `event: change\ndata: ${JSON.stringify({ resource, id, action })}\n\n`;
  for (const stream of streams) {
    if (stream.resource !== undefined && stream.resource !== resource) continue;
    if (stream.res.writableNeedDrain) stream.isBehind = true;
    else stream.res.write(text);
  }
}

function sendHeartbeats(streams: Iterable<OpenStream>): void {
  for (const stream of streams) {
    if (stream.res.writableNeedDrain) continue;
    stream.res.write(stream.isBehind ? 'event: lost\ndata:\n\n' : 'event: beat\ndata:\n\n');
    stream.isBehind = false;
  }
}

/** Ends the streams of callers who have lost their access: one check for each session. */
async function endRefusedStreams(
  streams: Iterable<OpenStream>,
  { isStillAllowed }: Pick<ConsoleAccess, 'isStillAllowed'>,
  log: ExtensionHost['log'],
): Promise<void> {
  const checks = [...Map.groupBy(streams, ({ ctx }) => ctx.auth?.id).values()].map(async (own) => {
    if (await isStillAllowed(own[0]!.ctx)) return;
    for (const { res } of own) res.end('event: ended\ndata:\n\n');
  });
  for (const result of await Promise.allSettled(checks)) {
    if (result.status === 'rejected')
      log.warn({ err: result.reason }, 'Could not check the access of a console stream');
  }
}

/**
 * Creates the streams. Changes of this process arrive in-process, those of others over Redis, which they use only while a stream is open
 * anywhere. Without Redis, changes of other processes are missing.
 */
export function createChangeFeed(
  host: Pick<ExtensionHost, 'resources' | 'redis' | 'env' | 'log'>,
  access: Pick<ConsoleAccess, 'isStillAllowed'>,
): ChangeFeed {
  const streams = new Set<OpenStream>();
  const channel = createChannel(host, (change) => sendChange(streams, change));
  let timers: NodeJS.Timeout[] = [];
  let checking: Promise<void> | undefined;
  let stopped = false;

  function beat(): void {
    channel.markWatched();
    sendHeartbeats(streams);
  }

  /** Checks the access again and again. A check that takes long is not repeated meanwhile. */
  function checkAccess(): void {
    checking ??= endRefusedStreams(streams, access, host.log).finally(() => {
      checking = undefined;
    });
  }

  function stopWatching(): void {
    for (const timer of timers) clearInterval(timer);
    channel.close();
  }

  return {
    openStream({ req, res, user, auth }, resource) {
      if (stopped) throw new ApiError('UNAVAILABLE');
      if (streams.size >= MAX_STREAMS) throw new ApiError('UNAVAILABLE', 'Too many pages of the console are open');
      res.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      });
      if (req.method === 'HEAD') {
        res.end();
        return;
      }
      if (streams.size === 0) {
        channel.open();
        timers = [setInterval(beat, HEARTBEAT_MS), setInterval(checkAccess, CHECK_ACCESS_MS)];
      }
      const stream: OpenStream = { res, resource, ctx: { user, auth }, isBehind: false };
      streams.add(stream);
      res.on('close', () => {
        streams.delete(stream);
        if (streams.size === 0) stopWatching();
      });
      res.write(`retry: ${RETRY_MS}\n\n`);
      beat();
    },
    listeners: Object.fromEntries(
      host.resources.flatMap(({ name, declaration }) =>
        emittedActionsOf(declaration).map((action) => [
          `${name}.${action}`,
          ({ record }: { record: StoredRecord }) => {
            const change = { resource: name, id: record.id, action };
            sendChange(streams, change);
            return channel.publish(change);
          },
        ]),
      ),
    ),
    async stop() {
      stopped = true;
      stopWatching();
      for (const { res } of streams) res.end();
      await checking;
    },
  };
}
