import { Redis } from 'ioredis';
import { openPostgresCpu } from '../guard/cpu-time.ts';
import type { Child } from '../setup/children.ts';
import type { Servers } from '../setup/environment.ts';

/** One turn of a side. */
export interface Turn {
  perSecond: number;
  /** µs of CPU time per operation: of the side's process, and of Postgres and Redis. */
  processMicros: number;
  databaseMicros: number;
}

/** Reads the CPU time of Postgres and Redis. */
export interface DatabaseCpu {
  /** Returns µs. */
  read(): Promise<number>;
  close(): Promise<void>;
}

async function readRedisMicros(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):(\S+)/gm)].map(([, value]) => Number(value));
  return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
}

/** Opens connections that read the CPU time of Postgres and Redis. Where that of Postgres cannot be read, only Redis counts. */
export async function openDatabaseCpu({ databaseUrl, redisUrl }: Servers): Promise<DatabaseCpu> {
  const postgres = await openPostgresCpu(databaseUrl);
  const redis = new Redis(redisUrl);
  // After Ctrl-C, Redis ends first.
  redis.on('error', () => undefined);
  return {
    read: async () => ((await postgres?.read()) ?? 0) + (await readRedisMicros(redis)),
    async close() {
      await postgres?.close();
      redis.disconnect();
    },
  };
}

/** Measures what a side does: how fast it is, and what it costs. */
export async function measureTurn(
  child: Child,
  databases: DatabaseCpu,
  work: () => Promise<{ operations: number; perSecond: number }>,
): Promise<Turn> {
  const processBefore = await child.call<number>('cpu');
  const databaseBefore = await databases.read();
  const { operations, perSecond } = await work();
  const processMicros = ((await child.call<number>('cpu')) - processBefore) / operations;
  return { perSecond, processMicros, databaseMicros: ((await databases.read()) - databaseBefore) / operations };
}
