// Lists of more records than a capped total counts and than a bounded search examines.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { openDatabase } from '../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { isServedByTrigrams } from '../../../src/records/fields/index-expressions.ts';
import { SEARCH_WINDOW_ROWS } from '../../../src/records/query/sql/search-window.ts';
import { createRangeSweep } from '../../../src/records/ranges/sweep.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';

const ROWS = 30_000;
const CAP = 10_000;

const fields = () => ({
  title: f.string().searchable().sortable(),
  labels: f.array(f.string()).searchable(),
  place: f.integer().sortable(),
  note: f.string().searchable().visibleTo('admin'),
  kind: f.string().filterable(),
  author: f.ref('user').owner(),
});
const open = { list: 'public', read: 'public' } as const;
const entry = defineResource('entry', { fields: fields(), policies: open });
const own = defineResource('own', { fields: fields(), policies: { list: 'owner | admin' } });
const capped = defineResource('capped', { fields: fields(), policies: open, pagination: { count: 'capped' } });
const kept = defineResource('kept', { fields: fields(), policies: open, softDelete: true });
const { app, call, person, env } = await startTestApp({
  resources: [defineUser(), entry, own, capped, kept],
  extensions: [softDelete()],
  settings: { pagination: { maxLimit: 1000 } },
});
const [ann, admin] = [await person('Ann'), await person('Root', ['user', 'admin'])];

// From the newest to the oldest record, n counts from 1. Few titles contain "zq": the newest, one in the middle and the oldest. Few titles
// contain "jw", among them that of the last row of a search window.
const MATCHING = [1, 15_000, 21_000, 29_000, ROWS];
const MATCHING_AT_WINDOW_END = [5_000, 12_000, SEARCH_WINDOW_ROWS, 25_000];
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
for (const table of ['entries', 'owns', 'cappeds', 'kepts']) {
  await client.query(
    `insert into ${table} (id, title, labels, place, note, kind, author, created_at, updated_at)
     select lpad(to_hex(n), 24, '0'), 'Entry ' || n || case when n = any($1) then ' ZQ' else '' end || case when n = any($3) then ' JW' else '' end,
       case when n % 10000 = 5 then array['x', 'vw', 'y'] end, case when n % 3 > 0 then n % 500 end, case when n = 7 then 'kx' end,
       'k' || n % 50, case when n % 3000 = 0 then $2 else 'f00000000000000000000000' end, time, time
     from generate_series(1, ${ROWS}) n, lateral (select now() - n * interval '1 minute' as time) t`,
    [MATCHING, ann.id, MATCHING_AT_WINDOW_END],
  );
  await client.query(`vacuum analyze ${table}`);
}

const lpadId = (n: number) => n.toString(16).padStart(24, '0');
const numberOf = ({ id }: { id: string }) => Number.parseInt(id, 16);

