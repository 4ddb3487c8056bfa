import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench, Figure, Group } from '../figure.ts';
import { percentile } from '../measure/statistics.ts';
import { resetDatabaseAndRedis, startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { withClient, withOwnDatabase } from '../setup/database.ts';
import { getListenerToken, INSERT_LISTENERS } from '../setup/listeners.ts';
import { createArticleJson, seedDatabase } from '../setup/seed.ts';

const REALTIME = { BENCH_REALTIME: 'on' };
const STREAMS = 2000;
const EVENTS_PER_SECOND = 100;
const SECONDS = 6;
const WARM_UP_SECONDS = 2;
/** Streams that are opened before memory is measured. */
const STREAMS_BEFORE_MEASURING = 20;
const TIMEOUT_MS = 20_000;
const PATH = '/api/realtime?subscribe=article&subscribe=memo';

/** Creates this many records per second of each resource, even if earlier creates have no response yet. Returns the number of each. */
async function createRecords(pool: Pool, seconds: number): Promise<number> {
  const count = EVENTS_PER_SECOND * seconds;
  const create = async (path: string, listener: number, values: object) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${getListenerToken(listener)}`, 'content-type': 'application/json' },
      body: JSON.stringify(values),
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`POST ${path} returned ${statusCode} instead of 201`);
  };
  const begin = performance.now();
  const running: Promise<void>[] = [];
  for (let number = 0; number < count; number++) {
    await sleep(Math.max(0, begin + (number * 1000) / EVENTS_PER_SECOND - performance.now()));
    running.push(create('/api/articles', number % STREAMS, JSON.parse(createArticleJson(number))));
    running.push(create('/api/memos', number % STREAMS, { text: 'x'.repeat(300) }));
  }
  await Promise.all(running);
  return count;
}

type Receipt = [record: string, at: number, passedOnAt: number];

interface Delays {
  /** ms from when web knows of an article's commit until a client sees it, for each client that reads. */
  receivedMs: number[];
  /** The part of that time until the relay passed the event on. */
  relayedMs: number[];
}

async function measureDelays(web: Child, listeners: Child, readers: number): Promise<Delays> {
  const pool = new Pool(web.url, { connections: 50 });
  try {
    await createRecords(pool, WARM_UP_SECONDS);
    await sleep(1000);
    await listeners.call('begin');
    await web.call('watch');
    const count = await createRecords(pool, SECONDS);
    for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await sleep(250)) {
      const receipts = await listeners.call<Receipt[]>('receipts');
      if (receipts.length < count * readers) continue;
      const commits = new Map(await web.call<[id: string, at: number][]>('commits'));
      const getDelay = (at: number, id: string) => at - commits.get(id)!;
      return {
        receivedMs: receipts.map(([id, at]) => getDelay(at, id)).sort((a, b) => a - b),
        relayedMs: receipts.map(([id, , relayedAt]) => getDelay(relayedAt, id)).sort((a, b) => a - b),
      };
    }
    throw new Error(`Not all events reached the clients within ${TIMEOUT_MS / 1000} s of the last create.`);
  } finally {
    await pool.close();
  }
}

async function measure(bench: Bench): Promise<Figure[]> {
  const [web, relay] = [await startBelfry(bench, 'web', REALTIME), await startBelfry(bench, 'relay', REALTIME)];
  const listeners = await bench.children.start(new URL('../processes/realtime-clients.ts', import.meta.url), {});
  try {
    const tokens = Array.from({ length: STREAMS }, (_, listener) => getListenerToken(listener));
    const measureMemory = async () => [await web.call<number>('used'), await web.call<number>('memory')] as const;
    // The first streams create what all others share.
    await listeners.call('open', { url: web.url, path: PATH, tokens: tokens.slice(0, STREAMS_BEFORE_MEASURING) });
    await sleep(1000);
    const before = await measureMemory();
    await listeners.call('open', { url: web.url, path: PATH, tokens: tokens.slice(STREAMS_BEFORE_MEASURING) });
    await sleep(1000);
    const after = await measureMemory();
    const [used, resident] = [0, 1].map((i) => (after[i]! - before[i]!) / (STREAMS - STREAMS_BEFORE_MEASURING));
    const cpu = await web.call<number>('cpu');
    const startedAt = performance.now();
    const { receivedMs, relayedMs } = await measureDelays(web, listeners, STREAMS / 20);
    const busy = (await web.call<number>('cpu')) - cpu;
    const share = Math.round(busy / 10 / (performance.now() - startedAt));
    const formatKilobytes = (bytes: number) => `${(bytes / 1024).toFixed(0)} KB`;
    const formatPercentile = (part: number) => percentile(receivedMs, part).toFixed(0);
    const load = `${STREAMS} streams of ${STREAMS} users, ${EVENTS_PER_SECOND} events/s to each of 2 resources`;
    return [
      {
        name: 'realtime.p95',
        value: percentile(receivedMs, 0.95),
        unit: 'ms',
        note: `from the commit until a client receives it; p50 ${formatPercentile(0.5)}, p99 ${formatPercentile(0.99)}, longest ${formatPercentile(1)} ms; relayed after ${percentile(relayedMs, 0.95).toFixed(0)} ms (p95); ${load}; web used ${share}% of a core`,
      },
      {
        name: 'realtime.bytesPerStream',
        value: used!,
        unit: 'bytes',
        note: `used by web after garbage collection (${formatKilobytes(used!)}); resident ${formatKilobytes(resident!)}`,
      },
    ];
  } finally {
    await Promise.all([listeners.stop(), web.stop(), relay.stop()]);
  }
}

/** Measures how soon clients see changes on thousands of open streams, and the cost of a stream. */
export const realtime: Group = {
  name: 'realtime',
  async run(bench) {
    if (!bench.isRequested('realtime.p95') && !bench.isRequested('realtime.bytesPerStream')) return [];
    bench.logProgress('realtime …');
    const figures = await withOwnDatabase(bench, 'realtime', async (own) => {
      await seedDatabase(own.servers, REALTIME);
      await withClient(own.servers.databaseUrl, (client) => client.query(INSERT_LISTENERS, [STREAMS]));
      const measured = await measure(own);
      await resetDatabaseAndRedis(own);
      return measured;
    });
    return figures.filter(({ name }) => bench.isRequested(name));
  },
};
