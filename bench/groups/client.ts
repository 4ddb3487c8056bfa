import { createClient } from '../../packages/client/src/index.ts';
import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import { measureBundle } from '../measure/bundle-size.ts';
import { median } from '../measure/statistics.ts';
import { startBelfry } from '../setup/belfry.ts';
import { getSessionToken } from '../setup/seed.ts';

/**
 * Sends requests of both sides one after the other, in turns, because the difference is smaller than the noise between longer periods.
 *
 * @returns requests per second
 */
async function measureRates(
  sides: { belfry: () => Promise<unknown>; bare: () => Promise<unknown> },
  seconds: number,
): Promise<{ belfry: number; bare: number }> {
  const elapsed = { belfry: 0, bare: 0 };
  let count = 0;
  const measure = async (name: keyof typeof sides) => {
    const begin = performance.now();
    await sides[name]();
    elapsed[name] += performance.now() - begin;
  };
  for (; elapsed.belfry + elapsed.bare < 2000 * seconds; count += 1) {
    await measure(count % 2 === 0 ? 'belfry' : 'bare');
    await measure(count % 2 === 0 ? 'bare' : 'belfry');
  }
  return { belfry: count / (elapsed.belfry / 1000), bare: count / (elapsed.bare / 1000) };
}

/** Sends a request as a program without the client does. */
async function fetchJson(url: string, token: string): Promise<unknown> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`GET ${url} responded with ${response.status}`);
  return JSON.parse(await response.text());
}

async function compare(
  bench: Bench,
  name: string,
  belfry: () => Promise<unknown>,
  bare: () => Promise<unknown>,
): Promise<Figure> {
  bench.logProgress(`${name} …`);
  const sides = { belfry, bare };
  await measureRates(sides, bench.warmUpSeconds);
  const rates: { belfry: number[]; bare: number[] } = { belfry: [], bare: [] };
  for (let round = 0; round < bench.reps; round += 1) {
    const measured = await measureRates(sides, bench.seconds);
    rates.belfry.push(measured.belfry);
    rates.bare.push(measured.bare);
  }
  const overheadMicros = 1e6 / median(rates.belfry) - 1e6 / median(rates.bare);
  return createRatio(name, rates.belfry, rates.bare, `${Math.round(overheadMicros)} µs a request`);
}

async function measureRequests(bench: Bench): Promise<Figure[]> {
  const server = await startBelfry(bench, 'web');
  const token = getSessionToken(0);
  const articles = createClient({ url: server.url, token }).articles!;
  const { data } = await articles.list();
  const id = data[0]!.id as string;
  const base = `${server.url}/api/articles`;
  const figures = [
    await compare(
      bench,
      'client.get',
      () => articles.get(id),
      () => fetchJson(`${base}/${id}`, token),
    ),
    await compare(
      bench,
      'client.list',
      () => articles.list(),
      () => fetchJson(base, token),
    ),
  ];
  await server.stop();
  return figures;
}

async function measureSizes(): Promise<Figure[]> {
  const use = `import { createClient } from '../../packages/client/src/index.ts'; export const client = createClient();`;
  const { core, later } = await measureBundle(use, import.meta.dirname);
  const bytes = (name: string, value: number, note: string): Figure => ({ name, value, unit: 'bytes', note });
  return [
    bytes('client.size', core, 'what a page loads at first'),
    bytes('client.size.realtime', later['realtime/index.ts']!, 'loaded by the first subscription'),
    bytes('client.size.uploads', later['records/upload-file.ts']!, 'loaded by the first upload'),
  ];
}

/** Measures what `@belfry/client` adds to a request, compared with fetch alone, and its size. */
export const client: Group = {
  name: 'client',
  async run(bench) {
    const isSizeRequested = bench.isRequested('client.size');
    const areRequestsRequested = bench.isRequested('client.get') || bench.isRequested('client.list');
    const figures = [
      ...(areRequestsRequested ? await measureRequests(bench) : []),
      ...(isSizeRequested ? await measureSizes() : []),
    ];
    return figures.filter(({ name }) => bench.isRequested(name));
  },
};
