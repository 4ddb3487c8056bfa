import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Group } from '../../figure.ts';
import { removeEndpoints, startBelfry, startReceiver } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { USERS } from '../../setup/seed.ts';
import { sendAll } from './deliveries.ts';

const NAME = 'webhooks.memory';
const DELIVERIES = 100_000;
const ROUND = 20_000;
const IDLE_MS = 1500;

interface Memory {
  /** MB in use, without garbage. */
  used: number;
  /** MB that the process holds, including garbage and reserved memory. */
  resident: number;
}

async function memoryOf(worker: Child): Promise<Memory> {
  await sleep(IDLE_MS);
  const resident = (await worker.ask<number>('memory')) / 2 ** 20;
  return { resident, used: (await worker.ask<number>('used')) / 2 ** 20 };
}

async function rounds(bench: Bench, receiver: Child, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += ROUND) await sendAll(bench, receiver);
}

/** Measures how much a worker grows while it sends continuously. */
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
    const told = ({ used, resident }: Memory) => `${used.toFixed(0)} MB in use, ${resident.toFixed(0)} resident`;
    const note = `${told(before)} after ${ROUND}; ${told(after)} after ${DELIVERIES} more; 50 in flight`;
    return [{ name: NAME, value: after.used - before.used, unit: 'MB', note }];
  },
};