/** Requests a list. Returns its numbers and metadata. */
async function list(query: string, as = call, path = 'entries') {
  const { status, body } = await as('GET', `/api/${path}?${query}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return { numbers: body.data.map(numberOf) as number[], meta: body.meta };
}

describe('count=capped', () => {
  test('counts up to 10,000 records and then reports that the total is capped', async () => {
    const { meta } = await list('count=capped&limit=50');
    expect(meta).toEqual({ total: CAP, totalCapped: true, page: 1, limit: 50, pages: 200, next: expect.any(String) });
    expect((await list('limit=50')).meta.total).toBe(ROWS);
  });

  test('returns the exact total of up to 10,000 records', async () => {
    const { meta } = await list('count=capped&kind=k7&limit=500');
    expect(meta).toEqual({ total: 600, page: 1, limit: 500, pages: 2, next: expect.any(String) });
    expect((await list('count=capped&kind=k7&limit=500&page=2')).meta).not.toHaveProperty('next');
    const title = 'q=Entry%201&count=capped';
    expect((await list(title)).meta).toMatchObject({ total: CAP, totalCapped: true });
  });

  test('counts only records that the viewer may list', async () => {
    expect((await list('count=capped', ann.call, 'owns')).meta).toEqual({ total: 10, page: 1, limit: 20, pages: 1 });
    expect((await list('count=capped', admin.call, 'owns')).meta.totalCapped).toBe(true);
    // The note of record 7 is visible to admins only.
    expect((await list('count=capped&q=kx')).meta.total).toBe(0);
    expect((await list('count=capped&q=kx', admin.call)).meta.total).toBe(1);
  });

  test('numbered pages continue beyond the cap, up to the end of the list', async () => {
    const { numbers, meta } = await list('count=capped&limit=1000&page=20');
    expect([numbers[0], numbers.length, meta.total, meta.totalCapped]).toEqual([19_001, 1000, CAP, true]);
    expect(meta.next).toBeTypeOf('string');
    const last = await list('count=capped&limit=1000&page=30');
    expect([last.numbers.at(-1), last.meta.next]).toEqual([ROWS, undefined]);
    expect((await list('count=capped&limit=1000&page=31')).numbers).toEqual([]);
    expect((await list('count=capped&kind=k7&limit=1000&page=1000')).numbers).toEqual([]);
  });

  test('after a cursor there is no total, whatever count says', async () => {
    const { meta } = await list('count=capped&limit=5');
    for (const count of ['exact', 'capped', 'none']) {
      const next = await list(`count=${count}&limit=5&after=${meta.next}`);
      expect([next.numbers, next.meta]).toEqual([[6, 7, 8, 9, 10], { limit: 5, next: expect.any(String) }]);
    }
  });

  test('is the default of a resource that declares it, for clients but not for code', async () => {
    expect((await list('', call, 'cappeds')).meta.totalCapped).toBe(true);
    expect((await list('count=exact', call, 'cappeds')).meta.total).toBe(ROWS);
    expect((await list('count=none', call, 'cappeds')).meta).not.toHaveProperty('total');
    expect((await app.service('capped').list({})).meta.total).toBe(ROWS);
    const { meta } = await app.service('capped').list({ count: 'capped' });
    expect([meta.total, meta.totalCapped]).toEqual([CAP, true]);
  });
});

describe('a page deep in a list', () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  afterAll(() => sent.mockRestore());
  /** The page statements that a request sent. */
  async function statementsOf(query: string) {
    sent.mockClear();
    const page = await list(query);
    const statements = sent.mock.calls.map(([one]) => one as unknown as { text?: string; values: unknown[] });
    return { ...page, statements: statements.filter(({ text }) => text?.includes('offset')) };
  }

  test.each(['', 'place', '-place', '-title,place', 'place,-title', 'updatedAt'])(
    'holds the same records whichever end it is read from: sort=%s',
    async (sort) => {
      const all = await app.service('entry').list({ ...(sort === '' ? {} : { sort }), limit: 1000, page: 1 });
      expect(all.data).toHaveLength(1000);
      const { rows } = await client.query<{ id: string }>(
        `select id from entries order by ${
          { '': 'created_at desc, id desc', updatedAt: 'updated_at, id' }[sort] ??
          sort
            .split(',')
            .map((term) => (term.startsWith('-') ? `${term.slice(1)} desc` : term))
            .join(', ')
            .concat(sort.split(',').at(-1)!.startsWith('-') ? ', id desc' : ', id')
        }`,
      );
      const order = rows.map(numberOf);
      for (const page of [12, 31, 400, 700, 1200]) {
        const query = `limit=25&page=${page}${sort === '' ? '' : `&sort=${sort}`}`;
        for (const count of ['exact', 'capped', 'none']) {
          const { numbers } = await list(`${query}&count=${count}`);
          expect([count, page, numbers]).toEqual([count, page, order.slice((page - 1) * 25, page * 25)]);
        }
      }
    },
  );

  test('skips from the nearer end if the total is known', async () => {
    const { statements, meta } = await statementsOf('limit=7&page=4000');
    expect(statements).toHaveLength(1);
    expect(statements[0]!.values).toContain(ROWS - 4000 * 7);
    expect(meta).toEqual({ total: ROWS, page: 4000, limit: 7, pages: 4286, next: expect.any(String) });
    const last = await statementsOf('limit=7&page=4286');
    expect([last.numbers, last.meta.next]).toEqual([[29_996, 29_997, 29_998, 29_999, ROWS], undefined]);
  });

  test('reads the skipped rows from the index only', async () => {
    for (const count of ['exact', 'none']) {
      const { statements } = await statementsOf(`limit=20&page=600&count=${count}`);
      const { text, values } = statements[0]!;
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index Only Scan (Backward )?using entries_created_at_index/);
      expect(plan).not.toMatch(/Seq Scan/);
    }
  });
});

describe('a search for one or two letters', () => {
  test('without a bound finds every matching record, without the search index', async () => {
    const { numbers, meta } = await list('q=zq');
    expect([numbers, meta]).toEqual([MATCHING, { total: 5, page: 1, limit: 20, pages: 1 }]);
    expect((await list('q=vw')).numbers).toEqual([5, 10_005, 20_005]);
    const { rows } = await client.query(`explain select from entries where ("title" ilike '%zq%') is true`);
    expect(JSON.stringify(rows)).not.toContain('search_index');
  });

  test.each(['capped', 'none'])('with count=%s examines 20,000 records per page; a cursor continues', async (count) => {
    const total = count === 'capped' ? { total: 2, totalCapped: true, page: 1, pages: 1 } : {};
    const first = await list(`q=zq&count=${count}`);
    expect(first.numbers).toEqual([1, 15_000]);
    expect(first.meta).toEqual({ ...total, limit: 20, next: expect.any(String), truncated: true });
    const second = await list(`q=zq&count=${count}&after=${first.meta.next}`);
    expect([second.numbers, second.meta]).toEqual([[21_000, 29_000, ROWS], { limit: 20, next: null }]);
  });

  test.each(['-createdAt', 'createdAt', 'place', '-place', 'place,-title'])(
    'following the cursors finds every match once: sort=%s',
    async (sort) => {
      for (const [q, expected] of [
        ['zq', MATCHING],
        ['vw', [5, 10_005, 20_005]],
        ['jw', MATCHING_AT_WINDOW_END],
      ] as const) {
        for (const limit of [1, 2, 20]) {
          const found: number[] = [];
          let after = '';
          for (let next: string | null | undefined = ''; next !== null && next !== undefined; ) {
            const page = await list(`q=${q}&count=capped&limit=${limit}&sort=${sort}${after}`);
            found.push(...page.numbers);
            next = page.meta.next;
            after = `&after=${next}`;
          }
          expect(found.toSorted((a, b) => a - b)).toEqual(expected);
          const all = await app.service('entry').list({ q, sort });
          expect(found).toEqual(all.data.map(numberOf));
        }
      }
    },
  );

  test('a page full of matches ends after the last of them, not after the examined records', async () => {
    const first = await list('q=en&count=none&limit=3');
    expect([first.numbers, first.meta]).toEqual([[1, 2, 3], { limit: 3, next: expect.any(String) }]);
    expect((await list(`q=en&count=none&limit=3&after=${first.meta.next}`)).numbers).toEqual([4, 5, 6]);
    expect((await list('q=en&count=capped&limit=3')).meta).toMatchObject({ total: CAP, totalCapped: true });
  });

  test('numbered pages stay within the first examined records', async () => {
    expect((await list('q=zq&count=capped&limit=1&page=2')).numbers).toEqual([15_000]);
    const third = await list('q=zq&count=capped&limit=1&page=3');
    expect([third.numbers, third.meta.total, third.meta.truncated]).toEqual([[], 2, true]);
    expect((await list(`q=zq&count=capped&limit=1&after=${third.meta.next}`)).numbers).toEqual([21_000]);
  });

  test.each(['capped', 'none'])('with count=%s no two pages hold the last record of the window', async (count) => {
    for (const limit of [1, 2, 3, 5]) {
      const found: number[] = [];
      for (let page = 1; page <= 4; page++) {
        const { numbers, meta } = await list(`q=jw&count=${count}&limit=${limit}&page=${page}`);
        expect(meta.truncated ?? false).toBe(page * limit > 3);
        found.push(...numbers);
        if (page * limit > 3) expect((await list(`q=jw&limit=5&after=${meta.next}`)).numbers).toEqual([25_000]);
      }
      expect([limit, found]).toEqual([limit, MATCHING_AT_WINDOW_END.slice(0, 3)]);
    }
  });

  test('is exact in a list of at most as many records as it examines', async () => {
    const { meta, numbers } = await list('q=zq&kind=k0&count=capped', call);
    expect([numbers, meta]).toEqual([[15_000, 21_000, 29_000, ROWS], { total: 4, page: 1, limit: 20, pages: 1 }]);
    const mine = await list('q=zq&count=capped', ann.call, 'owns');
    expect([mine.numbers, mine.meta]).toEqual([[15_000, 21_000, ROWS], { total: 3, page: 1, limit: 20, pages: 1 }]);
  });

  test('by code finds every match, whatever count says', async () => {
    for (const count of ['capped', 'none'] as const) {
      const { data } = await app.service('entry').list({ q: 'zq', count });
      expect(data.map(numberOf)).toEqual(MATCHING);
    }
    expect(await app.service('entry').count({ q: 'zq' })).toBe(5);
  });

  test('examines as many records as the documentation says', () => expect(SEARCH_WINDOW_ROWS).toBe(20_000));
});

test('lists of deleted records together with the others have the same bounds', async () => {
  const asAdmin = admin.call;
  const path = 'kepts';
  const recordPath = (n: number) => `/api/${path}/${n.toString(16).padStart(24, '0')}`;
  for (const n of [15_000, 29_990]) expect((await asAdmin('DELETE', recordPath(n))).status).toBe(204);
  const search = 'q=zq&deleted=with&count=capped';
  const first = await list(search, asAdmin, path);
  expect([first.numbers, first.meta.total, first.meta.totalCapped]).toEqual([[1, 15_000], 2, true]);
  expect((await list(`${search}&after=${first.meta.next}`, asAdmin, path)).numbers).toEqual([21_000, 29_000, ROWS]);
  expect((await list('q=zq&deleted=only&count=capped', asAdmin, path)).meta.total).toBe(1);
  for (const count of ['exact', 'capped', 'none']) {
    const { numbers } = await list(`deleted=with&limit=5&page=5998&count=${count}`, asAdmin, path);
    expect([count, numbers]).toEqual([count, [29_986, 29_987, 29_988, 29_989, 29_990]]);
  }
  expect((await list('limit=5&page=5998', asAdmin, path)).numbers).toEqual([29_987, 29_988, 29_989, 29_991, 29_992]);
});

test.each(['bel', 'Löwe', 'a bc', ' a', 'ab ', 'ab-', '-a', 'a b', '日本語'])(
  'the search index finds "%s"',
  async (text) => {
    expect(isServedByTrigrams(text)).toBe(true);
    // Postgres reads nothing but the index entries of the text, so rows without it are not checked again.
    await client.query('set enable_seqscan = off');
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, costs off) select from entries where title ilike '%${text}%'`,
    );
    await client.query('reset enable_seqscan');
    expect(rows.map((row) => row['QUERY PLAN']).join()).not.toContain(`Rows Removed by Index Recheck: ${ROWS}`);
  },
);

