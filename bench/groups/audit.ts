import { Redis } from 'ioredis';
import { wakeChannel } from '../../src/platform/outbox/wake.ts';
import { benchApp } from '../apps/articles.ts';
import { type Bench, type Figure, type Group, ratio } from '../figure.ts';
import { interleave } from '../measure/interleave.ts';
import { load } from '../measure/load.ts';
import { cleanUpAll, startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { cleanUp, untilNone, withClient } from '../setup/database.ts';
import { belfryEnvironment, REDIS_PREFIX } from '../setup/environment.ts';
import { ARTICLES } from '../setup/seed.ts';
import { OPERATIONS } from './records/operations.ts';

const CONNECTIONS = 20;
const AUDITED = { BENCH_AUDIT: 'on' };

// The events that creating the seeded articles would have written.
const FILL = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(a.id), 'article.created', 'article', a.id, a.author,
    jsonb_build_object('record', to_jsonb(a), 'origin', '{"via":"session","id":"c","ip":"127.0.0.1"}'::jsonb, 'passwords', '{}'::jsonb)
  from articles a where a.id ~ '^a0{10}'`;

/** Creates the tables of the audit trail in addition to the others. */
async function addTables({ servers }: Bench): Promise<void> {
  const app = benchApp({ ...belfryEnvironment(servers), ...AUDITED });
  await app.migrate({ mode: 'sync', mayDrop: 'nothing' });
  await app.close();
}

async function create(bench: Bench): Promise<Figure[]> {
  const servers = { with: await startBelfry(bench, 'web', AUDITED), without: await startBelfry(bench, 'web') };
  const one = (server: Child) => async () => {
    await cleanUp(bench.servers.databaseUrl);
    return load(server.url, OPERATIONS.create, { connections: CONNECTIONS, seconds: bench.seconds });
  };
  const sides = { with: one(servers.with), without: one(servers.without) };
  try {
    await interleave(sides, 1);
    const results = await interleave(sides, bench.reps);
    const speed = (side: keyof typeof sides) => results[side].map((result) => result.perSecond);
    return [
      ratio('audit.create', speed('with'), speed('without'), 'of a resource that is audited, to one that is not'),
    ];
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

/** Returns the rows per second of a relay that runs alone. */
async function emptied(bench: Bench, audited: boolean, redis: Redis): Promise<number> {
  await cleanUpAll(bench);
  const relay = await startBelfry(bench, 'relay', audited ? AUDITED : {});
  try {
    return await withClient(bench.servers.databaseUrl, async (client) => {
      await client.query(FILL);
      const begin = performance.now();
      await redis.publish(wakeChannel(REDIS_PREFIX), '');
      await untilNone(client, 'select id from outbox order by id desc limit 1');
      return ARTICLES / ((performance.now() - begin) / 1000);
    });
  } finally {
    await relay.stop();
  }
}

async function relayed(bench: Bench): Promise<Figure[]> {
  const redis = new Redis(bench.servers.redisUrl);
  try {
    const sides = { with: () => emptied(bench, true, redis), without: () => emptied(bench, false, redis) };
    const results = await interleave(sides, bench.reps);
    return [
      ratio(
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

const MEASURES = { 'audit.create': create, 'audit.relay': relayed };

/** Measures the cost of audit, for the request that creates a record and for the relay. */
export const audit: Group = {
  name: 'audit',
  async run(bench) {
    const wanted = Object.entries(MEASURES).filter(([name]) => bench.wants(name));
    if (wanted.length === 0) return [];
    await addTables(bench);
    const figures: Figure[] = [];
    for (const [name, measure] of wanted) {
      bench.say(`${name} …`);
      figures.push(...(await measure(bench)));
    }
    await cleanUpAll(bench);
    return figures;
  },
};
