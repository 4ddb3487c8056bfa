import type { Request, Response } from 'express';
import { ApiError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';

/** ms: how often what is shown is read while a page is open. What happens in other processes is not told to this one. */
const EVERY_MS = 1000;
/** ms: how often an open stream says that it is there. */
const BEAT_MS = 15_000;
/** ms: after which a page whose stream broke off asks again. */
const RETRY_MS = 1000;

/** Streams of server-sent events, by which pages see what is there as it changes. */
export interface Live {
  /** Answers with a stream: `state` when it has changed, and `beat`. */
  open(req: Request, res: Response): void;
  /** Something has happened: what is shown is read again. */
  refresh(): void;
  /** Ends all streams. */
  stop(): Promise<void>;
}

/** Makes it. Nothing is read while no page is open; `read` gives what pages show. */
export function createLive(read: () => Promise<unknown>, log: Logger): Live {
  /** Streams, and what each has shown last. */
  const streams = new Map<Response, string | undefined>();
  let reading: Promise<void> | undefined;
  let again = false;
  let failing = false;
  let stopped = false;
  let timers: NodeJS.Timeout[] = [];

  function send(text: string): void {
    for (const [res, shown] of streams) {
      // Who is slow to read gets the newest state once the older one is out.
      if (shown === text || res.writableNeedDrain) continue;
      streams.set(res, text);
      res.write(`event: state\ndata: ${text}\n\n`);
    }
  }

  async function readAndSend(): Promise<void> {
    do {
      again = false;
      try {
        const state = await read();
        send(JSON.stringify(state));
        failing = false;
      } catch (error) {
        if (!failing) log.error({ err: error }, 'what the console shows cannot be read');
        failing = true;
      }
    } while (again && streams.size > 0);
  }

  function refresh(): void {
    if (streams.size === 0) return;
    again = true;
    reading ??= readAndSend().finally(() => {
      reading = undefined;
    });
  }

  function beat(): void {
    if (failing) return;
    for (const res of streams.keys()) if (!res.writableNeedDrain) res.write('event: beat\ndata:\n\n');
  }

  function stopTimers(): void {
    for (const timer of timers) clearInterval(timer);
    timers = [];
  }

  return {
    open(req, res) {
      if (stopped) throw new ApiError('UNAVAILABLE');
      res.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      });
      if (req.method === 'HEAD') {
        res.end();
        return;
      }
      res.write(`retry: ${RETRY_MS}\n\n`);
      streams.set(res, undefined);
      res.on('close', () => {
        streams.delete(res);
        if (streams.size === 0) stopTimers();
      });
      if (timers.length === 0) timers = [setInterval(refresh, EVERY_MS), setInterval(beat, BEAT_MS)];
      refresh();
    },
    refresh,
    async stop() {
      stopped = true;
      stopTimers();
      for (const res of streams.keys()) res.end();
      await reading;
    },
  };
}
