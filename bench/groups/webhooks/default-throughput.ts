import type { Group } from '../../figure.ts';
import { median } from '../../measure/statistics.ts';
import { removeEndpoints, startBelfry, startReceiver } from '../../setup/belfry.ts';
import { USERS } from '../../setup/seed.ts';
import { sendDeliveries } from './deliveries.ts';

const NAME = 'webhooks.default.throughput';
const DELIVERIES = 20_000;
const RESPONSE_MS = 25;

/** Measures deliveries per second of one worker with default settings, to receivers that take as long as one on the internet. */
export const webhookDefaultThroughput: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, USERS, RESPONSE_MS);
    const relay = await startBelfry(bench, 'relay');
    const rates: number[] = [];
    const cpuShares: number[] = [];
    for (let round = 0; round < bench.reps; round++) {
      // A new worker for each round, because a worker remembers how well receivers respond.
      const worker = await startBelfry(bench, 'webhook-worker');
      const [cpuBefore, startedAt] = [await worker.call<number>('cpu'), performance.now()];
      rates.push(await sendDeliveries(bench, receiver, DELIVERIES));
      const elapsedMs = performance.now() - startedAt;
      cpuShares.push(((await worker.call<number>('cpu')) - cpuBefore) / 1000 / elapsedMs);
      // Leases of a killed worker would last into the next round.
      await worker.terminate();
    }
    await Promise.all([receiver.stop(), relay.stop()]);
    await removeEndpoints(bench);
    const spread = `${Math.round(Math.min(...rates))}–${Math.round(Math.max(...rates))}`;
    const note = `${spread}; receivers respond after ${RESPONSE_MS} ms; ${USERS} endpoints; ${DELIVERIES.toLocaleString('en')} deliveries by a new worker; ${Math.round(median(cpuShares) * 100)}% of a core`;
    return [{ name: NAME, value: median(rates), unit: '/s', note }];
  },
};
