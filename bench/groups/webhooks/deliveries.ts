import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import {
  removeEndpoints,
  resetDatabaseAndRedis,
  startBelfry,
  startReceiver,
  waitUntilEndpointJobsEnd,
} from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { UNDELIVERED, waitUntilEmpty, withClient } from '../../setup/database.ts';
import { createArticleJson, USERS } from '../../setup/seed.ts';

const COUNT = 20_000;
const BODY = JSON.stringify({
  type: 'article.created',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { ...JSON.parse(createArticleJson(1)), body: 'The bells of the old town ring at noon. '.repeat(20) },
});

// Deliveries as the relay creates them, spread over all endpoints. One statement, so that all of them exist at once. Their ids begin with
// the time, as real ids do: a lease from an earlier round must not know them. Without mentions, a sweep of the relay would collect them
// meanwhile, as it does for deliveries of earlier versions.
const INSERT_DELIVERIES = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, subject_id, mentions, next_attempt_at)
  select lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || lpad(to_hex(row_number() over ()), 12, '0'), e.id, lpad(to_hex(n), 24, '0'), 'msg_' || md5(n || e.id),
    'article.created', $2, e.owner_id, array[e.owner_id, lpad(to_hex(n), 24, '0')], now()
  from webhook_endpoints e, generate_series(1, $1::int) n`;

/**
 * Lets Belfry's worker send deliveries, by default 20,000, and returns the number per second. Jobs come from the relay's sweep, which finds due
 * deliveries. Time is measured from the first request.
 */
export async function sendDeliveries(bench: Bench, receiver: Child, count = COUNT): Promise<number> {
  await waitUntilEndpointJobsEnd(bench);
  await resetDatabaseAndRedis(bench);
  return withClient(bench.servers.databaseUrl, async (client) => {
    const received = receiver.call<number>('receive', count);
    await client.query(INSERT_DELIVERIES, [count / USERS, BODY]);
    const perSecond = await received;
    await waitUntilEmpty(client, UNDELIVERED);
    return perSecond;
  });
}

async function measure(bench: Bench, receiver: Child, name: string, concurrency: number): Promise<Figure> {
  bench.logProgress(`${name} …`);
  const worker = await startBelfry(bench, 'webhook-worker', { BENCH_CONCURRENCY: String(concurrency) });
  const sender = await bench.children.start(new URL('../../baselines/undici.ts', import.meta.url), {});
  const undici = async () => {
    const received = receiver.call<number>('receive', COUNT);
    await sender.call('send', { url: receiver.url, count: COUNT, concurrency, body: BODY });
    return received;
  };
  const sides = { belfry: () => sendDeliveries(bench, receiver), undici };
  await runInterleaved(sides, 1);
  const results = await runInterleaved(sides, bench.reps);
  await Promise.all([worker.stop(), sender.stop()]);
  return createRatio(name, results.belfry, results.undici, `${concurrency} in flight, ${USERS} endpoints`);
}

/** Compares deliveries per second: Belfry's worker, which claims, sends and logs, and bare undici with the same signature. */
export const webhookDeliveries: Group = {
  name: 'webhooks',
  async run(bench) {
    const requestedFigures = Object.entries({ 'webhooks.deliveries': 200, 'webhooks.deliveries.50': 50 }).filter(
      ([name]) => bench.isRequested(name),
    );
    if (requestedFigures.length === 0) return [];
    const receiver = await startReceiver(bench, USERS);
    const relay = await startBelfry(bench, 'relay');
    const figures: Figure[] = [];
    for (const [name, concurrency] of requestedFigures) figures.push(await measure(bench, receiver, name, concurrency));
    await Promise.all([receiver.stop(), relay.stop()]);
    await removeEndpoints(bench);
    return figures;
  },
};
