import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { releaseMemory } from '../../src/runtime/run-process.ts';
import { startProfile, stopProfile } from './profiler.ts';

type RequestHandler = (argument: never) => unknown;

interface BenchRequest {
  id: number;
  name: string;
  argument: unknown;
}

/**
 * Tells the bench that this process is ready, and handles its requests from then on. The process ends with the bench, however
 * that ends, because the channel between them closes.
 *
 * @param url the address of the server in this process; empty if there is none
 */
export function reportReady(url: string, handlers: Record<string, RequestHandler> = {}): void {
  const allHandlers: Record<string, RequestHandler> = {
    memory: () => process.memoryUsage.rss(),
    /** Bytes in use, without garbage. */
    used() {
      releaseMemory();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    /** µs of CPU time since the start, for all threads. */
    cpu() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    startProfile,
    stopProfile,
    ...handlers,
  };
  process.on('message', async ({ id, name, argument }: BenchRequest) => {
    try {
      process.send?.({ id, value: await allHandlers[name]!(argument as never) });
    } catch (error) {
      process.send?.({ id, error: String((error as Error).stack ?? error) });
    }
  });
  process.send?.({ ready: url });
}

process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole process group; the bench stops its children in order.
process.on('SIGINT', () => undefined);

/** Returns the time in ms, comparable between the processes of one machine. */
export function currentTimeMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Listens on loopback on a free port. Returns the address. */
export function startHttpServer(handler: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 65_000 }, handler);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}
