import type { IncomingMessage, Server } from 'node:http';
import { createPerRequestStore } from './per-request.ts';

/** ms in which a request must have arrived, unless its route accepts a long body. */
const REQUEST_MS = 60_000;
const CHECK_MS = 1000;
/** The minimum number of bytes that a client must send per second in a long body. */
const MIN_BYTES_PER_SECOND = 1024;

const longBodies = createPerRequestStore<true>('long body');

/** Lets the body of a request take longer than a minute, as long as bytes keep arriving: for uploads. */
export function allowLongBody(req: IncomingMessage): void {
  longBodies.set(req, true);
}

/** A request whose body is arriving. `bytes`: the bytes of its connection at `sinceMs`. */
interface Arrival {
  startedMs: number;
  sinceMs: number;
  bytes: number;
}

/**
 * Ends requests whose bodies arrive too slowly: after a minute, or, for a long body, when less than 1 KiB a second arrives over `stallMs`.
 * Node's own `requestTimeout` is the same for all requests, so it must be off.
 *
 * @returns `add` starts the deadline of a request; `stop` stops the checks
 */
export function watchRequestDeadlines(
  server: Server,
  stallMs: number,
): { add(req: IncomingMessage): void; stop(): void } {
  const arriving = new Map<IncomingMessage, Arrival>();

  function isTooSlow(req: IncomingMessage, arrival: Arrival, nowMs: number): boolean {
    if (longBodies.get(req) === undefined) return nowMs - arrival.startedMs >= REQUEST_MS;
    const bytes = req.socket.bytesRead;
    const waitedMs = nowMs - arrival.sinceMs;
    // Bytes that wait until the server continues to read are no fault of the client.
    const isFast = bytes - arrival.bytes >= (MIN_BYTES_PER_SECOND * waitedMs) / 1000;
    if (isFast || req.readableLength > 0) {
      arrival.sinceMs = nowMs;
      arrival.bytes = bytes;
      return false;
    }
    return waitedMs >= stallMs;
  }

  function checkAll(): void {
    const nowMs = performance.now();
    for (const [req, arrival] of arriving) {
      if (req.complete || req.destroyed) arriving.delete(req);
      else if (isTooSlow(req, arrival, nowMs)) {
        arriving.delete(req);
        server.emit(
          'clientError',
          Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
          req.socket,
        );
      }
    }
  }

  const timer = setInterval(checkAll, Math.min(CHECK_MS, stallMs / 4));
  timer.unref();
  return {
    add(req) {
      const nowMs = performance.now();
      arriving.set(req, { startedMs: nowMs, sinceMs: nowMs, bytes: req.socket.bytesRead });
    },
    stop: () => clearInterval(timer),
  };
}
