import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { removeEndpoints, startBelfry, startReceiver } from '../belfry.ts';
import type { Child } from '../children.ts';
import type { Bench, Figure, Group } from '../figure.ts';
import { percentile } from '../measure/statistics.ts';
import { newArticle, tokenOf } from '../seed.ts';

const WARM_UP = 20;
const CREATES = 240;
const APART_MS = 50;
const PATIENCE_MS = 5000;

type Times = [id: string, at: number][];

async function create(web: Child, number: number): Promise<void> {
  const { statusCode, body } = await request(`${web.url}/api/articles`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokenOf(0)}`, 'content-type': 'application/json' },
    body: newArticle(number),
  });
  await body.dump();
  if (statusCode !== 201) throw new Error(`a create answered ${statusCode}`);
}

async function measure(web: Child, receiver: Child): Promise<number[]> {
  for (let number = 0; number < WARM_UP; number++) {
    await create(web, number);
    await sleep(APART_MS);
  }
  await web.ask('watch');
  await receiver.ask('watch');
  for (let number = 0; number < CREATES; number++) {
    await create(web, number);
    await sleep(APART_MS);
  }
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(50)) {
    const receipts = new Map(await receiver.ask<Times>('receipts'));
    const commits = await web.ask<Times>('commits');
    const missing = commits.length < CREATES || commits.some(([id]) => !receipts.has(id));
    if (!missing) return commits.map(([id, at]) => receipts.get(id)! - at);
  }
  throw new Error('deliveries did not arrive');
}

function figuresOf(times: readonly number[], bench: Bench): Figure[] {
  const sorted = times.toSorted((a, b) => a - b);
  const note = `${times.length} creates ${APART_MS} ms apart; longest ${sorted.at(-1)!.toFixed(1)} ms`;
  const figure = (name: string, share: number): Figure => ({
    name,
    value: percentile(sorted, share),
    unit: 'ms',
    note,
  });
  const figures = [figure('webhooks.latency.p50', 0.5), figure('webhooks.latency.p99', 0.99)];
  return figures.filter(({ name }) => bench.wants(name));
}

/** From when web knows that a create is committed to the receiver's first sight of its webhook; idle, four processes apart. */
export const latency: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.wants('webhooks.latency.p50') && !bench.wants('webhooks.latency.p99')) return [];
    bench.say('webhooks.latency …');
    const receiver = await startReceiver(bench, 1);
    const web = await startBelfry(bench, 'web');
    const others = await Promise.all([
      startBelfry(bench, 'relay'),
      startBelfry(bench, 'webhook-worker'),
      startBelfry(bench, 'push-worker'),
    ]);
    const times = await measure(web, receiver);
    await Promise.all([web, receiver, ...others].map((child) => child.stop()));
    await removeEndpoints(bench);
    return figuresOf(times, bench);
  },
};
