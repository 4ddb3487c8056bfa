// Aggregates reveal nothing that the caller's lists would not show.
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { apiKeys, defineResource, defineUser, f } from '../../../src/index.ts';
import { type Client, startTestApp } from '../../support/app.ts';

const fields = {
  kind: f.enum(['a', 'b']).filterable().aggregatable(),
  author: f.ref('user').owner().aggregatable(),
  forOwner: f.string().visibleTo('owner').aggregatable().filterable(),
  ownerNumber: f.integer().visibleTo('owner | admin').aggregatable(),
  forAdmin: f.string().visibleTo('admin').aggregatable(),
  adminNumber: f.number().visibleTo('admin').aggregatable().filterable(),
  adminDate: f.date().visibleTo('admin').aggregatable(),
  hidden: f.string().hidden(),
};
const open = { list: 'public', read: 'public' } as const;
const red = defineResource('red', { fields, policies: open });
const blue = defineResource('blue', { fields, policies: open });
const scoped = defineResource('scoped', {
  fields: { kind: f.enum(['a', 'b']).aggregatable(), live: f.boolean() },
  policies: { list: ({ user }) => user?.roles?.includes('admin') === true, read: 'public' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? { live: true } : undefined),
});
const survey = defineResource('survey', {
  fields: { team: f.string().filterable().aggregatable(), salary: f.integer().aggregatable() },
  policies: { list: 'authenticated', read: 'none' },
  crud: false,
  aggregates: { minGroupSize: 3 },
});
const { app, call, env, person } = await startTestApp({
  resources: [defineUser(), red, blue, scoped, survey],
  extensions: [apiKeys()],
});
const owner = await person('Owner');
const stranger = await person('Stranger');
const admin = await person('Admin', ['user', 'admin']);
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());

/** The records differ only in values that a stranger does not see. */
for (let i = 0; i < 6; i++) {
  const shared = { kind: i % 3 === 0 ? 'a' : 'b', author: owner.id } as const;
  await app.service(red).create({
    ...shared,
    forOwner: 'x',
    ownerNumber: i,
    forAdmin: 'r',
    adminNumber: i,
    adminDate: '2026-01-01',
    hidden: 'h',
  });
  await app.service(blue).create({ ...shared, forOwner: `y${i}`, ownerNumber: 100, forAdmin: `b${i}` });
}
for (const [kind, live] of [
  ['a', true],
  ['a', false],
  ['b', false],
] as const)
  await app.service(scoped).create({ kind, live });
for (const [i, team] of ['x', 'x', 'x', 'y', 'y'].entries())
  await app.service(survey).create({ team, ...(i === 1 ? {} : { salary: 10 * i }) });

const ask = async (as: Client, path: string) => (await as('GET', `/api/${path}`)).body;

test.each([
  'group=forOwner',
  'group=forAdmin,kind&count&sum=adminNumber',
  'group=kind&sum=ownerNumber,adminNumber&avg=ownerNumber&min=ownerNumber,adminDate&max=adminNumber',
  'countDistinct=forOwner,forAdmin,adminNumber&group=kind&sort=-countDistinct(forAdmin)',
  'group=month(adminDate)',
  'group=kind&sum=adminNumber&sort=-sum(adminNumber)',
  'adminNumber[gte]=3&group=kind',
  'forOwner=x',
  'group=author&sum=ownerNumber',
])('two tables that differ only in hidden values have the same response to %s', async (query) => {
  for (const as of [call, stranger.call]) {
    const [first, second] = await Promise.all([
      ask(as, `reds/aggregate?${query}`),
      ask(as, `blues/aggregate?${query}`),
    ]);
    expect(first.error).toBeUndefined();
    expect(second).toEqual(first);
  }
});

