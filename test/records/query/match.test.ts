// Postgres and memory must agree on which records match: a record in an event is evaluated in memory.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { scopeConditions } from '../../../src/records/access/scope.ts';
import { supportedOperatorsOf } from '../../../src/records/fields/field-type.ts';
import type { Condition } from '../../../src/records/query/list-query.ts';
import { meetsConditions } from '../../../src/records/query/match.ts';
import { parseListQuery } from '../../../src/records/query/parse.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

/** No condition of these tests is about related records. */
const noLookUp = () => Promise.reject(new Error('no related records'));

const ORDERED = ['eq', 'ne', 'in', 'nin', 'exists', 'gt', 'gte', 'lt', 'lte'] as const;
const LIST = ['eq', 'ne', 'in', 'nin', 'all', 'exists'] as const;
let filter: unknown;
const thing = defineResource('thing', {
  fields: {
    string: f.string().trim(false).filterable(ORDERED),
    text: f.text().filterable(ORDERED),
    email: f.email().filterable(ORDERED),
    kind: f.enum(['a', 'B', 'ä']).filterable(ORDERED),
    integer: f.integer().filterable(),
    number: f.number().filterable(),
    decimal: f.decimal().filterable(),
    flag: f.boolean().filterable(),
    at: f.date().filterable(),
    id1: f.id().filterable(ORDERED),
    ref: f.ref('thing').filterable(),
    strings: f.array(f.string().trim(false)).filterable(LIST),
    integers: f.array(f.integer()).filterable(LIST),
    numbers: f.array(f.number()).filterable(LIST),
    decimals: f.array(f.decimal()).filterable(LIST),
    flags: f.array(f.boolean()).filterable(LIST),
    days: f.array(f.date()).filterable(LIST),
    refs: f.array(f.ref('thing')).filterable(LIST),
    data: f.json().filterable(),
    shape: f.object({ a: f.string() }).filterable(['exists']),
  },
  policies: { list: 'public', read: 'public' },
  scope: () => filter as never,
});
const compiled = compileResources([thing], 'reject')[0]!;
const { app, call } = await startTestApp({
  resources: [defineUser(), thing],
  settings: { pagination: { maxLimit: 500 } },
});

// Texts that JavaScript, a language's collation, or a text comparison of numbers would sort or compare differently.
const TEXTS = [
  '',
  'a',
  'A',
  'B',
  'b',
  'ä',
  'Z',
  'ß',
  'İ',
  'i',
  '💚',
  '\uff5e',
  '\ue000',
  'a ',
  ' ',
  '\\',
  '%',
  '_',
  'NULL',
];
const MORE = ['{}', '"', "'", '{a,b}', 'a,b', '0', '-', 'a-b', 'a b', '\n'];
const IDS = ['0'.repeat(24), 'f'.repeat(24), `a${'0'.repeat(23)}`];
const INTEGERS = [-(2 ** 53 - 1), -1, 0, 1, 9, 10, 2 ** 53 - 1];
const NUMBERS = [0, 0.1, -0.1, 0.30000000000000004, 1e308, -1e308, 5e-324, 1e21, 1e-7, 10, 9];
const DECIMALS = [
  '0',
  '-0.5',
  '0.1',
  '9',
  '10',
  '10.000000000000000001',
  '9007199254740993',
  '-12345678901234567890.5',
];
const DATES = [
  '0001-01-01T00:00:00.000Z',
  '1999-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
];
const POOL: Record<string, readonly unknown[]> = {
  string: [...TEXTS, ...MORE],
  text: [...TEXTS, ...MORE],
  email: ['a@b.co', 'b@b.co', 'a.b@b.co', 'a_b@b.co'],
  kind: ['a', 'B', 'ä'],
  integer: INTEGERS,
  number: NUMBERS,
  decimal: DECIMALS,
  flag: [true, false],
  at: DATES,
  id1: IDS,
  ref: IDS,
};
const ITEMS: Record<string, readonly unknown[]> = {
  strings: [...TEXTS, ...MORE],
  integers: INTEGERS,
  numbers: NUMBERS,
  decimals: DECIMALS,
  flags: [true, false],
  days: DATES,
  refs: IDS,
};
const NAMES = Object.keys(thing.fields) as (keyof typeof thing.fields)[];

const one = (pool: readonly unknown[]) => fc.constantFrom(...pool);
const stored = fc.record(
  {
    ...Object.fromEntries(Object.entries(POOL).map(([name, pool]) => [name, one(pool)])),
    ...Object.fromEntries(Object.entries(ITEMS).map(([name, pool]) => [name, fc.array(one(pool), { maxLength: 4 })])),
    data: fc.constantFrom({}, [], 0, false, '', { a: null }),
    shape: fc.constantFrom({}, { a: 'x' }),
  },
  { requiredKeys: [] },
);
for (const values of fc.sample(stored, { numRuns: 60, seed: 1 })) await app.service('thing').create(values as never);
const records = (await app.service('thing').list({ limit: 500 })).data as never as { id: string }[];

