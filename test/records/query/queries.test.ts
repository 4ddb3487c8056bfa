import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const item = defineResource('item', {
  fields: {
    title: f.string().filterable().sortable().searchable(),
    note: f.text().searchable(),
    code: f.string().lowercase().filterable(['eq', 'gte']),
    mail: f.email().filterable(),
    kind: f.enum(['a', 'b']).filterable(),
    amount: f.integer().filterable().sortable(),
    price: f.number().filterable(),
    live: f.boolean().filterable(),
    at: f.date().filterable().sortable(),
    tags: f.array(f.string()).filterable(),
    numbers: f.array(f.integer()).filterable(),
    days: f.array(f.date()).filterable(),
    data: f.json().filterable(),
    place: f.object({ city: f.string() }).filterable(['exists']),
    other: f.ref('item').filterable().populate(),
    friend: f.ref('item'),
    secret: f.string().hidden(),
    pin: f.string().writeOnly(),
    locked: f.string().encrypted(),
    word: f.password(),
    plain: f.string(),
  },
  policies: { list: 'public', read: 'public' },
});

const { call, app } = await startTestApp({
  resources: [defineUser(), item],
  settings: { pagination: { maxLimit: 50 } },
});
const items = app.service('item');
const first = await items.create({ title: 'first', amount: 1 });
const second = await items.create({
  title: '100% _sure_ \\ yes',
  note: 'Ein ÄPFEL',
  code: 'ABC',
  mail: 'Ann@Example.com',
  kind: 'b',
  amount: 2,
  price: 0.1,
  live: true,
  at: '2026-01-02T03:04:05.678Z',
  tags: ['x', 'y,z', 'NULL'],
  numbers: [1, 2],
  days: ['2026-01-01'],
  data: { a: 1 },
  place: { city: 'Bern' },
  other: first.id,
  friend: first.id,
  secret: 'hidden-value',
  pin: 'pin-value',
  locked: 'locked-value',
});

const get = (query: string) => call('GET', `/api/items?${query}`);
async function found(query: string): Promise<number[]> {
  const { status, body } = await get(query);
  expect([status, body.error]).toEqual([200, undefined]);
  expect(body.meta.total).toBe(body.data.length);
  return body.data.map((record: { amount: number }) => record.amount).sort();
}

test.each<[string, number[]]>([
  ['title=first', [1]],
  ['title=%20first%20', [1]],
  ['title=FIRST', []],
  ['title[ne]=first', [2]],
  ['title[in]=first,nothing', [1]],
  ['title[nin]=first', [2]],
  ['title[exists]=true', [1, 2]],
  ['code=ABC', [2]],
  ['code[gte]=abc', [2]],
  ['mail=ANN@example.com', [2]],
  ['mail[exists]=false', [1]],
  ['kind=b', [2]],
  ['kind[ne]=b', [1]],
  ['kind[nin]=b', [1]],
  ['amount=2', [2]],
  ['amount[gt]=1&amount[lt]=3', [2]],
  ['amount[gte]=1&amount[lte]=1', [1]],
  ['price=0.1', [2]],
  ['price[lt]=1e-1', []],
  ['live=true', [2]],
  ['live[ne]=true', [1]],
  ['at=2026-01-02T03:04:05.678Z', [2]],
  ['at=2026-01-02T04:04:05.678%2B01:00', [2]],
  ['at=1767323045678', [2]],
  ['at[gt]=2026-01-01', [2]],
  ['at[lt]=2026-01-02', []],
  ['tags=x', [2]],
  ['tags=NULL', [2]],
  ['tags[in]=x,q', [2]],
  ['tags[nin]=x', [1]],
  ['tags[all]=x,NULL', [2]],
  ['tags[all]=x,q', []],
  ['tags[exists]=false', [1]],
  ['numbers=2', [2]],
  ['numbers[all]=1,2', [2]],
  ['days=2026-01-01', [2]],
  ['data[exists]=true', [2]],
  ['place[exists]=true', [2]],
  [`other=${first.id}`, [2]],
  [`other=${first.id.toUpperCase()}`, [2]],
  ['q=FIR', [1]],
  ['q=100%25', [2]],
  ['q=_', [2]],
  ['q=%25', [2]],
  ['q=%5C', [2]],
  ['q=äpfel', [2]],
  ['q=', [1, 2]],
  ['q=hidden', []],
  ['title=%27%3B%20select%20pg_sleep(10)--', []],
  ['title=%24%24', []],
  ['title=first&amount=2', []],
])('?%s returns %j', async (query, counts) => {
  expect(await found(query)).toEqual(counts);
});

