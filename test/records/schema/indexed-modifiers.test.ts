// unique(), index(), sortable() and searchable() on types for which an index over the plain column does not work.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public' };
const essay = defineResource('essay', {
  fields: {
    body: f.text().unique(),
    about: f.text().sortable().filterable(['eq', 'gt']),
    notes: f.text().index(),
    short: f.text().max(20).unique().sortable(),
    group: f.string(),
    remark: f.text(),
  },
  indexes: [{ fields: ['remark', '-createdAt'] }],
  policies: open,
});
const page = defineResource('page', { fields: { text: f.text().sortable() }, defaultSort: 'text', policies: open });
const list = defineResource('list', {
  fields: {
    tags: f.array(f.string()).searchable(),
    kinds: f.array(f.enum(['Alpha', 'Beta'])).searchable(),
    links: f.array(f.url()).index(),
    numbers: f.array(f.integer()).index(),
    title: f.string().searchable(),
    first: f.boolean().unique(),
  },
  policies: open,
});
const { app, call } = await startTestApp({ resources: [defineUser(), essay, page, list] });

/** A text that does not compress to the size of an index entry. */
const long = (seed: string, length = 40_000) =>
  Array.from({ length }, (_, i) =>
    String.fromCodePoint(0x4e00 + ((i * 7919 + seed.length * 131 + (i % 997) * i) % 20_000)),
  ).join('') + seed;

test('a long text is unique in full: a duplicate responds 409, a text with a different end is accepted', async () => {
  const one = await call('POST', '/api/essays', { body: long('a') });
  expect([one.status, one.body.data.body.length]).toEqual([201, 40_001]);
  const twin = await call('POST', '/api/essays', { body: long('a') });
  expect([twin.status, twin.body.error.code, twin.body.error.details]).toEqual([
    409,
    'CONFLICT',
    { body: 'Is already taken' },
  ]);
  const other = await call('POST', '/api/essays', { body: long('b') });
  expect(other.status).toBe(201);
  const changed = await call('PATCH', `/api/essays/${other.body.data.id}`, { body: long('a') });
  expect(changed.status).toBe(409);
});

test.each([
  ['\\', '\\\\'],
  ['\\x41', 'A'],
  ['\\x41', '\\\\x41'],
  ['\\101', 'A'],
  ['', ' '],
])('the unique texts %j and %j are distinct, and each conflicts with itself', async (a, b) => {
  const group = JSON.stringify([a, b]);
  for (const body of [`${group}${a}`, `${group}${b}`, a, b]) {
    const { status } = await call('POST', '/api/essays', { body });
    // Pairs share texts, so an earlier pair may already have created this one.
    expect([201, 409]).toContain(status);
    expect((await call('POST', '/api/essays', { body })).status).toBe(409);
  }
  expect(
    (await app.service('essay').list({ limit: 100 })).data.filter((one) => one.body === a || one.body === b),
  ).toHaveLength(2);
});

test('of many concurrent creates with the same long text, one succeeds', async () => {
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => call('POST', '/api/essays', { body: long('race') })),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
});

test('a sortable text field accepts texts of any length, and sorts by the first 600 characters, by page and by cursor', async () => {
  const same = long('', 300);
  const texts = [`${same}b`, `${same}a`, 'b', 'a', same, long('x'), `${long('x')}y`, '', `${same}a`];
  expect(same.length).toBeLessThan(600);
  const made = [...texts, undefined, undefined];
  for (const about of made)
    await call('POST', '/api/essays', { group: 'sorted', ...(about !== undefined && { about }) });
  const expected = [...texts].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  for (const [sort, whole] of [
    ['about', [...expected, undefined, undefined]],
    ['-about', [undefined, undefined, ...expected.toReversed()]],
  ] as const) {
    const paged: (string | undefined)[] = [];
    const followed: (string | undefined)[] = [];
    for (let n = 1; n <= 30; n++) {
      const { body } = await call('GET', `/api/essays?sort=${sort}&limit=2&page=${n}`);
      paged.push(
        ...body.data
          .filter((one: { group?: string }) => one.group === 'sorted')
          .map((one: { about?: string }) => one.about),
      );
    }
    for (let after = ''; ; ) {
      const { body } = await call('GET', `/api/essays?sort=${sort}&limit=2${after}`);
      followed.push(
        ...body.data
          .filter((one: { group?: string }) => one.group === 'sorted')
          .map((one: { about?: string }) => one.about),
      );
      if (!body.meta.next) break;
      after = `&after=${body.meta.next}`;
    }
    expect(paged).toEqual(whole);
    expect(followed).toEqual(whole);
  }
  expect((await call('GET', `/api/essays?about=b`)).body.data).toHaveLength(1);
});

test('a cursor walk returns each record once, whatever the texts', async () => {
  const start = 'z'.repeat(599);
  const text = fc.option(
    fc.oneof(fc.constantFrom('', start, `${start}é`, `${start}éa`, `${start}ab`, '𝄞'), fc.string({ maxLength: 3 })),
    { nil: undefined },
  );
  const property = fc.asyncProperty(
    fc.array(text, { maxLength: 8 }),
    fc.constantFrom('text', '-text'),
    async (all, sort) => {
      const service = app.service('page');
      for (const one of (await service.list({ limit: 100 })).data) await service.delete(one.id);
      const storable = all.filter((one) => one === undefined || (!one.includes('\0') && one.isWellFormed()));
      for (const one of storable) await service.create(one === undefined ? {} : { text: one });
      const whole = (await call('GET', `/api/pages?sort=${sort}&limit=100`)).body.data.map(
        ({ id }: { id: string }) => id,
      );
      const seen: string[] = [];
      for (let after = ''; ; ) {
        const { body } = await call('GET', `/api/pages?sort=${sort}&limit=1${after}`);
        seen.push(...body.data.map(({ id }: { id: string }) => id));
        if (!body.meta.next) break;
        after = `&after=${body.meta.next}`;
      }
      expect(seen).toEqual(whole);
      expect(whole).toHaveLength(storable.length);
    },
  );
  await fc.assert(property, { numRuns: scaleRuns(15) });
});

test('an array of texts is searched by the content of its items, case-insensitively, and never across two items', async () => {
  const make = async (record: object) => (await call('POST', '/api/lists', record)).body.data.id;
  const [a, b, c] = [
    await make({ tags: ['Red wine', 'cheese'] }),
    await make({ tags: ['bread'], title: 'Wine list' }),
    await make({ kinds: ['Beta'], tags: [] }),
  ];
  const found = async (q: string) =>
    (await call('GET', `/api/lists?q=${encodeURIComponent(q)}&sort=createdAt`)).body.data.map(
      ({ id }: { id: string }) => id,
    );
  expect(await found('WINE')).toEqual([a, b]);
  expect(await found('hees')).toEqual([a]);
  expect(await found('eta')).toEqual([c]);
  expect(await found('wine\ncheese')).toEqual([]);
  expect(await found('wine cheese')).toEqual([]);
  expect(await found('%')).toEqual([]);
});

test('a text in a declared index is refused if it does not fit into the index', async () => {
  const response = await call('POST', '/api/essays', { remark: long('r') });
  expect([response.status, response.body.error.details]).toEqual([422, { remark: 'Must be at most 2600 bytes' }]);
  expect((await call('POST', '/api/essays', { remark: 'short' })).status).toBe(201);
});

test('a unique boolean can be true once and false once', async () => {
  const statuses = [];
  for (const first of [true, true, false, false]) statuses.push((await call('POST', '/api/lists', { first })).status);
  expect(statuses).toEqual([201, 409, 201, 409]);
});
