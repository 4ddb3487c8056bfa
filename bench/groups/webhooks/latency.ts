import type { Bench, Figure, Group } from '../../figure.ts';
import { measureCommitToReceipt, startAllProcesses } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { removeEndpoints, startReceiver } from '../../setup/belfry.ts';

const CREATES = 240;
const INTERVAL_MS = 50;

function createFigures(times: readonly number[], bench: Bench): Figure[] {
  const sorted = times.toSorted((a, b) => a - b);
  const note = `${times.length} creates ${INTERVAL_MS} ms apart; longest ${sorted.at(-1)!.toFixed(1)} ms`;
  const createFigure = (name: string, share: number): Figure => ({
    name,
    value: percentile(sorted, share),
    unit: 'ms',
    note,
  });
  const figures = [createFigure('webhooks.latency.p50', 0.5), createFigure('webhooks.latency.p99', 0.99)];
  return figures.filter(({ name }) => bench.isRequested(name));
}

/** Measures the time from when web knows of a commit until the receiver first sees its webhook; idle, with four separate processes. */
export const webhookLatency: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.isRequested('webhooks.latency.p50') && !bench.isRequested('webhooks.latency.p99')) return [];
    bench.logProgress('webhooks.latency …');
    const receiver = await startReceiver(bench, 1);
    const processes = await startAllProcesses(bench);
    const times = await measureCommitToReceipt(processes.web, receiver, { creates: CREATES, intervalMs: INTERVAL_MS });
    await Promise.all([receiver.stop(), processes.stop()]);
    await removeEndpoints(bench);
    return createFigures(times, bench);
  },
};
