import { Redis } from 'ioredis';
import { wakeChannel } from '../../src/platform/work/outbox/wake.ts';
import { type Bench, createRatio, type Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { removeEndpoints, resetDatabaseAndRedis, startBelfry, startReceiver } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { waitUntilEmpty, withClient } from '../setup/database.ts';
import { REDIS_PREFIX } from '../setup/environment.ts';
import { ARTICLES } from '../setup/seed.ts';

const ROWS = 2 * ARTICLES;

// The events that creating the seeded articles would have written. One statement, so that all of them exist at once.
const INSERT_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(n || a.id), 'article.created', 'article', a.id, a.author, jsonb_build_object('record', to_jsonb(a))
  from articles a, generate_series(1, ${ROWS / ARTICLES}) n`;

/** Fills the outbox and waits until it is empty. Returns rows per second. */
function measureRowsPerSecond({ servers }: Bench, emptyOutbox: () => Promise<unknown>): Promise<number> {
  return withClient(servers.databaseUrl, async (client) => {
    await client.query(INSERT_EVENTS);
    const begin = performance.now();
    await emptyOutbox();
    // Reads from the end. From the start it would read all deleted rows again and again.
    await waitUntilEmpty(client, 'select id from outbox order by id desc limit 1');
    return ROWS / ((performance.now() - begin) / 1000);
  });
}

async function measure(bench: Bench, outboxLoop: Child, redis: Redis) {
  const belfry = async () => {
    await resetDatabaseAndRedis(bench);
    return measureRowsPerSecond(bench, () => redis.publish(wakeChannel(REDIS_PREFIX), ''));
  };
  const baseline = async () => {
    await resetDatabaseAndRedis(bench);
    return measureRowsPerSecond(bench, () => outboxLoop.call('drain'));
  };
  await runInterleaved({ belfry, baseline }, 1);
  return runInterleaved({ belfry, baseline }, bench.reps);
}

/**
 * Compares outbox rows per second: Belfry's relay, which creates one webhook delivery per row, and a bare loop that adds one job
 * per row.
 */
export const relay: Group = {
  name: 'relay',
  async run(bench) {
    if (!bench.isRequested('relay.rows')) return [];
    bench.logProgress('relay.rows …');
    const receiver = await startReceiver(bench, 1);
    const belfry = await startBelfry(bench, 'relay');
    const environment = { DATABASE_URL: bench.servers.databaseUrl, REDIS_URL: bench.servers.redisUrl, REDIS_PREFIX };
    const outboxLoop = await bench.children.start(new URL('../baselines/outbox-loop.ts', import.meta.url), environment);
    const redis = new Redis(bench.servers.redisUrl);
    try {
      const results = await measure(bench, outboxLoop, redis);
      return [createRatio('relay.rows', results.belfry, results.baseline, 'one delivery per row, to one job per row')];
    } finally {
      redis.disconnect();
      await Promise.all([receiver.stop(), belfry.stop(), outboxLoop.stop()]);
      await removeEndpoints(bench);
    }
  },
};