test.each(['', 'b', 'be', '-', '--- ---', 'a-', '%_', '日本'])('the search index cannot find "%s"', (text) => {
  expect(isServedByTrigrams(text)).toBe(false);
});

test.each(['', 'all', 'exact,none', 'Exact', 'true'])('count=%s is refused with the possible values', async (count) => {
  const { status, body } = await call('GET', `/api/entries?count=${count}`);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  expect(body.error.message).toBe('The query parameter "count" can only be "exact", "capped" or "none"');
});

describe('a list whose rows are counted in ranges', () => {
  const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
  afterAll(() => database.close());
  const watchStatements = () => vi.spyOn(pg.Client.prototype, 'query');
  let sent: ReturnType<typeof watchStatements>;
  beforeAll(() => {
    sent = watchStatements();
  });
  afterAll(() => sent.mockRestore());
  const countRangeStatements = () =>
    sent.mock.calls.filter(([one]) => (one as unknown as { text?: string }).text?.includes('record_ranges')).length;
  const listIds = async (order: string) =>
    (await client.query<{ id: string }>(`select id from entries order by ${order}`)).rows.map(numberOf);

  test('has the exact total and the same pages, read from the ranges', async () => {
    const sweep = createRangeSweep(database, compileResources([entry, own], 'reject'));
    // Transactions of other tests hold the sweep up.
    await vi.waitUntil(
      async () => {
        await sweep.run();
        return (await client.query(`select from ranged_tables where until > '-infinity'`)).rowCount === 2;
      },
      { timeout: 20_000 },
    );
    // The app has found no ranges before, and tries again after a while.
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
    onTestFinished(() => void clock.mockRestore());
    expect((await list('')).meta.total).toBe(ROWS);
    const created = (await app.service('entry').create({ title: 'Newest' })).id;
    await app.service('entry').delete(lpadId(20_000));
    await client.query(`delete from entries where id = any($1)`, [[7, 8, 15_000, 29_999].map(lpadId)]);
    const total = ROWS - 4;
    const orders = { '': 'created_at desc, id desc', createdAt: 'created_at, id' };
    for (const [sort, order] of Object.entries(orders)) {
      const expected = await listIds(order);
      for (const page of [1, 2, 402, 700, 1199, 1200, 1201]) {
        for (const count of ['exact', 'capped', 'none']) {
          const { numbers, meta } = await list(`limit=25&page=${page}&count=${count}${sort && `&sort=${sort}`}`);
          expect([page, count, numbers]).toEqual([page, count, expected.slice((page - 1) * 25, page * 25)]);
          if (count === 'exact') expect(meta.total).toBe(total);
        }
      }
    }
    expect(countRangeStatements()).toBeGreaterThan(20);
    await app.service('entry').delete(created);
  });

  test('counts the writes of a transaction for its own reads only, and none that are rolled back', async () => {
    const before = (await list('')).meta.total;
    const failed = app.transaction(async (tx) => {
      await tx.service('entry').delete(lpadId(100));
      expect(await tx.service('entry').count({})).toBe(before - 1);
      expect((await list('')).meta.total).toBe(before);
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect((await list('')).meta.total).toBe(before);
  });

  test('is counted row by row for viewers who may list only some of the rows', async () => {
    sent.mockClear();
    expect((await list('', ann.call, 'owns')).meta.total).toBe(10);
    expect((await list('kind=k7')).meta.total).toBeLessThan(ROWS);
    expect(countRangeStatements()).toBe(0);
  });

  test('is counted row by row once the ranges are gone', async () => {
    const before = (await list('')).meta.total;
    await client.query(`delete from ranged_tables`);
    const { numbers, meta } = await list('limit=7&page=2000');
    expect([numbers.length, meta.total]).toEqual([7, before]);
  });
});
