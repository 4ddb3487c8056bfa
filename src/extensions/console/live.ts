import type { Request, Response } from 'express';
import { ApiError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/observability/log.ts';

/** Interval in ms at which the data is read while a page is open, because this process gets no events of other processes. */
const READ_EVERY_MS = 1000;
/** Interval of heartbeats in ms. */
const HEARTBEAT_MS = 15_000;
/** Delay in ms before a page reconnects. */
const RETRY_MS = 1000;

/** Streams of server-sent events that keep open pages up to date. */
export interface LiveUpdates {
  /** Responds with a stream of the events `state` (the page's data, when it has changed) and `beat` (a heartbeat). */
  openStream(req: Request, res: Response): void;
  /** Reads the page's data again and sends it to the open pages if it has changed. */
  refreshStreams(): void;
  /** Ends all streams; new ones get 503. Resolves when no read is in progress. */
  stop(): Promise<void>;
}

/** Creates the streams. `read` returns the data of a page; it is not called while no page is open. */
export function createLiveUpdates(read: () => Promise<unknown>, log: Logger): LiveUpdates {
  /** Open streams, with the last data sent to each. */
  const streams = new Map<Response, string | undefined>();
  let reading: Promise<void> | undefined;
  let readAgain = false;
  let failing = false;
  let stopped = false;
  let timers: NodeJS.Timeout[] = [];

  function sendState(text: string): void {
    for (const [res, lastSent] of streams) {
      // Skip a client that has not received the previous state yet: a later read sends it the newest state.
      if (lastSent === text || res.writableNeedDrain) continue;
      streams.set(res, text);
      res.write(`event: state\ndata: ${text}\n\n`);
    }
  }

  async function readAndSend(): Promise<void> {
    do {
      readAgain = false;
      try {
        const state = await read();
        sendState(JSON.stringify(state));
        failing = false;
      } catch (error) {
        if (!failing) log.error({ err: error }, 'Could not read the data of the console page');
        failing = true;
      }
    } while (readAgain && streams.size > 0);
  }

  function refreshStreams(): void {
    if (streams.size === 0) return;
    readAgain = true;
    reading ??= readAndSend().finally(() => {
      reading = undefined;
    });
  }

  function sendHeartbeat(): void {
    if (failing) return;
    for (const res of streams.keys()) if (!res.writableNeedDrain) res.write('event: beat\ndata:\n\n');
  }

  function stopTimers(): void {
    for (const timer of timers) clearInterval(timer);
    timers = [];
  }

  return {
    openStream(req, res) {
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
      if (timers.length === 0)
        timers = [setInterval(refreshStreams, READ_EVERY_MS), setInterval(sendHeartbeat, HEARTBEAT_MS)];
      refreshStreams();
    },
    refreshStreams,
    async stop() {
      stopped = true;
      stopTimers();
      for (const res of streams.keys()) res.end();
      await reading;
    },
  };
}
