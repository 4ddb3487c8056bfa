import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { countRedisCommands, sumCalls } from '../measure/redis-calls.ts';
import { createWireTap, type WireTap } from '../measure/wire-tap.ts';
import { withClient } from '../setup/database.ts';
import type { Operation, Processes, Setup } from './operations.ts';
import type { Side } from './sides.ts';

/** What one operation uses, which does not depend on the machine. */
export interface Counts {
  statements: number;
  /** Write calls to Postgres. */
  writes: number;
  /** Redis commands, those inside of scripts included, but without PUBLISH: hints within a few ms are combined, so their number depends on the machine. */
  redis: number;
  /** Bytes of WAL, without images of whole pages. */
  wal: number;
  /** Bytes of the HTTP response. */
  response: number;
  /** Bytes that are allocated on the heap of JavaScript. */
  heap: number;
}

const WARM_UP_OPERATIONS = 300;
const OPERATIONS = 200;
/** New objects fill the young generation, so this many MB are allocated before the first garbage collection. */
const YOUNG_GENERATION_MB = 512;
const PROBE = fileURLToPath(new URL('probe.ts', import.meta.url));
const NODE_OPTIONS = [
  '--import',
  PROBE,
  `--min-semi-space-size=${YOUNG_GENERATION_MB}`,
  `--max-semi-space-size=${YOUNG_GENERATION_MB}`,
];

interface Counters {
  tap: WireTap;
  redis: Redis;
  client: pg.Client;
}

/** Runs an operation alone, one after the other, so that nothing depends on what happens to run at the same time. */
async function countOperation(operation: Operation, processes: Processes, counters: Counters): Promise<Counts> {
  const { tap, redis, client } = counters;
  const readWal = async () => {
    const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0' as bytes`);
    return Number(rows[0]!.bytes);
  };
  const readRedis = async () => {
    const calls = await countRedisCommands(redis);
    return sumCalls(calls) - (calls.get('publish') ?? 0);
  };
  const readHeap = async () => {
    const sizes = await Promise.all(Object.values(processes.children).map((child) => child.call<number>('heap')));
    return sizes.reduce((sum, size) => sum + size, 0);
  };
  await operation.run(processes, { sequential: WARM_UP_OPERATIONS });
  const before = { redis: await readRedis(), wal: await readWal(), heap: await readHeap() };
  tap.reset();
  const { operations, bytes = 0 } = await operation.run(processes, { sequential: OPERATIONS });
  const { statements, writes } = tap.counts();
  const after = { redis: await readRedis(), wal: await readWal(), heap: await readHeap() };
  const per = (count: number) => count / operations;
  return {
    statements: per(statements),
    writes: per(writes),
    redis: per(after.redis - before.redis),
    wal: per(after.wal - before.wal),
    response: per(bytes),
    heap: per(after.heap - before.heap),
  };
}

/**
 * Counts what each of the operations uses on a side, with processes of their own that a tap connects to Postgres.
 *
 * @throws if the side does not have the operations
 */
export async function countSetup(setup: Setup, side: Side): Promise<Map<string, Counts>> {
  const tap = await createWireTap(side.servers.databaseUrl);
  const redis = new Redis(side.servers.redisUrl);
  const tapped = { ...side, servers: { ...side.servers, databaseUrl: tap.url }, nodeOptions: NODE_OPTIONS };
  try {
    return await withClient(side.servers.databaseUrl, async (client) => {
      const processes = await setup.start(tapped);
      const counts = new Map<string, Counts>();
      for (const operation of setup.operations) {
        await operation.reset?.(side);
        counts.set(operation.name, await countOperation(operation, processes, { tap, redis, client }));
      }
      return counts;
    });
  } finally {
    await side.children.stopAll();
    redis.disconnect();
    await tap.close();
  }
}
