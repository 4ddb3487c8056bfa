import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench, Figure, Group } from '../../figure.ts';
import { resetDatabaseAndRedis, startBelfry } from '../../setup/belfry.ts';
import { withClient, withOwnDatabase } from '../../setup/database.ts';
import { getListenerToken, INSERT_LISTENERS } from '../../setup/listeners.ts';
import { seedDatabase } from '../../setup/seed.ts';

const NAME = 'webhooks.polling.cpu';
const ENDPOINTS = 1000;
const EVENTS_PER_SECOND = 20;
const SECONDS = 20;
const SETTLE_MS = 8000;
const AT_ONCE = 20;

async function post(pool: Pool, path: string, listener: number, values: object): Promise<{ id: string }> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path,
    headers: { authorization: `Bearer ${getListenerToken(listener)}`, 'content-type': 'application/json' },
    body: JSON.stringify(values),
  });
  const { data } = (await body.json()) as { data: { id: string } };
  if (statusCode !== 201) throw new Error(`POST ${path} returned ${statusCode} instead of 201`);
  return data;
}

async function createEndpoints(pool: Pool): Promise<[token: string, endpoint: string][]> {
  const receivers: [string, string][] = [];
  for (let first = 0; first < ENDPOINTS; first += AT_ONCE) {
    const some = Array.from({ length: AT_ONCE }, async (_, i): Promise<[string, string]> => {
      const values = { delivery: 'poll', events: ['memo.created'] };
      const { id } = await post(pool, '/api/webhooks', first + i, values);
      return [getListenerToken(first + i), id];
    });
    receivers.push(...(await Promise.all(some)));
  }
  return receivers;
}

/** Creates records of the owners of endpoints, each of a different one. */
async function createRecords(pool: Pool, count: number): Promise<void> {
  const begin = performance.now();
  const running: Promise<unknown>[] = [];
  for (let number = 0; number < count; number++) {
    await sleep(Math.max(0, begin + (number * 1000) / EVENTS_PER_SECOND - performance.now()));
    running.push(post(pool, '/api/memos', (number * 7) % ENDPOINTS, { text: 'x'.repeat(300) }));
  }
  await Promise.all(running);
}

async function measure(bench: Bench): Promise<Figure> {
  // One web process is polled, the other creates the records.
  const polled = await startBelfry(bench, 'web');
  const creating = await startBelfry(bench, 'web');
  const relay = await startBelfry(bench, 'relay');
  const clients = await bench.children.start(new URL('../../processes/polling-clients.ts', import.meta.url), {});
  const pool = new Pool(creating.url, { connections: 50 });
  try {
    await clients.call('open', { url: polled.url, receivers: await createEndpoints(pool) });
    await createRecords(pool, EVENTS_PER_SECOND * 3);
    await sleep(SETTLE_MS);
    const measureCpu = async (work: Promise<unknown>) => {
      const [cpu, startedAt] = [await polled.call<number>('cpu'), performance.now()];
      await work;
      const ms = ((await polled.call<number>('cpu')) - cpu) / 1000;
      return { ms, percent: Math.round((ms * 100) / (performance.now() - startedAt)) };
    };
    const idle = await measureCpu(sleep(SETTLE_MS));
    await clients.call('begin');
    const count = EVENTS_PER_SECOND * SECONDS;
    const busy = await measureCpu(createRecords(pool, count));
    await sleep(1000);
    const polls = await clients.call<number>('polls');
    const received = (await clients.call<unknown[]>('receipts')).length;
    const note = `of the web process for each message, polled and acknowledged: ${busy.percent}% of a core; ${ENDPOINTS} endpoints wait, ${EVENTS_PER_SECOND} events/s; ${received} of ${count} received in ${polls} polls; ${idle.percent}% of a core while nothing happens`;
    return { name: NAME, value: busy.ms / count, unit: 'ms', note };
  } finally {
    await pool.close();
    await Promise.all([clients.stop(), polled.stop(), creating.stop(), relay.stop()]);
  }
}

/** Measures what it costs when many endpoints are polled at once. */
export const webhookPolling: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    return withOwnDatabase(bench, 'polling', async (own) => {
      await seedDatabase(own.servers);
      await withClient(own.servers.databaseUrl, (client) => client.query(INSERT_LISTENERS, [ENDPOINTS]));
      const figure = await measure(own);
      await resetDatabaseAndRedis(own);
      return [figure];
    });
  },
};