test.each([
  'nope=1',
  'plain=x',
  'friend=x',
  'secret=hidden-value',
  'pin=pin-value',
  'locked=x',
  'word=x',
  'id=x',
  'createdAt=2026-01-01',
  'place.city=Bern',
  'place[city]=Bern',
  'data.a=1',
  'title[like]=x',
  'title[gt]=x',
  'title[constructor]=x',
  'title[__proto__]=x',
  'title[toString]=x',
  '__proto__=x',
  'constructor=x',
  'title[]=x',
  'title[eq][eq]=x',
  'title[eq=x',
  '[eq]=x',
  'title=a&title=b',
  'title[in]=',
  'title[in]=,',
  'kind=c',
  'amount=one',
  'amount=1.5',
  'amount=',
  'amount=0x10',
  'amount=Infinity',
  'amount[in]=1,x',
  'amount=99999999999999999999',
  'price=NaN',
  'price=1e999',
  'live=1',
  'at=yesterday',
  'at=2026-02-30',
  'data[exists]=yes',
  'data=1',
  'tags[gt]=x',
  'other=zzz',
  'title=%00',
  'q=%00',
  'sort=secret',
  'sort=-secret',
  'sort=title,secret',
  'sort=nope',
  'sort=',
  'sort=-',
  'sort=--title',
  'sort=title,-title',
  'sort=title%20desc',
  'sort=1;select',
  'fields=secret',
  'fields=title,word',
  'fields=nope',
  'fields=',
  'include=nope',
  'include=title',
  'include=other.other',
  'include=',
  'page=0',
  'page=-1',
  'page=1.5',
  'page=NaN',
  'page=',
  'page=1e3',
  'page=1&page=2',
  'limit=0',
  'limit=51',
  'limit=1000000000',
  'limit=5;drop',
  'limit=%2B5',
  'limit=٥',
  'page=99999999999999999999',
  'page[eq]=1',
  'q=a&q=b',
  'q[eq]=a',
  `q=${'x'.repeat(501)}`,
  'sort=title,amount,at,createdAt,updatedAt,title,amount,at,title',
  'fields=title,title%20',
  'amount[gte',
  'amount]=1',
  '[eq]=1',
  'title[eq][eq]=x',
  'title[]=x',
  'title[0]=x',
  'title=%',
  'title=%zz',
  'title=%ff',
  'title=%C3',
  'title=%ED%A0%80',
  '%ff=1',
  'title=x&'.repeat(1001),
  'token=svc_x',
])('?%s responds 400 BAD_REQUEST', async (query) => {
  const { status, body } = await get(query);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
});

test.each(['secret', 'pin', 'word', 'locked'])(
  'the response to a query on %s equals that for an unknown field, byte for byte',
  async (field) => {
    for (const query of [
      'X=v',
      'X[in]=v',
      'X[exists]=true',
      'sort=X',
      'sort=-X',
      'sort=title,X',
      'include=X',
      'X.y=v',
    ]) {
      const responses = await Promise.all(
        [field, 'abcdefgh'].map(async (name) =>
          (await get(query.replace('X', name))).body.error.message.replaceAll(name, 'X'),
        ),
      );
      expect(responses[0]).toBe(responses[1]);
    }
    if (field === 'locked') return;
    const [known, unknown] = await Promise.all([get(`fields=${field}`), get('fields=abcdefgh')]);
    expect(known.body.error.message.replaceAll(field, 'X')).toBe(
      unknown.body.error.message.replaceAll('abcdefgh', 'X'),
    );
  },
);

test.each(['title=x&title[eq]=y', 'title[eq]=x&title=x', 'title=x&title=x', 'title[eq]=x&title[eq]=y'])(
  '?%s repeats a filter and responds 400, whatever its notation',
  async (query) => {
    const { status, body } = await get(query);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.error.message).toMatch(/^The query parameter "title(\[eq\])?" must be given once$/);
    expect((await get('amount[gte]=1&amount[lte]=2&title=x&title[ne]=y')).status).toBe(200);
  },
);

test('a malformed query string is refused on every route, after authentication', async () => {
  for (const path of ['/api/items', `/api/items/${first.id}`, '/api/auth/me']) {
    const { status } = await call('GET', `${path}?x=%zz`);
    expect([path, status]).toEqual([path, path === '/api/auth/me' ? 401 : 400]);
  }
  const many = (count: number) => Array.from({ length: count }, () => 'title=x').join('&');
  expect((await get(many(1001))).body.error.message).toContain('at most 1000 parameters');
  expect((await get(many(1000))).body.error.message).toContain('"title" must be given once');
});

test('error messages repeat names from the request, at limited length', async () => {
  const long = 'x'.repeat(20_000);
  for (const query of [
    `${long}=1`,
    `sort=${long}`,
    `fields=${long}`,
    `include=${long}`,
    `title[${long}]=1`,
    `after=${long}`,
  ]) {
    const { status, body } = await get(query);
    expect([status, body.error.message.length < 500]).toEqual([400, true]);
  }
});

