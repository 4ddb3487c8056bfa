import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { type LoadRequest, runLoad } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import type { Child } from '../../setup/children.ts';
import { withOwnDatabase } from '../../setup/database.ts';
import { createBelfryEnvironment } from '../../setup/environment.ts';
import { fillRelatedDatabase, ORGANISATIONS, RELATED_ADMIN } from '../../setup/related-database.ts';
import { getSessionToken } from '../../setup/seed.ts';

const CONNECTIONS = 20;
const SIDES = ['belfry', 'handwritten'] as const;

type Servers = Record<(typeof SIDES)[number], Child>;

const createGet = (path: string, user: number): LoadRequest => ({
  method: 'GET',
  path: `/api/${path}&limit=20`,
  token: getSessionToken(user),
  status: 200,
});

const nameOf = (at: number) => encodeURIComponent(`Organisation ${(at * 37) % ORGANISATIONS}`);

/** Requests without a total, by figure. `.count` adds the exact total. */
const LISTS: Record<string, { note: string; createRequest: (at: number, count: string) => LoadRequest }> = {
  'records.related.filter': {
    note: 'tickets whose organisation has a plan that half of them have',
    createRequest: (_at, count) => createGet(`tickets?organisation.plan=paid&count=${count}`, RELATED_ADMIN),
  },
  'records.related.filter.rare': {
    note: 'tickets whose organisation has a plan that 1 of 100 has',
    createRequest: (_at, count) => createGet(`tickets?organisation.plan=trial&count=${count}`, RELATED_ADMIN),
  },
  'records.related.filter.one': {
    note: 'the 100 tickets of an organisation, by its name',
    createRequest: (at, count) => createGet(`tickets?organisation.name=${nameOf(at)}&count=${count}`, RELATED_ADMIN),
  },
  'records.related.path': {
    note: 'the 200 comments of an organisation, by its name, over two references',
    createRequest: (at, count) =>
      createGet(`comments?ticket.organisation.name=${nameOf(at)}&count=${count}`, RELATED_ADMIN),
  },
  'records.related.scope': {
    note: 'the 500 tickets of the organisations of which the viewer is a member, by the scope',
    createRequest: (at, count) => createGet(`tickets?count=${count}`, at % RELATED_ADMIN),
  },
  'records.related.reverse': {
    note: 'organisations that have an open ticket, as 9 of 10 have',
    createRequest: (_at, count) => createGet(`organisations?tickets.status=open&count=${count}`, RELATED_ADMIN),
  },
  'records.related.reverse.rare': {
    note: 'organisations that have an escalated ticket, as 1 of 50 has',
    createRequest: (_at, count) => createGet(`organisations?tickets.status=escalated&count=${count}`, RELATED_ADMIN),
  },
};

const REQUESTS = Object.fromEntries(
  Object.entries(LISTS).flatMap(([name, { note, createRequest }]) => [
    [name, { note, createRequest: (at: number) => createRequest(at, 'none') }],
    [`${name}.count`, { note: `${note}, with the total`, createRequest: (at: number) => createRequest(at, 'exact') }],
  ]),
);

async function getBody(server: Child, { path, token }: LoadRequest): Promise<unknown> {
  const { body } = await request(server.url + path, { headers: { authorization: `Bearer ${token}` } });
  // Both sides have a cursor, each in its own form.
  return JSON.parse(await body.text(), (key, value) => (key === 'next' ? value !== null : value));
}

/** @throws if the responses differ or are empty: then one side does less work, and its speed means nothing */
async function assertSameResponses(servers: Servers, name: string): Promise<void> {
  const request = REQUESTS[name]!.createRequest(0);
  const [belfry, handwritten] = await Promise.all(SIDES.map((side) => getBody(servers[side], request)));
  if (!isDeepStrictEqual(belfry, handwritten) || (belfry as { data: unknown[] }).data.length === 0)
    throw new Error(`The servers return different responses to ${name}: ${JSON.stringify([belfry, handwritten])}`);
}

async function measure(bench: Bench, servers: Servers, name: string): Promise<Figure> {
  const { note, createRequest } = REQUESTS[name]!;
  await assertSameResponses(servers, name);
  let sent = 0;
  const createRun = (side: keyof Servers, seconds: number) => () =>
    runLoad(servers[side].url, () => createRequest(sent++), { connections: CONNECTIONS, seconds });
  for (const side of SIDES) await createRun(side, bench.warmUpSeconds)();
  const results = await runInterleaved(
    { belfry: createRun('belfry', bench.seconds), handwritten: createRun('handwritten', bench.seconds) },
    bench.reps,
  );
  const getSpeeds = (side: keyof Servers) => results[side].map((result) => result.perSecond);
  const formatTime = (side: keyof Servers) => median(results[side].map((result) => result.p50)).toFixed(1);
  const times = `p50 ${formatTime('belfry')} ms to ${formatTime('handwritten')} ms`;
  return createRatio(name, getSpeeds('belfry'), getSpeeds('handwritten'), `${times}; ${note}`);
}

async function measureAll(bench: Bench, names: readonly string[]): Promise<Figure[]> {
  await fillRelatedDatabase(bench.servers);
  const servers: Servers = {
    belfry: await bench.children.start(
      new URL('../../processes/related.ts', import.meta.url),
      createBelfryEnvironment(bench.servers, 'web'),
    ),
    handwritten: await bench.children.start(new URL('../../baselines/related.ts', import.meta.url), {
      DATABASE_URL: bench.servers.databaseUrl,
      NODE_ENV: 'production',
    }),
  };
  const figures: Figure[] = [];
  for (const name of names) {
    bench.logProgress(`${name} …`);
    figures.push(await measure(bench, servers, name));
  }
  await Promise.all(SIDES.map((side) => servers[side].stop()));
  return figures;
}

/** Compares lists that follow relations: Belfry, and an API with hand-written SQL, each in its own process. */
export const recordsRelated: Group = {
  name: 'records',
  async run(bench) {
    const names = Object.keys(REQUESTS).filter((name) => bench.isRequested(name));
    if (names.length === 0) return [];
    bench.logProgress('records.related: filling the tables …');
    return withOwnDatabase(bench, 'related', (own) => measureAll(own, names));
  },
};
