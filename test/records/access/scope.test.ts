import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { scopeConditions } from '../../../src/records/access/scope.ts';
import { meetsConditions } from '../../../src/records/query/match.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';

/** No condition of these tests is about related records. */
const noLookUp = () => Promise.reject(new Error('no related records'));

let filter: unknown;
const thing = defineResource('thing', {
  fields: {
    text: f.string(),
    kind: f.enum(['a', 'b']),
    count: f.integer(),
    price: f.number(),
    live: f.boolean(),
    at: f.date(),
    tags: f.array(f.string()),
    numbers: f.array(f.integer()),
    days: f.array(f.date()),
    data: f.json(),
    sealed: f.string().encrypted(),
    friend: f.ref('thing'),
  },
  policies: { list: 'public', read: 'public' },
  scope: () => filter as never,
});
const { app, person, call } = await startTestApp({
  resources: [
    defineUser({ scope: ({ user }) => (user?.name === 'Ann' ? { name: 'Ann' } : undefined) }),
    thing,
    defineResource('paper', {
      fields: {
        title: f.string(),
        team: f.string(),
        open: f.boolean(),
        about: f.ref('paper').populate(),
        reader: f.ref('user').populate(),
      },
      policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
      scope: ({ user, req }) =>
        req?.headers['x-team'] === undefined
          ? [{ open: true }, { title: user?.name }]
          : { team: req.headers['x-team'] },
    }),
    defineResource('vault', {
      fields: { name: f.string() },
      policies: { read: 'admin', list: 'admin' },
    }),
    defineResource('door', {
      fields: { name: f.string().visibleTo('admin') },
      policies: { read: 'admin', reference: 'authenticated' },
    }),
    defineResource('house', {
      fields: { vault: f.ref('vault').populate(), door: f.ref('door').populate() },
      policies: { list: 'public', read: 'public' },
    }),
  ],
});
const things = app.service('thing');
const friend = (await things.create({ text: 'lonely' })).id;
await things.create({ text: '', count: 0, live: false, tags: [], numbers: [], days: [], data: null as never });
await things.create({
  text: 'Zebra ä',
  kind: 'a',
  count: 5,
  price: 0.1,
  live: true,
  at: '2026-01-01T00:00:00.000Z',
  tags: ['x', 'y'],
  numbers: [1, 2],
  days: ['2026-01-01'],
  data: { a: 1 },
  sealed: 'x',
  friend,
});
await things.create({
  text: 'apple',
  kind: 'b',
  count: -5,
  price: 1e21,
  at: '1999-12-31',
  tags: ['x', 'NULL', 'a,b'],
  numbers: [2],
  friend,
});
const records = (await things.list()).data;
const compiled = compileResources([thing], 'reject')[0]!;

/** Texts of the records that match a scope filter: in the database, and in memory. */
async function both(scope: unknown) {
  filter = scope;
  const found = await things.list({ sort: 'createdAt' }, { user: undefined });
  const conditions = await scopeConditions(compiled, { user: undefined, service: app.service as never });
  const matching = records.filter((record) =>
    conditions.every((condition) => meetsConditions([condition], record as never, noLookUp)),
  );
  filter = undefined;
  return {
    stored: found.data.map((record) => record.text).sort(),
    memory: matching.map((record) => record.text).sort(),
  };
}

