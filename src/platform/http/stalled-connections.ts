import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The minimum number of bytes that a client must read per second. A client that reads a byte now and then is stalled as well. */
const MIN_BYTES_PER_SECOND = 1024;
/** The minimum number of bytes that a client must read per second while response memory is short. */
const MIN_BYTES_PER_SECOND_WHEN_SHORT = 16 * 1024;
/** The factor by which a connection is destroyed sooner while response memory is short. */
const SHORT_MEMORY_FACTOR = 6;
const MAX_CHECK_INTERVAL_MS = 1000;

/** The last time at which a connection had nothing to send, or was fast enough. */
interface Progress {
  sinceMs: number;
  /** Number of bytes that the kernel had accepted at `sinceMs`. */
  acceptedBytes: number;
}

/** Counters of Node's socket handle. Unlike the counters of the socket, these include parts of a large write. */
interface Handle {
  bytesWritten: number;
  /** The bytes of `bytesWritten` that the kernel has not accepted yet. */
  writeQueueSize: number;
}

/** Returns the number of bytes of a connection that the kernel has accepted. It also advances within a large write. */
export function readAcceptedBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
}

/**
 * Destroys connections whose clients do not read pending data: less than 1 KiB a second, over `stallMs`. A connection with
 * nothing to send may stay idle.
 *
 * @param isMemoryShort whether memory is short for the client of a connection: then it must read 16 KiB a second over a sixth of that time
 * @param onStalled called for each connection that is destroyed
 * @returns a function that stops the checks
 */
export function watchStalledConnections(
  server: Server,
  stallMs: number,
  isMemoryShort: (socket: Socket) => boolean,
  onStalled: (socket: Socket) => void,
): () => void {
  const sockets = new Map<Socket, Progress>();

  function checkConnection(socket: Socket, progress: Progress, nowMs: number): void {
    const acceptedBytes = readAcceptedBytes(socket);
    const memoryShort = isMemoryShort(socket);
    const patienceMs = memoryShort ? stallMs / SHORT_MEMORY_FACTOR : stallMs;
    const rate = memoryShort ? MIN_BYTES_PER_SECOND_WHEN_SHORT : MIN_BYTES_PER_SECOND;
    const waitedMs = nowMs - progress.sinceMs;
    if (socket.writableLength === 0 || acceptedBytes - progress.acceptedBytes >= (rate * waitedMs) / 1000) {
      progress.acceptedBytes = acceptedBytes;
      progress.sinceMs = nowMs;
    } else if (waitedMs >= patienceMs) {
      socket.destroy();
      onStalled(socket);
    }
  }

  server.on('connection', (socket) => {
    sockets.set(socket, { acceptedBytes: 0, sinceMs: performance.now() });
    socket.once('close', () => sockets.delete(socket));
  });
  const timer = setInterval(
    () => {
      const nowMs = performance.now();
      for (const [socket, progress] of sockets) checkConnection(socket, progress, nowMs);
    },
    Math.min(MAX_CHECK_INTERVAL_MS, stallMs / SHORT_MEMORY_FACTOR / 2),
  );
  timer.unref();
  return () => clearInterval(timer);
}
