import { type Group, ratio } from '../../figure.ts';
import { interleave } from '../../measure/interleave.ts';
import { load } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { OPERATIONS } from '../records/operations.ts';

const CONNECTIONS = 20;

/** Compares reads with and without rate limits: Belfry on both sides, each in its own process. */
export const limits: Group = {
  name: 'limits',
  async run(bench) {
    if (!bench.wants('accounts.limited')) return [];
    bench.say('accounts.limited …');
    const reads = async (server: Child, seconds: number) => {
      const before = await server.ask<number>('cpu');
      const { perSecond, requests } = await load(server.url, OPERATIONS.read, { connections: CONNECTIONS, seconds });
      return { perSecond, cpuMicros: ((await server.ask<number>('cpu')) - before) / requests };
    };
    const on = await startBelfry(bench, 'web', { BENCH_LIMITS: 'on' });
    const off = await startBelfry(bench, 'web');
    for (const server of [on, off]) await reads(server, bench.warmUpSeconds);
    const results = await interleave(
      { on: () => reads(on, bench.seconds), off: () => reads(off, bench.seconds) },
      bench.reps,
    );
    await Promise.all([on.stop(), off.stop()]);
    const speed = (side: keyof typeof results) => results[side].map(({ perSecond }) => perSecond);
    const cpu = (side: keyof typeof results) => Math.round(median(results[side].map(({ cpuMicros }) => cpuMicros)));
    return [ratio('accounts.limited', speed('on'), speed('off'), `CPU ${cpu('on')} µs to ${cpu('off')} µs`)];
  },
};