test.each<[unknown, string[]]>([
  [undefined, ['', 'Zebra ä', 'apple', 'lonely']],
  [{}, ['', 'Zebra ä', 'apple', 'lonely']],
  [[], []],
  [{ count: 5 }, ['Zebra ä']],
  [{ count: { gte: 0, lt: 5 } }, ['']],
  [{ count: null }, ['lonely']],
  [{ count: { ne: null } }, ['', 'Zebra ä', 'apple']],
  [{ count: { gt: null } }, []],
  [{ data: null }, ['', 'apple', 'lonely']],
  [{ count: { in: [5, null] } }, ['Zebra ä', 'lonely']],
  [{ count: [5, -5] }, ['Zebra ä', 'apple']],
  [{ count: { nin: [5, null] } }, ['', 'apple']],
  [{ count: undefined }, []],
  [{ count: { eq: undefined } }, []],
  [{ count: { ne: undefined } }, []],
  [{ friend: [undefined] }, []],
  [{ friend: { nin: [undefined] } }, []],
  [{ count: '5' }, []],
  [{ text: { gt: 'Z' } }, ['Zebra ä', 'apple', 'lonely']],
  [{ at: { lte: new Date('2026-01-01') } }, ['Zebra ä', 'apple']],
  [{ at: '2026-01-01' }, ['Zebra ä']],
  [{ at: { lt: Date.parse('2026-01-01') } }, ['apple']],
  [{ tags: 'x' }, ['Zebra ä', 'apple']],
  [{ tags: { ne: 'y' } }, ['', 'apple', 'lonely']],
  [{ tags: { all: ['x', 'NULL'] } }, ['apple']],
  [{ tags: { exists: false } }, ['lonely']],
  [{ days: '2026-01-01T00:00:00.000Z' }, ['Zebra ä']],
  [{ sealed: { exists: true } }, ['Zebra ä']],
  [{ friend: friend.toUpperCase() }, ['Zebra ä', 'apple']],
  [{ _id: friend }, ['lonely']],
  [[{ kind: 'a' }, { kind: 'b', live: true }], ['Zebra ä']],
  [Promise.resolve({ count: 5 }), ['Zebra ä']],
  [Promise.resolve(undefined), ['', 'Zebra ä', 'apple', 'lonely']],
  [{ createdAt: { lt: new Date(Date.now() + 60_000) } }, ['', 'Zebra ä', 'apple', 'lonely']],
])('the scope %j matches the same records in the database and in memory', async (scope, texts) => {
  expect(await both(scope)).toEqual({ stored: texts, memory: texts });
});

const value = fc.oneof(
  fc.constantFrom('', 'x', 'y', 'a', 'apple', 'Zebra ä', 'NULL', 'a,b', '2026-01-01', "'", '\\', '{', friend),
  fc.integer({ min: -6, max: 6 }),
  fc.constantFrom(0.1, 1e21, -0, true, false, null, undefined, Number.NaN),
  fc.constantFrom(new Date('2026-01-01'), new Date(Number.NaN)),
);
const scalarOps = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'];
const comparison = (ops: string[], lists: string[]) =>
  fc.oneof(
    fc.record({ exists: fc.boolean() }),
    ...ops.map((op) => fc.record({ [op]: value })),
    ...lists.map((op) => fc.record({ [op]: fc.array(value, { maxLength: 3 }) })),
    fc.oneof(value, fc.array(value, { maxLength: 3 })),
  );
const scalar = comparison(scalarOps, ['in', 'nin']);
const list = comparison(['eq', 'ne'], ['in', 'nin', 'all']);
const one = fc.record(
  {
    text: scalar,
    kind: scalar,
    count: scalar,
    price: scalar,
    at: scalar,
    friend: scalar,
    tags: list,
    numbers: list,
    days: list,
  },
  { requiredKeys: [] },
);

test('any scope has the same result in the database and in memory, and never fails', async () => {
  const property = fc.asyncProperty(fc.oneof(one, fc.array(one, { maxLength: 3 })), async (scope) => {
    const { stored, memory } = await both(scope);
    expect(stored).toEqual(memory);
  });
  await fc.assert(property, { numRuns: 200 });
});