test('the error for a refused query lists what is allowed', async () => {
  expect((await get('nope=1')).body.error.message).toMatch(/filterable fields: title, code/);
  expect((await get('title[gt]=1')).body.error.message).toMatch(/its operators: eq, ne/);
  expect((await get('sort=nope')).body.error.message).toMatch(
    /sortable fields: title, amount, at, createdAt, updatedAt/,
  );
});

test('the operator in accepts 1,000 values, ids included, and not 1,001; 66,000 are refused', async () => {
  const ids = Array.from({ length: 999 }, (_, i) => i.toString(16).padStart(24, 'f'));
  expect(await found(`other[in]=${[first.id, ...ids].join(',')}`)).toEqual([2]);
  expect((await get(`amount[in]=${Array.from({ length: 1001 }, (_, i) => i).join(',')}`)).status).toBe(400);
  expect([400, 431]).toContain((await get(`amount[in]=${Array.from({ length: 66_000 }, () => 1).join(',')}`)).status);
  await expect(items.list({ 'amount[in]': Array.from({ length: 66_000 }, () => 1).join(',') })).rejects.toMatchObject({
    status: 400,
  });
});

test('q accepts 500 characters, page a billion and sort eight fields, and no more', async () => {
  for (const query of [`q=${'x'.repeat(500)}`, 'page=1000000000', 'limit=50'])
    expect((await get(query)).status).toBe(200);
  for (const query of [`q=${'x'.repeat(501)}`, 'page=1000000001', 'limit=51'])
    expect((await get(query)).status).toBe(400);
  const eight = ['title', 'code', 'mail', 'kind', 'amount', 'price', 'live', '-at'];
  expect((await items.list({ sort: eight.join() })).data).not.toEqual([]);
  await expect(items.list({ sort: [...eight, 'plain'].join() })).rejects.toMatchObject({
    status: 400,
    message: 'The query parameter "sort" takes at most 8 fields',
  });
});

test('error messages repeat a name of 100 characters in full, and truncate a longer one', async () => {
  const messageOf = async (name: string) => (await get(`${name}=1`)).body.error.message as string;
  expect(await messageOf('x'.repeat(100))).toContain(`"${'x'.repeat(100)}"`);
  expect(await messageOf('x'.repeat(101))).toContain(`"${'x'.repeat(100)}…"`);
});

test('a page has 20 records by default, and a page far past the end is empty', async () => {
  for (let i = 0; i < 22; i++) await items.create({ title: 'many', amount: 100 + i });
  const { body } = await get('title=many');
  const next = expect.any(String);
  expect([body.data.length, body.meta]).toEqual([20, { total: 22, page: 1, limit: 20, pages: 2, next }]);
  const last = (await get('title=many&page=2')).body;
  expect([last.data.length, last.meta]).toEqual([2, { total: 22, page: 2, limit: 20, pages: 2 }]);
  const far = await get('title=many&page=1000000000&limit=50');
  expect([far.status, far.body.data, far.body.meta.total]).toEqual([200, [], 22]);
});

test('pages neither repeat nor skip a record in any sort order, because the id breaks ties', async () => {
  for (const sort of ['title', '-title', 'at', '-createdAt,title', 'title,-amount']) {
    const seen: string[] = [];
    for (let page = 1; page <= 4; page++) {
      for (const { id } of (await get(`sort=${sort}&limit=7&page=${page}`)).body.data) seen.push(id);
    }
    expect(new Set(seen).size).toBe(24);
  }
});

test('sort accepts several fields, each ascending or descending, and the default is newest first', async () => {
  const counts = (await get('title=many&sort=-amount&limit=3')).body.data.map(
    (record: { amount: number }) => record.amount,
  );
  expect(counts).toEqual([121, 120, 119]);
  const newest = (await get('title=many&limit=1')).body.data[0];
  expect(newest.amount).toBe(121);
});

test('fields selects and always includes the id, include expands a reference, and populate expands by default', async () => {
  const one = (query: string) => call('GET', `/api/items/${second.id}?${query}`);
  expect((await one('fields=title,amount')).body.data).toEqual({ id: second.id, title: second.title, amount: 2 });
  expect((await one('fields=id')).body.data).toEqual({ id: second.id });
  expect((await one('')).body.data).toMatchObject({ other: { id: first.id, title: 'first' }, friend: first.id });
  expect((await one('include=friend')).body.data.friend).toMatchObject({ id: first.id });
  expect((await get('kind=b&include=friend,other')).body.data[0].friend).toMatchObject({ id: first.id });
  for (const bad of ['nope=1', 'title=x', 'sort=title', 'fields=secret', 'include=secret', 'fields=a&fields=b']) {
    expect((await one(bad)).status).toBe(400);
  }
});

test('a reference to a missing record stays an id', async () => {
  const deletedItem = await items.create({ title: 'gone' });
  const left = await items.create({ title: 'left', other: deletedItem.id });
  await items.delete(deletedItem.id);
  expect((await call('GET', `/api/items/${left.id}?include=other`)).body.data.other).toBe(deletedItem.id);
});
