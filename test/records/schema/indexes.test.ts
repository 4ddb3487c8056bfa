import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';

const pair = defineResource('pair', {
  fields: { a: f.string(), b: f.string(), aB: f.string().unique(), alone: f.string() },
  indexes: [
    { fields: ['a', 'b'], unique: true },
    { fields: ['-alone'], unique: true },
  ],
  policies: { create: 'public' },
});
const { call } = await startTestApp({ resources: [pair] });

const NAMES = ['a', 'b', 'aB', 'bA', 'aDesc', 'aSort', 'aBIndex', 'A'.repeat(30).toLowerCase()];
const modifiers: ((field: AnyField) => AnyField)[] = [
  (field) => field.index(),
  (field) => field.unique(),
  (field) => field.filterable(),
  (field) => field.sortable(),
  (field) => field.searchable(),
];
const field = fc
  .subarray(modifiers)
  .map((chosen) => chosen.reduce((made, modifier) => modifier(made), f.string().max(20) as AnyField));
const term = fc
  .tuple(fc.constantFrom('', '-'), fc.constantFrom('a', 'b', 'aB', 'createdAt', 'id'))
  .map((t) => t.join(''));
const index = fc.record({
  fields: fc.uniqueArray(term, { selector: (one) => one.replace('-', ''), minLength: 1 }),
  unique: fc.boolean(),
});
const resource = (name: string) =>
  fc
    .record({
      fields: fc
        .tuple(...NAMES.map(() => field))
        .map((fields) => Object.fromEntries(fields.map((one, i) => [NAMES[i]!, one]))),
      indexes: fc.array(index, { maxLength: 6 }),
    })
    .map((options) => defineResource(name, { ...options, collection: name }));

test('no two relations of a schema have the same name, and no index duplicates another one', () => {
  fc.assert(
    fc.property(resource('t'), resource('t_a'), (one, other) => {
      const taken = ['t_a_index', 't_b_a_index', 't_pkey'];
      const compiled = compileResources([one, other], 'reject', taken);
      const names = [...taken, 't', 't_a', ...compiled.flatMap(({ indexes }) => indexes.map(({ name }) => name))];
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => Buffer.byteLength(name) > 63)).toEqual([]);
      for (const { indexes } of compiled) {
        const works = indexes.map(
          ({ method, terms }) => `${method} ${terms.map(({ column, descending }) => `${column} ${descending}`)}`,
        );
        expect(new Set(works).size).toBe(works.length);
        const first = (name: string) => indexes.filter(({ terms }) => terms.length === 1 && terms[0]!.field === name);
        // Every field declared unique has a unique index.
        for (const { fields, unique } of [one, other][compiled.findIndex((each) => each.indexes === indexes)]!
          .indexes ?? []) {
          const own = fields[0]!.replace('-', '');
          if (unique && fields.length === 1 && own !== 'id') expect(first(own).some((each) => each.unique)).toBe(true);
        }
      }
    }),
  );
});

test('an index keeps its name when another index that would have the same name is added', () => {
  const fields = { a: f.string(), b: f.string(), aB: f.string() };
  const namesOf = (...indexes: string[][]) =>
    compileResources(
      [defineResource('t', { fields, indexes: indexes.map((list) => ({ fields: list })) })],
      'reject',
    )[0]!
      .indexes.map(({ name }) => name)
      .filter((name) => name !== 'ts_created_at_index');
  expect(namesOf(['-a', 'b'])).toEqual(['ts_a_b_index']);
  expect(namesOf(['-a', 'b'], ['a', 'b'], ['a', '-b'])).toEqual([
    'ts_a_b_index',
    expect.stringMatching(/^ts_a_b_index_/),
  ]);
  expect(namesOf(['a', 'b'], ['-a', 'b'])).toEqual(['ts_a_b_index', 'ts_a_desc_b_index']);
  expect(namesOf(['a', 'b'], ['aB'])).toEqual(['ts_a_b_index', expect.stringMatching(/^ts_a_b_index_[0-9a-f]{8}$/)]);
});

test('a duplicate reports the fields of the index that it violates, whatever the name of the index', async () => {
  const create = async (body: object) => (await call('POST', '/api/pairs', body)).body.error?.details;
  expect(await create({ a: '1', b: '1', aB: 'x', alone: 'x' })).toBeUndefined();
  const { status, body } = await call('POST', '/api/pairs', { a: '1', b: '1' });
  const together = { a: 'Is already taken together with b', b: 'Is already taken together with a' };
  expect([status, body.error.details]).toEqual([409, together]);
  expect(await create({ a: '2', aB: 'x' })).toEqual({ aB: 'Is already taken' });
  expect(await create({ a: '3', alone: 'x' })).toEqual({ alone: 'Is already taken' });
});