test.each<[unknown, string]>([
  [{ nope: 1 }, 'unknown field "nope"'],
  [{ count: { like: 1 } }, 'uses "like" on "count"'],
  [{ count: { like: null } }, 'uses "like" on "count"'],
  [{ data: { gt: null } }, 'uses "gt" on "data"'],
  [{ data: { a: 1 } }, 'uses "a" on "data"'],
  [{ sealed: 'x' }, 'uses "eq" on "sealed"'],
  [{ tags: { gt: 'x' } }, 'uses "gt" on "tags"'],
  [{ count: { in: 5 } }, '"in" on "count" takes a list'],
  [{ count: {} }, 'compares "count" with an Object'],
  [{ data: {} }, 'compares "data" with an Object'],
  [[{ kind: 'a' }, { count: {} }], 'compares "count" with an Object'],
  [{ count: new Map() }, 'compares "count" with a Map'],
  [null, 'the scope of "thing" returned null; it must return a filter, a list of filters or undefined'],
  [Promise.resolve(false), 'the scope of "thing" returned false;'],
  [Promise.resolve(Promise.resolve([new Date()])), 'the scope of "thing" returned a list that contains a Date;'],
  [[Promise.resolve({})], 'the scope of "thing" returned a list that contains a Promise;'],
  [false, 'the scope of "thing" returned false;'],
  [0, 'the scope of "thing" returned a number;'],
  ['', 'the scope of "thing" returned a string;'],
  [new Map([['text', 'x']]), 'the scope of "thing" returned a Map;'],
  [[false], 'the scope of "thing" returned a list that contains false;'],
  [[{ kind: 'a' }, undefined], 'the scope of "thing" returned a list that contains undefined;'],
  [new Date(), 'the scope of "thing" returned a Date;'],
  [[[]], 'the scope of "thing" returned a list that contains an Array;'],
  [() => ({ kind: 'a' }), 'the scope of "thing" returned a function;'],
])('a scope that cannot be applied is an error, and is never partly applied: %j', async (scope, message) => {
  filter = scope;
  await expect(things.list({}, { user: undefined })).rejects.toThrow(message);
  expect((await call('GET', '/api/things')).status).toBe(500);
  filter = undefined;
});

test('a record out of scope does not exist for list, count, read, update, delete and references', async () => {
  const ann = await person('Ann');
  const closed = await app.service('paper').create({ title: 'Ann', open: false });
  const pointer = await app.service('paper').create({ title: 'pointer', open: true, about: closed.id });
  const path = `/api/papers/${closed.id}`;
  expect((await ann.call('GET', path)).status).toBe(200);
  expect((await call('GET', path)).status).toBe(404);
  expect((await call('PATCH', path, { title: 'x' })).status).toBe(404);
  expect((await call('DELETE', path)).status).toBe(404);
  expect((await call('GET', '/api/papers')).body).toMatchObject({ data: [{ title: 'pointer' }], meta: { total: 1 } });
  expect((await call('GET', `/api/papers/${pointer.id}`)).body.data.about).toBe(closed.id);
  expect((await ann.call('GET', `/api/papers/${pointer.id}`)).body.data.about).toMatchObject({ id: closed.id });
});

test('a scope receives the request, and a scope value that is undefined hides every record', async () => {
  await app.service('paper').create({ title: 'of team', team: 'red' });
  await app.service('paper').create({ title: 'of nobody' });
  expect((await call('GET', '/api/papers', undefined, { 'x-team': 'red' })).body.meta.total).toBe(1);
  expect((await call('GET', '/api/papers', undefined, { 'x-team': 'blue' })).body.meta.total).toBe(0);
});

test("a reference is expanded according to the target's reference policy, read policy, scope and field visibility", async () => {
  const [ann, ben, admin] = [await person('Ann'), await person('Ben'), await person('Root', ['user', 'admin'])];
  const vault = await app.service('vault').create({ name: 'gold' });
  const door = await app.service('door').create({ name: 'oak' });
  const { id } = await app.service('house').create({ vault: vault.id, door: door.id });
  const seen = async (as: typeof call) => (await as('GET', `/api/houses/${id}`)).body.data;
  expect(await seen(call)).toMatchObject({ vault: vault.id, door: door.id });
  expect(await seen(ann.call)).toMatchObject({ vault: vault.id, door: { id: door.id } });
  expect((await seen(ann.call)).door).not.toHaveProperty('name');
  expect(await seen(admin.call)).toMatchObject({ vault: { name: 'gold' }, door: { name: 'oak' } });
  const { id: about } = await app.service('paper').create({ title: 'x', open: true, reader: ben.id });
  expect((await ann.call('GET', `/api/papers/${about}`)).body.data.reader).toBe(ben.id);
  expect((await call('GET', `/api/papers/${about}`)).body.data.reader).toMatchObject({ id: ben.id, name: 'Ben' });
});
