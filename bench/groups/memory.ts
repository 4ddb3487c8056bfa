import { setTimeout as sleep } from 'node:timers/promises';
import { removeEndpoints, startBelfry, startReceiver } from '../belfry.ts';
import type { Child } from '../children.ts';
import type { Bench, Group } from '../figure.ts';
import { USERS } from '../seed.ts';
import { sendAll } from './deliveries.ts';

const NAME = 'webhooks.memory';
const DELIVERIES = 100_000;
const ROUND = 20_000;
const IDLE_MS = 1500;

/** MB, when nothing is going on. */
async function memoryOf(worker: Child): Promise<number> {
  await sleep(IDLE_MS);
  return (await worker.ask<number>('memory')) / 2 ** 20;
}

async function rounds(bench: Bench, receiver: Child, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += ROUND) await sendAll(bench, receiver);
}

/** By how much a worker grows that sends and sends. */
export const memory: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.wants(NAME)) return [];
    bench.say(`${NAME} …`);
    const receiver = await startReceiver(bench, USERS);
    const relay = await startBelfry(bench, 'relay');
    const worker = await startBelfry(bench, 'webhook-worker', { BENCH_CONCURRENCY: '50' });
    await rounds(bench, receiver, ROUND);
    const before = await memoryOf(worker);
    await rounds(bench, receiver, DELIVERIES);
    const after = await memoryOf(worker);
    await Promise.all([receiver.stop(), relay.stop(), worker.stop()]);
    await removeEndpoints(bench);
    const note = `${before.toFixed(0)} MB after ${ROUND}, ${after.toFixed(0)} MB after ${DELIVERIES} more; 50 in flight`;
    return [{ name: NAME, value: after - before, unit: 'MB', note }];
  },
};
