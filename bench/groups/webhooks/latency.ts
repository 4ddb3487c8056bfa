import type { Bench, Figure, Group } from '../../figure.ts';
import { commitToReceipt, startAll } from '../../measure/commit-to-receipt.ts';
import { percentile } from '../../measure/statistics.ts';
import { removeEndpoints, startReceiver } from '../../setup/belfry.ts';

const CREATES = 240;
const APART_MS = 50;

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

/** Measures the time from when web knows of a commit until the receiver first sees its webhook; idle, with four separate processes. */
export const latency: Group = {
  name: 'webhooks',
  async run(bench) {
    if (!bench.wants('webhooks.latency.p50') && !bench.wants('webhooks.latency.p99')) return [];
    bench.say('webhooks.latency …');
    const receiver = await startReceiver(bench, 1);
    const processes = await startAll(bench);
    const times = await commitToReceipt(processes.web, receiver, { creates: CREATES, apartMs: APART_MS });
    await Promise.all([receiver.stop(), processes.stop()]);
    await removeEndpoints(bench);
    return figuresOf(times, bench);
  },
};
