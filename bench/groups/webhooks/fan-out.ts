import { Redis } from 'ioredis';
import { wakeChannel } from '../../../src/platform/work/outbox/wake.ts';
import type { Bench, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { removeEndpoints, resetDatabaseAndRedis, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { waitUntilEmpty, withClient } from '../../setup/database.ts';
import { REDIS_PREFIX } from '../../setup/environment.ts';

const NAME = 'webhooks.fanout.scale';
const EVENTS = 2000;
const FEW = 10;
const MANY = 100_000;

// Endpoints of other users, ten for each. They subscribe to the event, and their owners may not see it.
const ADD_ENDPOINTS = `
  insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
  select 'e' || lpad(to_hex(n), 23, '0'), 'f' || lpad(to_hex(n / 10), 23, '0'), 'http://127.0.0.1:9/',
    case n % 3 when 0 then '{*}' when 1 then '{memo.*}' else '{memo.created}' end::text[], 'own', ''
  from generate_series(1, $1::int) n on conflict do nothing`;

// Memos of the one user who has an endpoint and may see them.
const ADD_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(random()::text || n), 'memo.created', 'memo', lpad(to_hex(n), 24, '0'), e.owner_id, jsonb_build_object('record',
    jsonb_build_object('id', lpad(to_hex(n), 24, '0'), 'text', 'noon', 'owner', e.owner_id, 'created_at', now(), 'updated_at', now()))
  from webhook_endpoints e, generate_series(1, $1::int) n where e.url = $2`;

/** Returns how long the relay takes, in ms. */
function measureFanOut(bench: Bench, redis: Redis, url: string): Promise<number> {
  return withClient(bench.servers.databaseUrl, async (client) => {
    await client.query(ADD_EVENTS, [EVENTS, url]);
    const begin = performance.now();
    await redis.publish(wakeChannel(REDIS_PREFIX), '');
    await waitUntilEmpty(client, 'select id from outbox order by id desc limit 1');
    const durationMs = performance.now() - begin;
    const { rows } = await client.query<{ n: number }>('select count(*)::int as n from webhook_deliveries');
    if (rows[0]!.n !== EVENTS) throw new Error(`The relay created ${rows[0]!.n} deliveries instead of ${EVENTS}.`);
    return durationMs;
  });
}

async function addOtherEndpoints(bench: Bench, count: number): Promise<void> {
  await withClient(bench.servers.databaseUrl, async (client) => {
    await client.query(ADD_ENDPOINTS, [count - 1]);
    await client.query('vacuum analyze webhook_endpoints');
  });
}

/** Compares the cost of an event that one endpoint may see, between many endpoints and few. */
export const webhookFanOut: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, 1);
    const url = `${receiver.url}/`;
    await withClient(bench.servers.databaseUrl, (client) =>
      client.query(`update webhook_endpoints set events = '{memo.created}' where url = $1`, [url]),
    );
    const relay = await startBelfry(bench, 'relay');
    const redis = new Redis(bench.servers.redisUrl);
    const times: Record<number, number[]> = {};
    for (const count of [FEW, MANY]) {
      await addOtherEndpoints(bench, count);
      times[count] = [];
      // The first round warms up.
      for (let round = 0; round <= bench.reps; round++) {
        await resetDatabaseAndRedis(bench);
        const durationMs = await measureFanOut(bench, redis, url);
        if (round > 0) times[count].push(durationMs);
      }
    }
    redis.disconnect();
    await Promise.all([receiver.stop(), relay.stop()]);
    await removeEndpoints(bench);
    const [few, many] = [median(times[FEW]!), median(times[MANY]!)];
    const formatPerEvent = (ms: number) => `${((ms * 1000) / EVENTS).toFixed(0)} µs`;
    const note = `${formatPerEvent(many)} an event with ${MANY.toLocaleString('en')} endpoints, ${formatPerEvent(few)} with ${FEW}`;
    return [{ name: NAME, value: many / few, unit: '×', note }];
  },
};