test('values that the caller may not see form no groups and add nothing to aggregates', async () => {
  expect((await ask(stranger.call, 'reds/aggregate?group=forAdmin')).data).toEqual([]);
  expect((await ask(stranger.call, 'reds/aggregate?group=kind&sum=ownerNumber&countDistinct=forOwner')).data).toEqual([
    { group: { kind: 'a' }, sum: { ownerNumber: null }, countDistinct: { forOwner: 0 } },
    { group: { kind: 'b' }, sum: { ownerNumber: null }, countDistinct: { forOwner: 0 } },
  ]);
});

test('owners see aggregates of their own records, administrators of all', async () => {
  await app.service(red).create({ kind: 'a', author: stranger.id, forOwner: 'mine', ownerNumber: 7, adminNumber: 1 });
  const query = 'reds/aggregate?count&sum=ownerNumber,adminNumber';
  expect((await ask(stranger.call, query)).data).toEqual([
    { group: {}, count: 7, sum: { ownerNumber: 7, adminNumber: null } },
  ]);
  expect((await ask(owner.call, query)).data[0].sum).toEqual({ ownerNumber: 15, adminNumber: null });
  expect((await ask(admin.call, query)).data[0].sum).toEqual({ ownerNumber: 22, adminNumber: 16 });
  expect((await ask(stranger.call, 'reds/aggregate?group=forOwner')).data).toEqual([
    { group: { forOwner: 'mine' }, count: 1 },
  ]);
});

test('policy functions and the scope filter of lists apply', async () => {
  expect((await call('GET', '/api/scopeds/aggregate')).status).toBe(401);
  // Before the query is checked: a refused caller learns nothing of the fields.
  for (const query of ['', '?group=nonsense', '?page=2', '?sum=kind&sum=live'])
    expect((await stranger.call('GET', `/api/scopeds/aggregate${query}`)).status).toBe(403);
  expect((await ask(admin.call, 'scopeds/aggregate?group=kind')).data).toEqual([{ group: { kind: 'a' }, count: 1 }]);
  const viaCode = await app
    .service(scoped)
    .aggregate({ group: ['kind'] }, { user: { id: admin.id, roles: ['admin'] } });
  expect(viaCode.data).toEqual([{ group: { kind: 'a' }, count: 1 }]);
  expect((await app.service(scoped).aggregate({})).data).toEqual([{ group: {}, count: 3 }]);
});

test('an API key needs the scope of lists', async () => {
  const keyWith = async (scope: string): Promise<Client> => {
    const { body } = await owner.call('POST', '/api/auth/api-keys', { name: scope, scopes: [scope] });
    return (method, path) => call(method, path, undefined, { authorization: `Bearer ${body.data.key}` });
  };
  expect((await (await keyWith('reds:read'))('GET', '/api/reds/aggregate')).status).toBe(200);
  expect((await (await keyWith('blues:read'))('GET', '/api/reds/aggregate')).status).toBe(403);
});

test('with a minimum group size, clients get no small groups, no values of few records and no extremes', async () => {
  expect((await owner.call('GET', '/api/surveys')).status).toBe(404);
  expect((await ask(owner.call, 'surveys/aggregate?group=team&count&avg=salary&countDistinct=salary')).data).toEqual([
    { group: { team: 'x' }, count: 3, avg: { salary: null }, countDistinct: { salary: 2 } },
  ]);
  expect((await ask(owner.call, 'surveys/aggregate?sum=salary&countDistinct=team')).data).toEqual([
    { group: {}, sum: { salary: 90 }, countDistinct: { team: 2 } },
  ]);
  expect(await ask(owner.call, 'surveys/aggregate?team=y')).toEqual({
    data: [],
    meta: { groups: 0, truncated: false },
  });
  expect((await owner.call('GET', '/api/surveys/aggregate?max=salary')).body.error.message).toBe(
    'Cannot compute "max" of "salary"; fields: none',
  );
  const { data } = await app.service(survey).aggregate({ group: ['team'], max: ['salary'] });
  expect(data).toEqual([
    { group: { team: 'x' }, max: { salary: 20 } },
    { group: { team: 'y' }, max: { salary: 40 } },
  ]);
});
