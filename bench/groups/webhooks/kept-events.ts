import { Redis } from 'ioredis';
import { wakeChannel } from '../../../src/platform/work/outbox/wake.ts';
import type { Bench, Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { removeEndpoints, resetDatabaseAndRedis, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { waitUntilEmpty, withClient } from '../../setup/database.ts';
import { REDIS_PREFIX } from '../../setup/environment.ts';

const NAMES = { relay: 'webhooks.kept-events.relay', size: 'webhooks.kept-events.size' };
const EVENTS = 5000;
const TEXT_LENGTH = 500;

// Memos of a user with an endpoint.
const ADD_EVENTS = `
  insert into outbox (event_id, name, resource, record_id, user_id, payload)
  select to_hex(extract(epoch from now())::bigint) || lpad(to_hex(n), 16, '0'), 'memo.created', 'memo', lpad(to_hex(n), 24, '0'), e.owner_id,
    jsonb_build_object('record', jsonb_build_object('id', lpad(to_hex(n), 24, '0'), 'text', repeat(md5(n::text), $3::int / 32),
      'owner', e.owner_id, 'created_at', now(), 'updated_at', now()))
  from webhook_endpoints e, generate_series(1, $1::int) n where e.url = $2`;

const LOG_BYTES = `
  select sum(pg_total_relation_size(inhrelid))::float8 as bytes from pg_inherits where inhparent = 'webhook_event_log'::regclass`;

/** Returns how long a relay takes to handle the events, in ms, and the bytes that the log then has. */
async function measureRelay(bench: Bench, url: string, environment: Record<string, string>) {
  const relay = await startBelfry(bench, 'relay', environment);
  const redis = new Redis(bench.servers.redisUrl);
  const measured = await withClient(bench.servers.databaseUrl, async (client) => {
    let durationMs = 0;
    // The first round warms up.
    for (const round of [0, 1]) {
      await resetDatabaseAndRedis(bench);
      await client.query('truncate webhook_event_log');
      await client.query(ADD_EVENTS, [EVENTS, url, TEXT_LENGTH]);
      const begin = performance.now();
      await redis.publish(wakeChannel(REDIS_PREFIX), '');
      await waitUntilEmpty(client, 'select id from outbox order by id desc limit 1');
      if (round > 0) durationMs = performance.now() - begin;
    }
    const { rows } = await client.query<{ bytes: number }>(LOG_BYTES);
    await client.query('truncate webhook_event_log');
    return { durationMs, bytes: rows[0]!.bytes };
  });
  redis.disconnect();
  await relay.stop();
  return measured;
}

/** Compares a relay that keeps events for backfills to one that does not. */
export const webhookKeptEvents: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!Object.values(NAMES).some(bench.isRequested)) return [];
    bench.logProgress(`${NAMES.relay} …`);
    const receiver = await startReceiver(bench, 1);
    const url = `${receiver.url}/`;
    await withClient(bench.servers.databaseUrl, (client) =>
      client.query(`update webhook_endpoints set events = '{memo.created}' where url = $1`, [url]),
    );
    const [off, on]: [number[], number[]] = [[], []];
    let bytes = 0;
    for (let round = 0; round < bench.reps; round++) {
      off.push((await measureRelay(bench, url, {})).durationMs);
      const kept = await measureRelay(bench, url, { BENCH_KEEP_EVENTS: 'on' });
      on.push(kept.durationMs);
      bytes = kept.bytes;
    }
    await receiver.stop();
    await removeEndpoints(bench);
    const format = (times: number[]) => `${((median(times) * 1000) / EVENTS).toFixed(0)} µs`;
    const note = `${format(on)} an event that is kept and delivered, ${format(off)} one that is only delivered`;
    const size = `an event whose record has a text of ${TEXT_LENGTH} characters; with indexes`;
    return [
      { name: NAMES.relay, value: median(on) / median(off), unit: '×', note },
      { name: NAMES.size, value: Math.round(bytes / EVENTS), unit: 'bytes', note: size },
    ];
  },
};
