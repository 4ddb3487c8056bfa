// Counts, sums and other aggregates of records, by group, over HTTP.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const ticket = defineResource('ticket', {
  fields: {
    status: f.enum(['open', 'closed']).filterable().aggregatable(),
    team: f.string().max(40).aggregatable(),
    hours: f.number().aggregatable(),
    points: f.integer().filterable().aggregatable(),
    price: f.decimal({ precision: 30, scale: 10 }).aggregatable(),
    urgent: f.boolean().aggregatable(),
    dueAt: f.date().filterable().aggregatable(),
    topic: f.string().searchable(),
    author: f.ref('user').owner().aggregatable(),
  },
  policies: { list: 'public', read: 'public', create: 'public', delete: 'owner' },
  aggregates: { timestamps: ['createdAt'] },
  softDelete: true,
});
const plain = defineResource('plain', { fields: { name: f.string() }, policies: { list: 'public' } });
const counted = defineResource('counted', {
  fields: { name: f.string().filterable() },
  policies: { list: 'public' },
  aggregates: {},
});
const mine = defineResource('mine', {
  fields: { amount: f.integer().aggregatable(), author: f.ref('user').owner() },
  policies: { list: 'owner | admin' },
});
const { app, call, person } = await startTestApp({
  resources: [defineUser(), ticket, plain, counted, mine],
  extensions: [softDelete()],
});
const ann = await person('Ann');
const bob = await person('Bob');

const rows = [
  { status: 'open', team: 'b', hours: 1.5, points: 2, price: '0.1', urgent: true, dueAt: '2026-01-31T23:30:00Z' },
  { status: 'open', team: 'a', hours: 2.5, points: 3, price: '0.2', urgent: false, dueAt: '2026-02-01T00:30:00Z' },
  { status: 'closed', team: 'a', hours: 4, points: 9007199254740991, price: '100', dueAt: '2026-03-15T12:00:00Z' },
  { status: 'closed', points: 9007199254740991, topic: 'bells' },
  {},
] as const;
for (const [i, row] of rows.entries()) {
  const user = i % 2 === 0 ? ann : bob;
  await app.service(ticket).create({ ...row, author: user.id });
}
for (const amount of [1, 2, 3]) await app.service(mine).create({ amount, author: amount === 3 ? bob.id : ann.id });

