import { randomUUID } from 'node:crypto';
import type { Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { type LoadRequest, runLoad } from '../measure/load.ts';
import { median } from '../measure/statistics.ts';
import { startBelfry } from '../setup/belfry.ts';
import type { Child } from '../setup/children.ts';
import { getSessionToken } from '../setup/seed.ts';

const createObject = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));

/** Invalid bodies of an article, by their error. Each has the maximum size of a body, or the size that makes it most costly. */
const BODIES: Readonly<Record<string, unknown>> = {
  'unknown fields': createObject(60_000, 1),
  'unknown objects': createObject(30_000, {}),
  'an unknown field with many fields': { title: 'x', extra: createObject(60_000, 1) },
  'a text that is too long': { title: 'x'.repeat(1_000_000) },
  'a text of control characters': { title: '\u0001'.repeat(170_000) },
  'an array that is too long': { title: 'x', tags: Array(99_000).fill(1) },
  'an array of objects': { title: 'x', tags: Array(90_000).fill({}) },
  'objects where a text belongs': { title: Array(90_000).fill({}) },
  'deep arrays': { title: 'x', tags: JSON.parse('['.repeat(30) + ']'.repeat(30)), body: Array(90_000).fill([]) },
};

/** Bodies that are also measured with an `Idempotency-Key`, which requires a fingerprint of the whole body. */
const ALSO_WITH_KEY = ['unknown fields', 'an array that is too long', 'an array of objects'];
const CASES = [
  ...Object.entries(BODIES).map(([name, value]) => ({ name, value, hasKey: false })),
  ...ALSO_WITH_KEY.map((name) => ({ name: `${name}, with a key`, value: BODIES[name], hasKey: true })),
];

/** Returns the CPU time of a refusal in µs, for all threads of the server. */
async function measureCpuTime(server: Child, createRequest: () => LoadRequest, seconds: number): Promise<number> {
  const before = await server.call<number>('cpu');
  const { requests } = await runLoad(server.url, createRequest, { connections: 1, seconds });
  return ((await server.call<number>('cpu')) - before) / requests;
}

/** Compares the cost of refusing a body with the cost of receiving and parsing it in a bare server. */
export const rejectionCost: Group = {
  name: 'http',
  async run(bench) {
    if (!bench.isRequested('http.reject-cost')) return [];
    const belfry = await startBelfry(bench, 'web');
    const jsonParser = await bench.children.start(new URL('../baselines/json-parser.ts', import.meta.url), {});
    const ratios: [string, number][] = [];
    for (const { name, value, hasKey } of CASES) {
      bench.logProgress(`http.reject-cost: ${name} …`);
      const request: LoadRequest = {
        method: 'POST',
        path: '/api/articles',
        token: getSessionToken(0),
        body: JSON.stringify(value),
        status: 422,
      };
      const createRequest = () => (hasKey ? { ...request, idempotencyKey: randomUUID() } : request);
      for (const server of [belfry, jsonParser]) await measureCpuTime(server, createRequest, bench.seconds / 2);
      const costs = await runInterleaved(
        {
          refuse: () => measureCpuTime(belfry, createRequest, bench.seconds / 2),
          parse: () => measureCpuTime(jsonParser, createRequest, bench.seconds / 2),
        },
        bench.reps,
      );
      ratios.push([name, median(costs.refuse.map((cost, round) => cost / costs.parse[round]!))]);
    }
    await Promise.all([belfry.stop(), jsonParser.stop()]);
    const sorted = ratios.toSorted(([, a], [, b]) => b - a);
    const note = sorted.map(([name, ratio]) => `${name} ${ratio.toFixed(2)}`).join(', ');
    return [{ name: 'http.reject-cost', value: sorted[0]![1], unit: '×', note: `the worst of: ${note}` }];
  },
};
