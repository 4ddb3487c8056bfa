import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Group } from '../../figure.ts';
import { removeEndpoints, startBelfry, startReceiver } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { USERS } from '../../setup/seed.ts';
import { sendDeliveries } from './deliveries.ts';

const NAME = 'webhooks.memory';
const DELIVERIES = 100_000;
const DELIVERIES_PER_ROUND = 20_000;
const IDLE_MS = 1500;

interface Memory {
  /** MB in use, without garbage. */
  used: number;
  /** MB that the process holds, including garbage and reserved memory. */
  resident: number;
}

async function measureMemory(worker: Child): Promise<Memory> {
  await sleep(IDLE_MS);
  const resident = (await worker.call<number>('memory')) / 2 ** 20;
  return { resident, used: (await worker.call<number>('used')) / 2 ** 20 };
}

async function sendRounds(bench: Bench, receiver: Child, count: number): Promise<void> {
  for (let sent = 0; sent < count; sent += DELIVERIES_PER_ROUND) await sendDeliveries(bench, receiver);
}

/** Measures how much a worker grows while it sends continuously. */
export const webhookMemory: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, USERS);
    const relay = await startBelfry(bench, 'relay');
    const worker = await startBelfry(bench, 'webhook-worker', { BENCH_CONCURRENCY: '50' });
    await sendRounds(bench, receiver, DELIVERIES_PER_ROUND);
    const before = await measureMemory(worker);
    await sendRounds(bench, receiver, DELIVERIES);
    const after = await measureMemory(worker);
    await Promise.all([receiver.stop(), relay.stop(), worker.stop()]);
    await removeEndpoints(bench);
    const formatMemory = ({ used, resident }: Memory) =>
      `${used.toFixed(0)} MB in use, ${resident.toFixed(0)} resident`;
    const note = `${formatMemory(before)} after ${DELIVERIES_PER_ROUND}; ${formatMemory(after)} after ${DELIVERIES} more; 50 in flight`;
    return [{ name: NAME, value: after.used - before.used, unit: 'MB', note }];
  },
};