async function aggregate(query: string, as = call, path = '/api/tickets') {
  const { status, body } = await as('GET', `${path}/aggregate?${query}`);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

test('a query without parameters counts the records that the caller may list', async () => {
  expect(await aggregate('')).toEqual({ data: [{ group: {}, count: 5 }], meta: { groups: 1, truncated: false } });
  expect((await aggregate('', call, '/api/counteds')).data).toEqual([{ group: {}, count: 0 }]);
});

test('groups by one field, in the order of its values, with a group for records without a value', async () => {
  expect(await aggregate('group=status&count&sum=hours')).toEqual({
    data: [
      { group: { status: 'closed' }, count: 2, sum: { hours: 4 } },
      { group: { status: 'open' }, count: 2, sum: { hours: 4 } },
      { group: { status: null }, count: 1, sum: { hours: null } },
    ],
    meta: { groups: 3, truncated: false },
  });
});

test('computes sums, averages, extremes and distinct counts, with decimals as exact texts', async () => {
  const { data } = await aggregate(
    'sum=hours,price&avg=hours,price&min=points,price&max=hours,dueAt&countDistinct=team,author',
  );
  expect(data).toEqual([
    {
      group: {},
      sum: { hours: 8, price: '100.3000000000' },
      avg: { hours: 8 / 3, price: expect.stringMatching(/^33\.43333333/) },
      min: { points: 2, price: '0.1000000000' },
      max: { hours: 4, dueAt: '2026-03-15T12:00:00.000Z' },
      countDistinct: { team: 2, author: 2 },
    },
  ]);
});

test('sums of whole numbers beyond 2^53 are rounded to the nearest number', async () => {
  const { data } = await aggregate('sum=points&avg=points&status=closed');
  expect(data[0].sum.points).toBe(2 * 9007199254740991);
  expect(data[0].avg.points).toBe(9007199254740991);
});

test('filters and search select the records as they do in lists', async () => {
  expect((await aggregate('status=open')).data[0].count).toBe(2);
  expect((await aggregate('points[gte]=3&status[in]=open,closed')).data[0].count).toBe(3);
  expect((await aggregate('q=BELL')).data[0].count).toBe(1);
  expect((await aggregate('q=be')).data[0].count).toBe(1);
  expect((await aggregate('status=open&dueAt[lt]=2026-02-01&group=team')).data).toEqual([
    { group: { team: 'b' }, count: 1 },
  ]);
});

test('dates are grouped in buckets of the given time zone', async () => {
  const keys = async (query: string) =>
    (await aggregate(`dueAt[exists]=true&${query}`)).data.map((one: { group: object }) => Object.values(one.group)[0]);
  expect(await keys('group=month(dueAt)')).toEqual(['2026-01', '2026-02', '2026-03']);
  expect(await keys('group=month(dueAt)&timeZone=Europe/Berlin')).toEqual(['2026-02', '2026-03']);
  expect(await keys('group=month(dueAt)&timeZone=America/New_York')).toEqual(['2026-01', '2026-03']);
  expect(await keys('group=day(dueAt)')).toEqual(['2026-01-31', '2026-02-01', '2026-03-15']);
  expect(await keys('group=week(dueAt)')).toEqual(['2026-W05', '2026-W11']);
  expect(await keys('group=quarter(dueAt)')).toEqual(['2026-Q1']);
  expect(await keys('group=year(dueAt)')).toEqual(['2026']);
  expect(await keys('group=hour(dueAt)&timeZone=Asia/Kolkata')).toEqual([
    '2026-02-01T05:00+05:30',
    '2026-02-01T06:00+05:30',
    '2026-03-15T17:00+05:30',
  ]);
  expect((await aggregate('group=year(createdAt)')).data).toEqual([
    { group: { 'year(createdAt)': String(new Date().getUTCFullYear()) }, count: 5 },
  ]);
});

test('the hour that clocks repeat in autumn has two groups, and a day without an hour has one', async () => {
  const night = defineResource('night', { fields: { at: f.date().aggregatable() }, policies: { list: 'public' } });
  const { app, call } = await startTestApp({ resources: [defineUser(), night] });
  for (const time of ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-03-29T00:59:00Z', '2026-03-29T01:01:00Z'])
    await app.service(night).create({ at: time });
  const keys = async (unit: string) => {
    const { data } = await aggregate(`group=${unit}(at)&timeZone=Europe/Berlin`, call, '/api/nights');
    return data.map((one: { group: object }) => Object.values(one.group)[0]);
  };
  expect(await keys('hour')).toEqual([
    '2026-03-29T01:00+01:00',
    '2026-03-29T03:00+02:00',
    '2026-10-25T02:00+02:00',
    '2026-10-25T02:00+01:00',
  ]);
  expect(await keys('day')).toEqual(['2026-03-29', '2026-10-25']);
});

test('an hour in which clocks change by half an hour, or in its middle, has a group for each offset', async () => {
  const shift = defineResource('shift', { fields: { at: f.date().aggregatable() }, policies: { list: 'public' } });
  const { app, call } = await startTestApp({ resources: [defineUser(), shift] });
  const hours = async (timeZone: string, times: readonly string[]) => {
    await app.service(shift).deleteMany({});
    await app.service(shift).createMany(times.map((at) => ({ at })));
    const { data } = await aggregate(`group=hour(at)&timeZone=${timeZone}&count`, call, '/api/shifts');
    return data.map(({ group, count }: { group: object; count: number }) => [Object.values(group)[0], count]);
  };
  // Clocks go back from 02:00 to 01:30, and forward from 02:00 to 02:30.
  expect(
    await hours('Australia/Lord_Howe', [
      '2026-04-04T14:15:00Z',
      '2026-04-04T14:45:00Z',
      '2026-04-04T15:00:00Z',
      '2026-04-04T15:29:00Z',
      '2026-04-04T15:30:00Z',
    ]),
  ).toEqual([
    ['2026-04-05T01:00+11:00', 2],
    ['2026-04-05T01:00+10:30', 2],
    ['2026-04-05T02:00+10:30', 1],
  ]);
  expect(
    await hours('Australia/Lord_Howe', ['2026-10-03T15:29:00Z', '2026-10-03T15:30:00Z', '2026-10-03T16:15:00Z']),
  ).toEqual([
    ['2026-10-04T01:00+10:30', 1],
    ['2026-10-04T02:00+11:00', 1],
    ['2026-10-04T03:00+11:00', 1],
  ]);
  // In 1986, the clocks of Nepal went forward from 00:00 to 00:15.
  expect(
    await hours('Asia/Kathmandu', [
      '1985-12-31T18:29:00Z',
      '1985-12-31T18:30:00Z',
      '1985-12-31T19:14:00Z',
      '1985-12-31T19:15:00Z',
    ]),
  ).toEqual([
    ['1985-12-31T23:00+05:30', 1],
    ['1986-01-01T00:00+05:45', 2],
    ['1986-01-01T01:00+05:45', 1],
  ]);
});

test('sorts groups by aggregates and terms, with missing values last in both directions', async () => {
  const teams = async (query: string) =>
    (await aggregate(query)).data.map(({ group }: { group: { team?: string } }) => group.team);
  expect(await teams('group=team&sum=hours&sort=-sum(hours)')).toEqual(['a', 'b', null]);
  expect(await teams('group=team&sum=hours&sort=sum(hours)')).toEqual(['b', 'a', null]);
  expect(await teams('group=team&sort=-team')).toEqual(['b', 'a', null]);
  expect(await teams('group=team&sort=-count')).toEqual(['a', null, 'b']);
});

test('returns the first groups up to the limit, and the number of all', async () => {
  const { data, meta } = await aggregate('group=author,status&sort=-count,status&limit=2');
  expect(data).toHaveLength(2);
  expect(meta).toEqual({ groups: 5, truncated: true });
});

test('the list policy applies: owners aggregate their own records, others none', async () => {
  const path = '/api/mines';
  expect((await call('GET', `${path}/aggregate`)).status).toBe(401);
  expect((await aggregate('sum=amount', ann.call, path)).data).toEqual([{ group: {}, sum: { amount: 3 } }]);
  expect((await aggregate('sum=amount', bob.call, path)).data).toEqual([{ group: {}, sum: { amount: 3 } }]);
  const admin = await person('Root', ['admin']);
  expect((await aggregate('sum=amount&count', admin.call, path)).data).toEqual([
    { group: {}, count: 3, sum: { amount: 6 } },
  ]);
});

test('only live records count, unless the caller asks for deleted records that it may restore', async () => {
  const gone = await app.service(ticket).create({ status: 'open', team: 'gone', author: ann.id });
  expect((await ann.call('DELETE', `/api/tickets/${gone.id}`)).status).toBe(204);
  expect((await aggregate('')).data[0].count).toBe(5);
  expect((await call('GET', '/api/tickets/aggregate?deleted=only')).status).toBe(401);
  expect((await aggregate('deleted=only&group=team', bob.call)).data).toEqual([]);
  expect((await aggregate('deleted=only&group=team', ann.call)).data).toEqual([{ group: { team: 'gone' }, count: 1 }]);
  const { data } = await app.service(ticket).aggregate({ group: ['team'], deleted: 'only' });
  expect(data).toEqual([{ group: { team: 'gone' }, count: 1 }]);
  expect((await app.service(ticket).aggregate({ deleted: 'with' })).data).toEqual([{ group: {}, count: 6 }]);
});

test('a resource that opens no aggregates has no route', async () => {
  expect((await call('GET', '/api/plains/aggregate')).status).toBe(401);
  expect((await ann.call('GET', '/api/plains/aggregate')).status).toBe(404);
});

test('a response holds the groups that fit into it', async () => {
  const long = defineResource('long', { fields: { text: f.string().aggregatable() }, policies: { list: 'public' } });
  const { app, call } = await startTestApp({
    resources: [defineUser(), long],
    settings: { http: { pageBytes: 20_000 } },
  });
  for (const letter of 'abcdef') await app.service(long).create({ text: letter.repeat(6000) });
  const { body } = await call('GET', '/api/longs/aggregate?group=text');
  expect(body.data.length).toBeLessThan(5);
  expect(body.data.length).toBeGreaterThan(0);
  expect(body.meta).toEqual({ groups: 6, truncated: true });
});
