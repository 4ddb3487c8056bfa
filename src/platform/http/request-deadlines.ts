import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
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
  req: IncomingMessage;
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
  // One entry per connection, on which bodies arrive one after another. An entry for each request would keep all requests of the last second
  // in memory, so that the garbage collector would have to move them.
  const arriving = new Map<Socket, Arrival>();

  function isTooSlow(arrival: Arrival, nowMs: number): boolean {
    const { req } = arrival;
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
    for (const [socket, arrival] of arriving) {
      if (arrival.req.complete || arrival.req.destroyed) arriving.delete(socket);
      else if (isTooSlow(arrival, nowMs)) {
        arriving.delete(socket);
        server.emit(
          'clientError',
          Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
          socket,
        );
      }
    }
  }

  const timer = setInterval(checkAll, Math.min(CHECK_MS, stallMs / 4));
  timer.unref();
  return {
    add(req) {
      const nowMs = performance.now();
      arriving.set(req.socket, { req, startedMs: nowMs, sinceMs: nowMs, bytes: req.socket.bytesRead });
    },
    stop: () => clearInterval(timer),
  };
}
