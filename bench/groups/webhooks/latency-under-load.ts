import type { Group } from '../../figure.ts';
import { measureCommitToReceipt, startAllProcesses } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { removeEndpoints, startReceiver } from '../../setup/belfry.ts';

const NAME = 'webhooks.load200.p95';
const CREATES = 3000;
const INTERVAL_MS = 5;

/** Measures commit to receipt while 200 records per second are created, with four separate processes. */
export const webhookLatencyUnderLoad: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const receiver = await startReceiver(bench, 1);
    const processes = await startAllProcesses(bench);
    const times = await measureCommitToReceipt(processes.web, receiver, { creates: CREATES, intervalMs: INTERVAL_MS });
    await Promise.all([receiver.stop(), processes.stop()]);
    await removeEndpoints(bench);
    const sorted = times.toSorted((a, b) => a - b);
    const getPercentile = (share: number) => percentile(sorted, share);
    const note = `${CREATES} creates ${INTERVAL_MS} ms apart; median ${getPercentile(0.5).toFixed(1)} ms, longest ${getPercentile(1).toFixed(1)} ms`;
    return [{ name: NAME, value: getPercentile(0.95), unit: 'ms', note }];
  },
};
