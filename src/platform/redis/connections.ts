import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../observability/log.ts';

/** The Redis connections of one app. The connections open at first use and reconnect on their own. */
export interface RedisConnections {
  /** For commands of requests and producers: fails at once while Redis is down, instead of queueing up. */
  commands: Redis;
  /** Creates another connection that waits for Redis to recover. For workers and subscribers; the caller owns it. */
  createBlockingConnection(): Redis;
  /** Returns the connection error because of which Redis is down; undefined while Redis is up. */
  lastError(): Error | undefined;
  close(): Promise<void>;
}

// Close a connection whose commands get no reply for this long. If the other end vanished, the operating system would consider the
// connection healthy for many minutes.
const SOCKET_TIMEOUT_MS = 5000;

/** Creates the Redis connections of an app. @param url `redis://…` or `rediss://…` */
export function openRedis(url: string, log: Logger): RedisConnections {
  const connections = new Set<Redis>();
  let lastError: Error | undefined;

  function openConnection(options: RedisOptions): Redis {
    const client = new Redis(url, {
      ...options,
      lazyConnect: true,
      connectTimeout: 3000,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 2000),
    });
    client.on('error', (error: Error) => {
      if (lastError === undefined) log.warn({ err: error }, 'Redis is down');
      lastError = error;
    });
    client.on('ready', () => {
      if (lastError !== undefined) log.info('Redis is available again');
      lastError = undefined;
    });
    connections.add(client);
    client.on('end', () => connections.delete(client));
    return client;
  }

  const commands = openConnection({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    socketTimeout: SOCKET_TIMEOUT_MS,
  });
  return {
    commands,
    createBlockingConnection: () => openConnection({ enableOfflineQueue: true, maxRetriesPerRequest: null }),
    lastError: () => lastError,
    async close() {
      for (const client of connections) client.disconnect();
    },
  };
}
