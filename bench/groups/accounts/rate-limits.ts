import { createRatio, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { runLoad } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { OPERATIONS } from '../records/operations.ts';

const CONNECTIONS = 20;

/** Compares reads with and without rate limits: Belfry on both sides, each in its own process. */
export const rateLimits: Group = {
  name: 'accounts',
  async run(bench) {
    if (!bench.isRequested('accounts.limited')) return [];
    bench.logProgress('accounts.limited …');
    const measureReads = async (server: Child, seconds: number) => {
      const before = await server.call<number>('cpu');
      const { perSecond, requests } = await runLoad(server.url, OPERATIONS.read, { connections: CONNECTIONS, seconds });
      return { perSecond, cpuMicros: ((await server.call<number>('cpu')) - before) / requests };
    };
    const on = await startBelfry(bench, 'web', { BENCH_LIMITS: 'on' });
    const off = await startBelfry(bench, 'web');
    for (const server of [on, off]) await measureReads(server, bench.warmUpSeconds);
    const results = await runInterleaved(
      { on: () => measureReads(on, bench.seconds), off: () => measureReads(off, bench.seconds) },
      bench.reps,
    );
    await Promise.all([on.stop(), off.stop()]);
    const getSpeeds = (side: keyof typeof results) => results[side].map(({ perSecond }) => perSecond);
    const getCpuMicros = (side: keyof typeof results) =>
      Math.round(median(results[side].map(({ cpuMicros }) => cpuMicros)));
    return [
      createRatio(
        'accounts.limited',
        getSpeeds('on'),
        getSpeeds('off'),
        `CPU ${getCpuMicros('on')} µs to ${getCpuMicros('off')} µs`,
      ),
    ];
  },
};
