import { Redis } from 'ioredis';
import { wakeChannel } from '../../../src/platform/work/outbox/wake.ts';
import type { Bench, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { removeEndpoints, resetDatabaseAndRedis, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { waitUntilEmpty, withClient } from '../../setup/database.ts';
import { REDIS_PREFIX } from '../../setup/environment.ts';

const NAME = 'webhooks.fanout.filtered';
const ENDPOINTS = 100_000;

// Endpoints of the one user who may see the memo.
const ADD_ENDPOINTS = `
  insert into webhook_endpoints (id, owner_id, url, events, scope, secret)
  select 'e' || lpad(to_hex(n), 23, '0'), e.owner_id, 'http://127.0.0.1:9/', '{memo.*}', 'own', ''
  from webhook_endpoints e, generate_series(1, $1::int) n where e.url = $2`;

// No two filters are equal, so that no part of the work can be shared.
const SET_FILTERS = `
  update webhook_endpoints set filter = case when $1::boolean then
    jsonb_build_object('memo.*', jsonb_build_object('size[gte]', ('x' || substr(id, 18))::bit(28)::int::text, 'size[exists]', 'true')) end`;

const ADD_EVENT = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select md5(random()::text), 'memo.created', 'memo', lpad('1', 24, '0'), e.owner_id, jsonb_build_object('record',
    jsonb_build_object('id', lpad('1', 24, '0'), 'text', 'noon', 'size', 1000000000, 'owner', e.owner_id, 'created_at', now(), 'updated_at', now()))
  from webhook_endpoints e where e.url = $1`;

/** Returns how long the relay takes, in ms, to create a delivery of one event for each endpoint. */
async function measureFanOut(bench: Bench, redis: Redis, url: string, isFiltered: boolean): Promise<number> {
  await resetDatabaseAndRedis(bench);
  return withClient(bench.servers.databaseUrl, async (client) => {
    await client.query(SET_FILTERS, [isFiltered]);
    await client.query('vacuum analyze webhook_endpoints');
    await client.query(ADD_EVENT, [url]);
    const begin = performance.now();
    await redis.publish(wakeChannel(REDIS_PREFIX), '');
    await waitUntilEmpty(client, 'select id from outbox order by id desc limit 1');
    const durationMs = performance.now() - begin;
    const { rows } = await client.query<{ n: number }>('select count(*)::int as n from webhook_deliveries');
    const expected = ENDPOINTS + 1;
    if (rows[0]!.n !== expected) throw new Error(`The relay created ${rows[0]!.n} deliveries instead of ${expected}.`);
    return durationMs;
  });
}

/** Compares the fan-out of an event to endpoints that all have a filter, which it meets, with the same endpoints without. */
export const webhookFilteredFanOut: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, 1);
    const url = `${receiver.url}/`;
    await withClient(bench.servers.databaseUrl, async (client) => {
      await client.query(`update webhook_endpoints set events = '{memo.created}' where url = $1`, [url]);
      await client.query(ADD_ENDPOINTS, [ENDPOINTS, url]);
    });
    const relay = await startBelfry(bench, 'relay');
    const redis = new Redis(bench.servers.redisUrl);
    const times: Record<'plain' | 'filtered', number[]> = { plain: [], filtered: [] };
    // The first round warms up.
    for (let round = 0; round <= bench.reps; round++) {
      const plain = await measureFanOut(bench, redis, url, false);
      const filtered = await measureFanOut(bench, redis, url, true);
      if (round === 0) continue;
      times.plain.push(plain);
      times.filtered.push(filtered);
    }
    redis.disconnect();
    await Promise.all([receiver.stop(), relay.stop()]);
    await removeEndpoints(bench);
    const [plain, filtered] = [median(times.plain), median(times.filtered)];
    const formatPerDelivery = (ms: number) => `${((ms * 1000) / ENDPOINTS).toFixed(0)} µs`;
    const note = `${formatPerDelivery(filtered)} a delivery with filters, ${formatPerDelivery(plain)} without; ${ENDPOINTS.toLocaleString('en')} endpoints`;
    return [{ name: NAME, value: filtered / plain, unit: '×', note }];
  },
};
