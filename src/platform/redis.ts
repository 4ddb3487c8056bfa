import { Redis } from 'ioredis';
import type { Logger } from './log.ts';

/** The Redis of one app. Connections are made at first use and come back by themselves. */
export interface RedisClients {
  /** For commands of requests and producers: fails at once while Redis is away, instead of queueing up. */
  commands: Redis;
  /** A further connection that waits for Redis to come back: for workers and subscribers, which own it. */
  patient(): Redis;
  close(): Promise<void>;
}

/** @param url `redis://…` or `rediss://…` */
export function openRedis(url: string, log: Logger): RedisClients {
  const opened = new Set<Redis>();
  let away = false;

  function open(options: { enableOfflineQueue: boolean; maxRetriesPerRequest: number | null }): Redis {
    const client = new Redis(url, {
      ...options,
      lazyConnect: true,
      connectTimeout: 3000,
      retryStrategy: (attempt) => Math.min(50 * 2 ** attempt, 2000),
    });
    client.on('error', (error: Error) => {
      if (!away) log.warn({ err: error }, 'Redis is away');
      away = true;
    });
    client.on('ready', () => {
      if (away) log.info('Redis is back');
      away = false;
    });
    opened.add(client);
    client.on('end', () => opened.delete(client));
    return client;
  }

  const commands = open({ enableOfflineQueue: false, maxRetriesPerRequest: 0 });
  return {
    commands,
    patient: () => open({ enableOfflineQueue: true, maxRetriesPerRequest: null }),
    async close() {
      for (const client of opened) client.disconnect();
    },
  };
}
