// Measures the cost of a page in rows that Postgres reads, taken from the plan of the statement that was sent.
import pg from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ROWS = 20_000;
const LIMIT = 20;
const entry = defineResource('entry', {
  fields: {
    title: f.string().sortable().searchable(),
    views: f.integer().sortable(),
    due: f.date().sortable().filterable(),
    category: f.string().filterable(),
    summary: f.text().sortable(),
    labels: f.array(f.string()).searchable(),
    author: f.ref('user').owner().filterable(),
  },
  policies: { list: 'owner | admin' },
  indexes: [{ fields: ['category', '-createdAt'] }],
});
const ranked = defineResource('ranked', {
  fields: { rank: f.integer(), name: f.string().max(50).filterable(), author: f.ref('user').owner() },
  policies: { list: 'owner | admin' },
  defaultSort: '-rank,name',
});
const { person, env } = await startTestApp({ resources: [defineUser(), entry, ranked] });
const [ann, admin] = [await person('Ann'), await person('Root', ['user', 'admin'])];
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const author = `case when n % 20 = 0 then $1 else 'f00000000000000000000000' end`;
const id = `lpad(to_hex(n), 24, '0')`;
const time = `now() - n * interval '1 minute'`;
await client.query(
  `insert into entries (id, title, views, due, category, author, summary, labels, created_at, updated_at)
   select ${id}, 'Entry ' || n % 5000 || case when n % 4000 = 7 then ' carillon' else '' end, nullif(n % 1000, 0),
     case when n % 2 = 0 then ${time} end, 'c' || n % 50, ${author},
     case when n % 20 > 0 then 'Summary ' || n % 5000 || repeat(' more', 200) end,
     array['label ' || n % 100, case when n % 4000 = 9 then 'campanile' else 'plain' end], ${time}, now() - (n * 7919 % ${ROWS}) * interval '1 minute'
   from generate_series(1, ${ROWS}) n`,
  [ann.id],
);
await client.query(
  `insert into rankeds (id, rank, name, author, created_at, updated_at)
   select ${id}, nullif(n % 2000, 0), 'name ' || n % 7, ${author}, ${time}, ${time} from generate_series(1, ${ROWS}) n`,
  [ann.id],
);
await client.query('vacuum analyze entries');
await client.query('vacuum analyze rankeds');

interface Node {
  Plans?: Node[];
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
}

/** The number of rows that the scans of a plan read. */
function rowsRead(node: Node): number {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  const below = (node.Plans ?? []).reduce((sum, one) => sum + rowsRead(one), 0);
  return below + (node['Relation Name'] === undefined ? 0 : own);
}

const sent = vi.spyOn(pg.Client.prototype, 'query');

/** Requests a list, and returns the response with the number of rows that its page read. */
async function read(as: typeof ann.call, path: string) {
  sent.mockClear();
  const { status, body } = await as('GET', path);
  expect([status, body.error]).toEqual([200, undefined]);
  const statements = sent.mock.calls.map(([one]) => one as unknown as { text: string; values: unknown[] });
  const page = statements.find(({ text }) => /order by .* limit/.test(text ?? ''))!;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
    `explain (analyze, format json) ${page.text}`,
    page.values,
  );
  return { body, rows: rowsRead(rows[0]!['QUERY PLAN'][0].Plan) };
}

test.each<[string, string, number]>([
  // Last number: rows that are also read because they share a value of the first field. Half of all records have no `due`.
  ['entries', 'sort=-createdAt', 0],
  ['entries', 'sort=createdAt', 0],
  ['entries', 'sort=title', 0],
  ['entries', 'sort=-title', 0],
  ['entries', 'sort=due', 40],
  ['entries', 'sort=-due', 40],
  ['entries', 'sort=summary', 40],
  ['entries', 'sort=-summary', 40],
  ['entries', 'sort=-views,title', 80],
  ['entries', 'sort=views,-createdAt', 80],
  ['entries', 'category=c7&sort=-createdAt', 0],
  ['rankeds', 'count=none', 0],
])('%s?%s: a page reads about as many rows as it returns, wherever it begins', async (path, query, ties) => {
  const list = `/api/${path}?${query}&limit=${LIMIT}`;
  const first = await read(admin.call, list);
  expect(first.rows).toBeLessThanOrEqual(2 * (LIMIT + 1) + ties);
  const total = first.body.meta.total ?? ROWS;
  for (const page of [2, Math.ceil(total / LIMIT / 2), Math.ceil(total / LIMIT) - 2]) {
    const { body } = await admin.call('GET', `${list.replace('count=none', 'x=').replace('x=&', '')}&page=${page}`);
    const behind = await read(admin.call, `${list}&after=${body.meta.next}`);
    expect(behind.body.data).toHaveLength(LIMIT);
    expect([page, behind.rows]).toEqual([page, expect.toSatisfy((rows: number) => rows <= 3 * (LIMIT + 1) + 2 * ties)]);
  }
});

test.each(['entries?', 'rankeds?', 'entries?sort=createdAt&'])(
  "%s: a page of an owner reads only the owner's records",
  async (path) => {
    const list = `/api/${path}limit=${LIMIT}`;
    const first = await read(ann.call, list);
    expect(first.body.meta.total).toBe(ROWS / 20);
    expect(first.rows).toBeLessThanOrEqual(LIMIT);
    const { body } = await ann.call('GET', `${list}&page=40`);
    expect((await read(ann.call, `${list}&after=${body.meta.next}`)).rows).toBeLessThanOrEqual(2 * (LIMIT + 1));
  },
);

test('a search of three letters or more reads only the matching rows', async () => {
  const { body, rows } = await read(admin.call, '/api/entries?q=CARILLON');
  expect([body.meta.total, rows <= 5 * 2]).toEqual([5, true]);
});

test('a search in arrays reads only the matching rows', async () => {
  const { body, rows } = await read(admin.call, '/api/entries?q=CAMPANILE');
  expect([body.meta.total, rows <= 5 * 2]).toEqual([5, true]);
});
