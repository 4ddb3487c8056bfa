import { request } from 'undici';
import { ROWS, type Size } from '../../apps/scale.ts';
import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { type LoadRequest, runLoad } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import type { Child } from '../../setup/children.ts';
import { withOwnDatabase } from '../../setup/database.ts';
import { createBelfryEnvironment } from '../../setup/environment.ts';
import {
  ADMIN,
  fillScaleDatabase,
  MATCHING_RECORDS,
  RECORDS_PER_OWNER,
  SEARCHED_WORD,
} from '../../setup/scale-database.ts';
import { getSessionToken } from '../../setup/seed.ts';

const PAGE = 10_000;
const LIMIT = 20;
const MAX_SECONDS = 1;

const createGet = (path: string, user: number): LoadRequest => ({
  method: 'GET',
  path,
  token: getSessionToken(user),
  status: 200,
});

/** Returns the cursor of a page, taken from the page itself. */
async function getCursorAfterPage(server: Child, size: Size, page: number): Promise<string> {
  const { path, token } = createGet(`/api/${size}?limit=${LIMIT}&page=${page}`, ADMIN);
  const { body } = await request(server.url + path, { headers: { authorization: `Bearer ${token}` } });
  return ((await body.json()) as { meta: { next: string } }).meta.next;
}

/** Creates the same request to both tables, of the user who sees all records. */
const requestAll = (query: string) => async (_server: Child, size: Size) =>
  createGet(`/api/${size}?limit=${LIMIT}&${query}`, ADMIN);

/** The requests sent to both tables, by figure. */
const LIST_REQUESTS: Record<
  string,
  { note: string; createRequest: (server: Child, size: Size) => Promise<LoadRequest> }
> = {
  'records.scale.page': {
    note: `first page of an owner's ${RECORDS_PER_OWNER} records, with the total`,
    createRequest: async (_server, size) => createGet(`/api/${size}?limit=${LIMIT}`, 0),
  },
  'records.scale.cursor': {
    note: `page ${PAGE} of many (page 250 of few), by cursor`,
    async createRequest(server, size) {
      const before = size === 'many' ? PAGE - 1 : ROWS.few / LIMIT / 2 - 1;
      return createGet(`/api/${size}?limit=${LIMIT}&after=${await getCursorAfterPage(server, size, before)}`, ADMIN);
    },
  },
  'records.scale.search': {
    note: `q that finds ${MATCHING_RECORDS} of all, with the total`,
    createRequest: requestAll(`q=${SEARCHED_WORD}`),
  },
  'scale.list.total': { note: 'first page of all records, with the exact total', createRequest: requestAll('') },
  'scale.list.capped': { note: 'first page of all records, count=capped', createRequest: requestAll('count=capped') },
  'scale.list.deep': {
    note: 'page at 90% of all records, with the exact total',
    createRequest: async (_server, size) =>
      createGet(`/api/${size}?limit=${LIMIT}&page=${(ROWS[size] / LIMIT) * 0.9}`, ADMIN),
  },
  'scale.list.middle': {
    note: 'page at 50% of all records, with the exact total',
    createRequest: async (_server, size) =>
      createGet(`/api/${size}?limit=${LIMIT}&page=${(ROWS[size] / LIMIT) * 0.5}`, ADMIN),
  },
  'scale.list.short': {
    note: 'q of two letters that no record contains, count=capped',
    createRequest: requestAll('q=zz&count=capped'),
  },
  'scale.list.short.exact': {
    note: 'the same with the exact total',
    createRequest: requestAll('q=zz'),
  },
  'scale.list.updated': {
    note: 'sort=-updatedAt with a declared index, count=none',
    createRequest: requestAll('sort=-updatedAt&count=none'),
  },
};

async function measure(bench: Bench, server: Child, name: string): Promise<Figure> {
  const { note, createRequest } = LIST_REQUESTS[name]!;
  const seconds = Math.min(MAX_SECONDS, bench.seconds);
  const createRun = async (size: Size) => {
    const next = await createRequest(server, size);
    const run = () => runLoad(server.url, () => next, { connections: 1, seconds });
    await run();
    return run;
  };
  const results = await runInterleaved({ few: await createRun('few'), many: await createRun('many') }, bench.reps);
  // The median of each round, which other load on the machine hardly affects.
  const getSpeeds = (size: Size) => results[size].map((result) => 1000 / result.p50);
  const formatTime = (size: Size) => `${median(results[size].map((result) => result.p50)).toFixed(2)} ms`;
  return createRatio(
    name,
    getSpeeds('few'),
    getSpeeds('many'),
    `${formatTime('many')} to ${formatTime('few')}; ${note}`,
  );
}

async function measureAll(bench: Bench, names: readonly string[]): Promise<Figure[]> {
  await fillScaleDatabase(bench.servers);
  const program = new URL('../../processes/scale.ts', import.meta.url);
  const server = await bench.children.start(program, createBelfryEnvironment(bench.servers, 'web'));
  const figures: Figure[] = [];
  for (const name of names) {
    bench.logProgress(`${name} …`);
    figures.push(await measure(bench, server, name));
  }
  await server.stop();
  return figures;
}

/** Compares the time of a list on 1,000,000 rows with the same list on 10,000, one request at a time. */
export const recordsScale: Group = {
  name: 'scale',
  async run(bench) {
    const names = Object.keys(LIST_REQUESTS).filter((name) => bench.isRequested(name));
    if (names.length === 0) return [];
    bench.logProgress('scale: filling 1,000,000 rows …');
    return withOwnDatabase(bench, 'scale', (own) => measureAll(own, names));
  },
};
