import { request } from 'undici';
import { ROWS, type Size } from '../../apps/scale.ts';
import { type Bench, type Figure, type Group, ratio } from '../../figure.ts';
import { interleave } from '../../measure/interleave.ts';
import { load, type Shot } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import type { Child } from '../../setup/children.ts';
import { belfryEnvironment } from '../../setup/environment.ts';
import { ADMIN, dropScaleDatabase, FOUND, makeScaleDatabase, OWNED, WORD } from '../../setup/scale-database.ts';
import { tokenOf } from '../../setup/seed.ts';

const PAGE = 10_000;
const LIMIT = 20;
const MAX_SECONDS = 1;

const get = (path: string, user: number): Shot => ({ method: 'GET', path, token: tokenOf(user), status: 200 });

/** Returns the cursor of a page, taken from the page itself. */
async function cursorBehind(server: Child, size: Size, page: number): Promise<string> {
  const { path, token } = get(`/api/${size}?limit=${LIMIT}&page=${page}`, ADMIN);
  const { body } = await request(server.url + path, { headers: { authorization: `Bearer ${token}` } });
  return ((await body.json()) as { meta: { next: string } }).meta.next;
}

/** The requests sent to both tables, by figure. */
const ASKED: Record<string, { note: string; shot: (server: Child, size: Size) => Promise<Shot> }> = {
  page: {
    note: `first page of an owner's ${OWNED} records, with the total`,
    shot: async (_server, size) => get(`/api/${size}?limit=${LIMIT}`, 0),
  },
  cursor: {
    note: `page ${PAGE} of all (250 of few) behind a cursor`,
    async shot(server, size) {
      const before = size === 'many' ? PAGE - 1 : ROWS.few / LIMIT / 2 - 1;
      return get(`/api/${size}?limit=${LIMIT}&after=${await cursorBehind(server, size, before)}`, ADMIN);
    },
  },
  search: {
    note: `q that finds ${FOUND} of all, with the total`,
    shot: async (_server, size) => get(`/api/${size}?limit=${LIMIT}&q=${WORD}`, ADMIN),
  },
};

async function measure(bench: Bench, server: Child, name: string): Promise<Figure> {
  const { note, shot } = ASKED[name]!;
  const seconds = Math.min(MAX_SECONDS, bench.seconds);
  const one = async (size: Size) => {
    const next = await shot(server, size);
    const run = () => load(server.url, () => next, { connections: 1, seconds });
    await run();
    return run;
  };
  const results = await interleave({ few: await one('few'), many: await one('many') }, bench.reps);
  // The median of each round, which other load on the machine hardly affects.
  const speed = (size: Size) => results[size].map((result) => 1000 / result.p50);
  const time = (size: Size) => `${median(results[size].map((result) => result.p50)).toFixed(2)} ms`;
  return ratio(`records.scale.${name}`, speed('few'), speed('many'), `${time('many')} to ${time('few')}; ${note}`);
}

/** Compares the time of a list on 1,000,000 rows with the same list on 10,000, one request at a time. */
export const scale: Group = {
  name: 'records',
  async run(bench) {
    const names = Object.keys(ASKED).filter((name) => bench.wants(`records.scale.${name}`));
    if (names.length === 0) return [];
    bench.say('records.scale: filling 1,000,000 rows …');
    const servers = await makeScaleDatabase(bench.servers);
    const program = new URL('../../processes/scale.ts', import.meta.url);
    const server = await bench.children.start(program, belfryEnvironment(servers, 'web'));
    const figures: Figure[] = [];
    for (const name of names) {
      bench.say(`records.scale.${name} …`);
      figures.push(await measure(bench, server, name));
    }
    await server.stop();
    await dropScaleDatabase(bench.servers);
    return figures;
  },
};
