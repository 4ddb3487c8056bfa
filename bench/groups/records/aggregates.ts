import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { createRatio, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { type LoadRequest, runLoad } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { resetDatabase, withClient } from '../../setup/database.ts';
import { ARTICLES, getSessionToken } from '../../setup/seed.ts';

const ROWS = 100_000;
const FIGURE = 'aggregates.group';

const AGGREGATE: LoadRequest = {
  method: 'GET',
  path: '/api/articles/aggregate?group=category&count&sum=views',
  token: getSessionToken(0),
  status: 200,
};

/** Adds copies of the seeded articles. */
async function fillArticles(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    await client.query(
      `insert into articles (id, title, body, category, status, tags, views, author, created_at, updated_at)
       select 'd' || lpad(to_hex(n), 10, '0') || substr(id, 12), title, body, category, status, tags, views, author, created_at, updated_at
       from articles cross join generate_series(1, $1::int) n`,
      [ROWS / ARTICLES - 1],
    );
    await client.query('vacuum analyze articles');
  });
}

async function readGroups(url: string): Promise<unknown> {
  const { body } = await request(url + AGGREGATE.path, { headers: { authorization: `Bearer ${AGGREGATE.token}` } });
  return body.json();
}

/** Compares counts and sums by a field over 100,000 rows: Belfry and the handwritten API, one request at a time. */
export const recordsAggregates: Group = {
  name: 'aggregates',
  async run(bench) {
    if (!bench.isRequested(FIGURE)) return [];
    bench.logProgress(`${FIGURE} …`);
    const { databaseUrl } = bench.servers;
    await fillArticles(databaseUrl);
    const belfry = await startBelfry(bench, 'web');
    const program = new URL('../../baselines/handwritten-api.ts', import.meta.url);
    const handwritten = await bench.children.start(program, { DATABASE_URL: databaseUrl, NODE_ENV: 'production' });
    if (!isDeepStrictEqual(await readGroups(belfry.url), await readGroups(handwritten.url)))
      throw new Error('The servers return different aggregates');
    const createRun = (url: string) => () => runLoad(url, () => AGGREGATE, { connections: 1, seconds: bench.seconds });
    const runs = { belfry: createRun(belfry.url), handwritten: createRun(handwritten.url) };
    await Promise.all(Object.values(runs).map((run) => run()));
    const results = await runInterleaved(runs, bench.reps);
    await Promise.all([belfry.stop(), handwritten.stop()]);
    await resetDatabase(databaseUrl);
    // The median of each round, which other load on the machine hardly affects.
    const getSpeeds = (side: keyof typeof runs) => results[side].map(({ p50 }) => 1000 / p50);
    const formatTime = (side: keyof typeof runs) => `${median(results[side].map(({ p50 }) => p50)).toFixed(1)} ms`;
    const note = `p50 ${formatTime('belfry')} to ${formatTime('handwritten')}; count and sum by a field, 100,000 rows`;
    return [createRatio(FIGURE, getSpeeds('belfry'), getSpeeds('handwritten'), note)];
  },
};