const inMemory = (conditions: readonly Condition[]) =>
  records
    .filter((record) => conditions.every((condition) => meetsConditions([condition], record, noLookUp)))
    .map((record) => record.id);

const operand = (name: string) => {
  const right = one(POOL[name] ?? ITEMS[name] ?? [0]);
  return fc.oneof(
    { weight: 6, arbitrary: right },
    { weight: 1, arbitrary: one([null, undefined, 1.5, 'x', true, Number.NaN]) },
  );
};
const scoped = fc.constantFrom(...NAMES).chain((name) =>
  fc.constantFrom(...supportedOperatorsOf(thing.fields[name].spec)).chain((op) => {
    const lists = ['in', 'nin', 'all'].includes(op);
    const value = op === 'exists' ? fc.boolean() : lists ? fc.array(operand(name), { maxLength: 4 }) : operand(name);
    return value.map((given) => ({ [name]: { [op]: given } }));
  }),
);

test('a scope filter matches the same records in the database and in memory', async () => {
  const property = fc.asyncProperty(
    fc.oneof(
      scoped,
      fc.array(scoped, { maxLength: 3 }),
      fc.tuple(scoped, scoped).map(([a, b]) => ({ ...a, ...b })),
    ),
    async (scope) => {
      filter = scope;
      const conditions = await scopeConditions(compiled, { user: undefined, service: app.service as never });
      const { body } = await call('GET', '/api/things?limit=500');
      filter = undefined;
      expect(body.data.map((record: { id: string }) => record.id)).toEqual(inMemory(conditions));
    },
  );
  await fc.assert(property, { numRuns: scaleRuns(100) });
});

const written = (value: unknown) => encodeURIComponent(String(value));
const filters = fc.constantFrom(...NAMES).chain((name) =>
  fc.constantFrom(...compiled.field.get(name)!.operators).chain((op) => {
    const right = one(POOL[name] ?? ITEMS[name] ?? [0]).map(written);
    const list = fc.array(right, { minLength: 1, maxLength: 4 }).map((all) => all.join(','));
    const value = op === 'exists' ? fc.constantFrom('true', 'false') : ['in', 'nin', 'all'].includes(op) ? list : right;
    return value.map((text) => `${name}[${op}]=${text}`);
  }),
);
const limits = { defaultLimit: 20, maxLimit: 500 };

test('the filters of a query match the same records in the database and in memory', async () => {
  let found = 0;
  const property = fc.asyncProperty(fc.uniqueArray(filters, { minLength: 1, maxLength: 2 }), async (parts) => {
    const raw = new Map(parts.map((part) => part.split('=') as [string, string]));
    const query = [...raw].map(([name, value]) => `${name}=${value}`).join('&');
    const { status, body } = await call('GET', `/api/things?limit=500&${query}`);
    const given = Object.fromEntries([...raw].map(([name, value]) => [name, decodeURIComponent(value)]));
    const parse = () =>
      parseListQuery(compiled, given, undefined, { limits, getResource: () => compiled, byCode: false });
    // A list that contains only empty texts.
    if (status === 400) {
      expect(parse).toThrow('needs at least one value');
      return;
    }
    const ids = body.data.map((record: { id: string }) => record.id);
    expect(ids).toEqual(inMemory(parse().conditions as Condition[]));
    found += ids.length;
  });
  await fc.assert(property, { numRuns: scaleRuns(100) });
  expect(found).toBeGreaterThan(250);
});

test.each<[string, (value: unknown) => boolean]>([
  ['integer[ne]=0', (value) => value !== 0],
  ['integer[nin]=0,1', (value) => value !== 0 && value !== 1],
  ['integer[gt]=0', (value) => typeof value === 'number' && value > 0],
  ['integer[lte]=0', (value) => typeof value === 'number' && value <= 0],
  ['integer[exists]=false', (value) => value === undefined],
  ['integers[ne]=0', (value) => !(Array.isArray(value) && value.includes(0))],
  ['integers[nin]=0,1', (value) => !(Array.isArray(value) && (value.includes(0) || value.includes(1)))],
  ['integers=0', (value) => Array.isArray(value) && value.includes(0)],
  ['integers[all]=0,1', (value) => Array.isArray(value) && value.includes(0) && value.includes(1)],
  ['integers[exists]=true', (value) => Array.isArray(value)],
])(
  '?%s: a field without a value differs from every value, and is neither greater nor less than any',
  async (query, rule) => {
    const { data } = (await call('GET', `/api/things?limit=500&${query}`)).body;
    const name = /^\w+/.exec(query)![0];
    const expected = records.filter((record) => rule((record as unknown as Record<string, unknown>)[name]));
    expect(data.map((record: { id: string }) => record.id)).toEqual(expected.map((record) => record.id));
  },
);
