import { Redis } from 'ioredis';
import { wakeChannel } from '../../src/platform/outbox/wake.ts';
import { type Bench, type Group, ratio } from '../figure.ts';
import { interleave } from '../measure/interleave.ts';
import { cleanUpAll, removeEndpoints, startBelfry, startReceiver } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { untilNone, withClient } from '../setup/database.ts';
import { REDIS_PREFIX } from '../setup/environment.ts';
import { ARTICLES } from '../setup/seed.ts';

const ROWS = 2 * ARTICLES;

// The events that creating the seeded articles would have written. One statement, so that all of them exist at once.
const FILL = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(n || a.id), 'article.created', 'article', a.id, a.author, jsonb_build_object('record', to_jsonb(a))
  from articles a, generate_series(1, ${ROWS / ARTICLES}) n`;

/** Fills the outbox and waits until it is empty. Returns rows per second. */
function timed({ servers }: Bench, empty: () => Promise<unknown>): Promise<number> {
  return withClient(servers.databaseUrl, async (client) => {
    await client.query(FILL);
    const begin = performance.now();
    await empty();
    // Reads from the end. From the start it would read all deleted rows again and again.
    await untilNone(client, 'select id from outbox order by id desc limit 1');
    return ROWS / ((performance.now() - begin) / 1000);
  });
}

async function measure(bench: Bench, floor: Child, redis: Redis) {
  const belfry = async () => {
    await cleanUpAll(bench);
    return timed(bench, () => redis.publish(wakeChannel(REDIS_PREFIX), ''));
  };
  const baseline = async () => {
    await cleanUpAll(bench);
    return timed(bench, () => floor.ask('drain'));
  };
  await interleave({ belfry, baseline }, 1);
  return interleave({ belfry, baseline }, bench.reps);
}

/**
 * Compares outbox rows per second: Belfry's relay, which creates one webhook delivery per row, and a bare loop that adds one job
 * per row.
 */
export const relay: Group = {
  name: 'relay',
  async run(bench) {
    if (!bench.wants('relay.rows')) return [];
    bench.say('relay.rows …');
    const receiver = await startReceiver(bench, 1);
    const belfry = await startBelfry(bench, 'relay');
    const environment = { DATABASE_URL: bench.servers.databaseUrl, REDIS_URL: bench.servers.redisUrl, REDIS_PREFIX };
    const floor = await bench.children.start(new URL('../baselines/outbox-loop.ts', import.meta.url), environment);
    const redis = new Redis(bench.servers.redisUrl);
    try {
      const results = await measure(bench, floor, redis);
      return [ratio('relay.rows', results.belfry, results.baseline, 'a delivery of each row, to a job of each row')];
    } finally {
      redis.disconnect();
      await Promise.all([receiver.stop(), belfry.stop(), floor.stop()]);
      await removeEndpoints(bench);
    }
  },
};
