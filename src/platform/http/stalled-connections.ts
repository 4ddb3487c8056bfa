import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes that a client must take in a second. One that takes a byte now and then stalls, too. */
const SLOWEST_RATE = 1024;
/** The same while room for answers is short. */
const SLOWEST_RATE_CROWDED = 16 * 1024;
/** How much sooner a connection is destroyed then. */
const SOONER_CROWDED = 6;
const LONGEST_PAUSE_MS = 1000;

/** When a connection last had nothing to send, or was quick enough. */
interface Progress {
  sinceMs: number;
  /** Bytes that the kernel had taken by then. */
  taken: number;
}

/** What Node's handle of a connection knows, beyond the stream on top of it: also a part of a large write counts. */
interface Handle {
  bytesWritten: number;
  /** Of these, the bytes that the kernel has not taken yet. */
  writeQueueSize: number;
}

/** The bytes of a connection that the kernel has taken. */
function takenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/**
 * Destroys connections of a server that have something to send and whose clients do not take it: less than 1 KiB a second, over
 * `stallMs`. A connection with nothing to send may stay idle.
 *
 * @param isCrowded whether room is short for the client of a connection: then it must take 16 KiB a second over a sixth of that time
 * @param onStalled called for each connection that is destroyed
 * @returns stops it
 */
export function destroyStalledConnections(
  server: Server,
  stallMs: number,
  isCrowded: (socket: Socket) => boolean,
  onStalled: (socket: Socket) => void,
): () => void {
  const sockets = new Map<Socket, Progress>();

  function check(socket: Socket, progress: Progress, nowMs: number): void {
    const taken = takenBytes(socket);
    const crowded = isCrowded(socket);
    const patienceMs = crowded ? stallMs / SOONER_CROWDED : stallMs;
    const rate = crowded ? SLOWEST_RATE_CROWDED : SLOWEST_RATE;
    const waitedMs = nowMs - progress.sinceMs;
    if (socket.writableLength === 0 || taken - progress.taken >= (rate * waitedMs) / 1000) {
      progress.taken = taken;
      progress.sinceMs = nowMs;
    } else if (waitedMs >= patienceMs) {
      socket.destroy();
      onStalled(socket);
    }
  }

  server.on('connection', (socket) => {
    sockets.set(socket, { taken: 0, sinceMs: performance.now() });
    socket.once('close', () => sockets.delete(socket));
  });
  const timer = setInterval(
    () => {
      const nowMs = performance.now();
      for (const [socket, progress] of sockets) check(socket, progress, nowMs);
    },
    Math.min(LONGEST_PAUSE_MS, stallMs / SOONER_CROWDED / 2),
  );
  timer.unref();
  return () => clearInterval(timer);
}
