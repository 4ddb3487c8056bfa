import { type Bench, type Figure, type Group, ratio } from '../../figure.ts';
import { interleave } from '../../measure/interleave.ts';
import { cleanUpAll, removeEndpoints, startBelfry, startReceiver } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { untilNone, withClient } from '../../setup/database.ts';
import { newArticle, USERS } from '../../setup/seed.ts';

const COUNT = 20_000;
const BODY = JSON.stringify({
  type: 'article.created',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { ...JSON.parse(newArticle(1)), body: 'The bells of the old town ring at noon. '.repeat(20) },
});

// Deliveries as the relay creates them, spread over all endpoints. One statement, so that all of them exist at once.
const FILL = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
  select 'd' || lpad(to_hex(row_number() over ()), 23, '0'), e.id, lpad(to_hex(n), 24, '0'), 'msg_' || md5(n || e.id),
    'article.created', $2, now()
  from webhook_endpoints e, generate_series(1, $1::int) n`;

/**
 * Lets Belfry's worker send 20,000 deliveries and returns the number per second. Jobs come from the relay's sweep, which finds due
 * deliveries. Time is measured from the first request.
 */
export async function sendAll(bench: Bench, receiver: Child): Promise<number> {
  await cleanUpAll(bench);
  return withClient(bench.servers.databaseUrl, async (client) => {
    const received = receiver.ask<number>('receive', COUNT);
    await client.query(FILL, [COUNT / USERS, BODY]);
    const perSecond = await received;
    await untilNone(client, `select from webhook_deliveries where status <> 'succeeded' limit 1`);
    return perSecond;
  });
}

async function measure(bench: Bench, receiver: Child, name: string, concurrency: number): Promise<Figure> {
  bench.say(`${name} …`);
  const worker = await startBelfry(bench, 'webhook-worker', { BENCH_CONCURRENCY: String(concurrency) });
  const sender = await bench.children.start(new URL('../../baselines/undici.ts', import.meta.url), {});
  const undici = async () => {
    const received = receiver.ask<number>('receive', COUNT);
    await sender.ask('send', { url: receiver.url, count: COUNT, concurrency, body: BODY });
    return received;
  };
  const sides = { belfry: () => sendAll(bench, receiver), undici };
  await interleave(sides, 1);
  const results = await interleave(sides, bench.reps);
  await Promise.all([worker.stop(), sender.stop()]);
  return ratio(name, results.belfry, results.undici, `${concurrency} in flight, ${USERS} endpoints`);
}

/** Compares deliveries per second: Belfry's worker, which claims, sends and logs, and bare undici with the same signature. */
export const deliveries: Group = {
  name: 'webhooks',
  async run(bench) {
    const wanted = Object.entries({ 'webhooks.deliveries': 200, 'webhooks.deliveries.50': 50 }).filter(([name]) =>
      bench.wants(name),
    );
    if (wanted.length === 0) return [];
    const receiver = await startReceiver(bench, USERS);
    const relay = await startBelfry(bench, 'relay');
    const figures: Figure[] = [];
    for (const [name, concurrency] of wanted) figures.push(await measure(bench, receiver, name, concurrency));
    await Promise.all([receiver.stop(), relay.stop()]);
    await removeEndpoints(bench);
    return figures;
  },
};
