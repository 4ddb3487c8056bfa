import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../observability/log.ts';

/** The Redis connections of one app. They open at first use and reconnect on their own. */
export interface RedisClients {
  /** For commands of requests and producers: fails at once while Redis is down, instead of queueing up. */
  commands: Redis;
  /** Creates another connection that waits for Redis to recover. For workers and subscribers; the caller owns it. */
  patient(): Redis;
  /** Why Redis is down; undefined while it is up. */
  lastFault(): Error | undefined;
  close(): Promise<void>;
}

// Close a connection whose commands get no reply for this long. If the other end vanished, the operating system would consider the
// connection healthy for many minutes.
const SILENCE_MS = 5000;

/** @param url `redis://…` or `rediss://…` */
export function openRedis(url: string, log: Logger): RedisClients {
  const opened = new Set<Redis>();
  let away: Error | undefined;

  function open(options: RedisOptions): Redis {
    const client = new Redis(url, {
      ...options,
      lazyConnect: true,
      connectTimeout: 3000,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 2000),
    });
    client.on('error', (error: Error) => {
      if (away === undefined) log.warn({ err: error }, 'Redis is away');
      away = error;
    });
    client.on('ready', () => {
      if (away !== undefined) log.info('Redis is back');
      away = undefined;
    });
    opened.add(client);
    client.on('end', () => opened.delete(client));
    return client;
  }

  const commands = open({ enableOfflineQueue: false, maxRetriesPerRequest: 0, socketTimeout: SILENCE_MS });
  return {
    commands,
    patient: () => open({ enableOfflineQueue: true, maxRetriesPerRequest: null }),
    lastFault: () => away,
    async close() {
      for (const client of opened) client.disconnect();
    },
  };
}
