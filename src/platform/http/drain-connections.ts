import type { Server, ServerResponse } from 'node:http';
import { type Socket, Server as TcpServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** ms that a connection without any bytes yet stays open while the server closes: its first request may be on the way. */
const FIRST_REQUEST_MS = 1000;
const CHECK_EVERY_MS = 20;
/** Maximum turns of the event loop in which a closing server accepts the connections in its backlog. */
const MAX_ACCEPTING_TURNS = 100;

/** Closes the connections of a server without losing requests. */
interface ConnectionDrain {
  /** From now on, every response closes its connection, so that the client opens its next connection to another process. */
  start(): void;
  /** Must be called with each response before its handler runs. */
  addResponse(res: ServerResponse): void;
  /**
   * Refuses new connections, and resolves when all connections are closed. A response in progress ends first, within `graceMs`.
   *
   * @param lingerMs ms that a kept-alive connection must have been quiet before it is closed. A client that uses its connection more
   *   often than that never sends a request on a connection that is just being closed.
   */
  close(lingerMs: number, graceMs: number): Promise<void>;
}

/** Returns the response that Node is sending or waiting for on a connection. */
function findResponseInProgress(socket: Socket): ServerResponse | undefined {
  return (socket as Socket & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

/** Creates the drain of a server, which must not have accepted connections yet. */
export function createConnectionDrain(server: Server): ConnectionDrain {
  /** By connection: the last known time, by `performance.now()`, at which it was opened or used. */
  const usedAt = new Map<Socket, number>();
  let isDraining = false;
  let acceptedCount = 0;

  server.on('connection', (socket) => {
    acceptedCount += 1;
    usedAt.set(socket, performance.now());
    socket.once('close', () => usedAt.delete(socket));
  });

  function closeConnectionAfter(socket: Socket, res: ServerResponse): void {
    if (!res.headersSent) res.setHeader('Connection', 'close');
    // The client was promised a kept-alive connection, so it may send its next request as soon as this response ends.
    else res.once('close', () => usedAt.has(socket) && usedAt.set(socket, performance.now()));
  }

  function start(): void {
    if (isDraining) return;
    isDraining = true;
    for (const socket of usedAt.keys()) {
      usedAt.set(socket, performance.now());
      const res = findResponseInProgress(socket);
      if (res !== undefined) closeConnectionAfter(socket, res);
    }
  }

  /** Closes the connections on which no request is expected any more. */
  function closeQuietConnections(lingerMs: number): void {
    const now = performance.now();
    let areAllQuiet = true;
    for (const [socket, time] of usedAt) {
      if (findResponseInProgress(socket) !== undefined) continue;
      // Node counts such a connection as one with a request, so `closeIdleConnections` would keep it.
      const isUnused = socket.bytesRead === 0;
      if (isUnused && now - time >= FIRST_REQUEST_MS) socket.destroy();
      else if (!isUnused && now - time < lingerMs) areAllQuiet = false;
    }
    // Keeps connections on which a part of a request has arrived.
    if (areAllQuiet) server.closeIdleConnections();
  }

  /** Waits until the process has accepted the connections in the listen backlog, which closing the server would reset. */
  async function acceptBacklog(): Promise<void> {
    let before: number | undefined;
    for (let turn = 0; turn < MAX_ACCEPTING_TURNS && before !== acceptedCount; turn++) {
      before = acceptedCount;
      await nextTurn();
    }
  }

  return {
    start,
    addResponse(res) {
      if (isDraining && res.socket !== null) closeConnectionAfter(res.socket, res);
    },
    async close(lingerMs, graceMs) {
      start();
      await acceptBacklog();
      // `close` of the HTTP server would also close idle connections, at once.
      const closed = new Promise<void>((resolve) => TcpServer.prototype.close.call(server, () => resolve()));
      closeQuietConnections(lingerMs);
      const check = setInterval(closeQuietConnections, CHECK_EVERY_MS, lingerMs);
      const giveUp = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(check);
      clearTimeout(giveUp);
      // Ends the timer with which the HTTP server limits the time of requests.
      server.close();
    },
  };
}
