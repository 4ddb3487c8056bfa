import { Redis } from 'ioredis';
import { wakeChannel } from '../../src/platform/work/outbox/wake.ts';
import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { runLoad } from '../measure/load.ts';
import { resetDatabaseAndRedis, startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { resetDatabase, waitUntilEmpty, withClient, withOwnDatabase } from '../setup/database.ts';
import { REDIS_PREFIX } from '../setup/environment.ts';
import { ARTICLES, seedDatabase } from '../setup/seed.ts';
import { OPERATIONS } from './records/operations.ts';

const CONNECTIONS = 20;
const AUDITED = { BENCH_AUDIT: 'on' };

// The events that creating the seeded articles would have written.
const INSERT_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(a.id), 'article.created', 'article', a.id, a.author,
    jsonb_build_object('record', to_jsonb(a), 'origin', '{"via":"session","id":"c","ip":"127.0.0.1"}'::jsonb, 'passwords', '{}'::jsonb)
  from articles a where a.id ~ '^a0{10}'`;

async function measureCreates(bench: Bench): Promise<Figure[]> {
  const servers = { with: await startBelfry(bench, 'web', AUDITED), without: await startBelfry(bench, 'web') };
  const createRun = (server: Child) => async () => {
    await resetDatabase(bench.servers.databaseUrl);
    return runLoad(server.url, OPERATIONS.create, { connections: CONNECTIONS, seconds: bench.seconds });
  };
  const sides = { with: createRun(servers.with), without: createRun(servers.without) };
  try {
    await runInterleaved(sides, 1);
    const results = await runInterleaved(sides, bench.reps);
    const getSpeeds = (side: keyof typeof sides) => results[side].map((result) => result.perSecond);
    return [
      createRatio(
        'audit.create',
        getSpeeds('with'),
        getSpeeds('without'),
        'an audited resource, to one that is not audited',
      ),
    ];
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

/** Returns the rows per second of a relay that runs alone. */
async function measureRelay(bench: Bench, audited: boolean, redis: Redis): Promise<number> {
  await resetDatabaseAndRedis(bench);
  const relay = await startBelfry(bench, 'relay', audited ? AUDITED : {});
  try {
    return await withClient(bench.servers.databaseUrl, async (client) => {
      await client.query(INSERT_EVENTS);
      const begin = performance.now();
      await redis.publish(wakeChannel(REDIS_PREFIX), '');
      await waitUntilEmpty(client, 'select id from outbox order by id desc limit 1');
      return ARTICLES / ((performance.now() - begin) / 1000);
    });
  } finally {
    await relay.stop();
  }
}

async function compareRelays(bench: Bench): Promise<Figure[]> {
  const redis = new Redis(bench.servers.redisUrl);
  try {
    const sides = { with: () => measureRelay(bench, true, redis), without: () => measureRelay(bench, false, redis) };
    const results = await runInterleaved(sides, bench.reps);
    return [
      createRatio(
        'audit.relay',
        results.with,
        results.without,
        'events that become audit rows, to events that are discarded',
      ),
    ];
  } finally {
    redis.disconnect();
  }
}

const MEASUREMENTS = { 'audit.create': measureCreates, 'audit.relay': compareRelays };

/** Measures the cost of audit, for the request that creates a record and for the relay. */
export const audit: Group = {
  name: 'audit',
  async run(bench) {
    const requestedMeasurements = Object.entries(MEASUREMENTS).filter(([name]) => bench.isRequested(name));
    if (requestedMeasurements.length === 0) return [];
    return withOwnDatabase(bench, 'audit', async (own) => {
      await seedDatabase(own.servers, AUDITED);
      const figures: Figure[] = [];
      for (const [name, measure] of requestedMeasurements) {
        bench.logProgress(`${name} …`);
        figures.push(...(await measure(own)));
      }
      await resetDatabaseAndRedis(own);
      return figures;
    });
  },
};
