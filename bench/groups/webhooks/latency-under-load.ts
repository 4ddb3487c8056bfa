import type { Group } from '../../figure.ts';
import { commitToReceipt, startAll } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { removeEndpoints, startReceiver } from '../../setup/belfry.ts';

const NAME = 'webhooks.load200.p95';
const CREATES = 3000;
const APART_MS = 5;

/** Measures commit to receipt while 200 records per second are created, with four separate processes. */
export const load200: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.wants(NAME)) return [];
    bench.say(`${NAME} …`);
    const receiver = await startReceiver(bench, 1);
    const processes = await startAll(bench);
    const times = await commitToReceipt(processes.web, receiver, { creates: CREATES, apartMs: APART_MS });
    await Promise.all([receiver.stop(), processes.stop()]);
    await removeEndpoints(bench);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number) => percentile(sorted, share);
    const note = `${CREATES} creates ${APART_MS} ms apart; median ${at(0.5).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms`;
    return [{ name: NAME, value: at(0.95), unit: 'ms', note }];
  },
};
