import { describe, expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { scopeConditions } from '../../../src/records/access/scope.ts';
import type { Comparison, Condition } from '../../../src/records/query/list-query.ts';
import { meetsConditions } from '../../../src/records/query/match.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';

/** No condition of these tests is about related records. */
const noLookUp = () => Promise.reject(new Error('no related records'));

const record = { id: 'a'.repeat(24), n: 5, text: 'b', list: [1, 2] };
const NOTHING: ReadonlySet<string> = new Set();
const NEVER = { never: true };

describe('a record in memory', () => {
  test.each<[string, Comparison['op'], unknown, boolean]>([
    ['n', 'eq', 5, true],
    ['n', 'eq', 6, false],
    ['n', 'ne', 5, false],
    ['n', 'ne', 6, true],
    ['n', 'in', [4, 5], true],
    ['n', 'in', [4], false],
    ['n', 'nin', [4, 5], false],
    ['n', 'nin', [4], true],
    ['n', 'gt', 4, true],
    ['n', 'gt', 5, false],
    ['n', 'gte', 5, true],
    ['n', 'gte', 6, false],
    ['n', 'lt', 6, true],
    ['n', 'lt', 5, false],
    ['n', 'lte', 5, true],
    ['n', 'lte', 4, false],
    ['n', 'exists', true, true],
    ['n', 'exists', false, false],
    ['text', 'gt', 'a', true],
    ['text', 'gt', 'ä', false],
    ['text', 'lt', 'B', false],
    ['none', 'eq', 5, false],
    ['none', 'ne', 5, true],
    ['none', 'nin', [5], true],
    ['none', 'gte', 0, false],
    ['none', 'lte', 0, false],
    ['none', 'all', [], false],
    ['none', 'exists', false, true],
    ['list', 'eq', 1, true],
    ['list', 'eq', 3, false],
    ['list', 'ne', 1, false],
    ['list', 'ne', 3, true],
    ['list', 'in', [3, 1], true],
    ['list', 'in', [3], false],
    ['list', 'nin', [3, 1], false],
    ['list', 'nin', [3], true],
    ['list', 'all', [1, 2], true],
    ['list', 'all', [1, 3], false],
  ])('is compared like in the database: %s %s %j', (field, op, value, expected) => {
    expect(meetsConditions([{ field, op, value }], record, noLookUp)).toBe(expected);
  });

  test('is ordered by code point, not by UTF-16 code unit', () => {
    const after = (text: string, value: string) =>
      meetsConditions([{ field: 'text', op: 'gt', value }], { ...record, text }, noLookUp);
    expect([after('\u{1f49a}', '\uff5e'), after('\uff5e', '\u{1f49a}')]).toEqual([true, false]);
  });

  const [yes, no]: [Condition, Condition] = [
    { field: 'n', op: 'eq', value: 5 },
    { field: 'text', op: 'eq', value: 'x' },
  ];

  test('matches one of several conditions, all of them, or none', () => {
    expect([yes, no].map((one) => meetsConditions([one], record, noLookUp))).toEqual([true, false]);
    expect([[yes, no], [no], []].map((any) => meetsConditions([{ any }], record, noLookUp))).toEqual([
      true,
      false,
      false,
    ]);
    expect([[yes, no], [yes], []].map((every) => meetsConditions([{ every }], record, noLookUp))).toEqual([
      false,
      true,
      true,
    ]);
    expect(meetsConditions([{ never: true }], record, noLookUp)).toBe(false);
  });

  test('may match any condition on a field whose value is unknown', () => {
    const unknown = new Set(['text']);
    expect([
      meetsConditions([no], record, noLookUp, unknown),
      meetsConditions([no], record, noLookUp, NOTHING),
    ]).toEqual([true, false]);
    expect(meetsConditions([{ every: [yes, no] }], record, noLookUp, unknown)).toBe(true);
    expect(meetsConditions([{ never: true }], record, noLookUp, unknown)).toBe(false);
  });
});

describe('the conditions of a scope', () => {
  let filter: unknown;
  let scopeCalls = 0;
  const scope = () => {
    scopeCalls += 1;
    return filter as never;
  };
  const fields = { n: f.integer(), text: f.string(), tags: f.array(f.string()), other: f.ref('thing'), data: f.json() };
  const resource = compileResources([defineResource('thing', { fields, scope })], 'reject')[0]!;
  const conditionsOf = (given: unknown) => {
    filter = given;
    return scopeConditions(resource, { user: undefined, service: (() => undefined) as never });
  };
  const exists = (value: boolean) => ({ field: 'n', op: 'exists', value });

  test.each<[unknown, unknown]>([
    [undefined, []],
    [{}, []],
    [[], [{ any: [] }]],
    [Object.assign(Object.create(null), { n: 1 }), [{ field: 'n', op: 'eq', value: 1 }]],
    [
      { n: { gte: 1, lt: 3 } },
      [
        { field: 'n', op: 'gte', value: 1 },
        { field: 'n', op: 'lt', value: 3 },
      ],
    ],
    [[{ n: 1 }, {}], [{ any: [{ every: [{ field: 'n', op: 'eq', value: 1 }] }, { every: [] }] }]],
    [{ n: null }, [exists(false)]],
    [{ n: { ne: null } }, [exists(true)]],
    [{ data: null }, [{ field: 'data', op: 'exists', value: false }]],
    [{ n: { exists: false } }, [exists(false)]],
    [{ n: undefined }, [NEVER]],
    [{ n: 'x' }, [NEVER]],
    [{ n: { exists: undefined } }, [NEVER]],
    [{ n: { gt: null } }, [NEVER]],
    [{ n: [1, 'x'] }, [{ field: 'n', op: 'in', value: [1] }]],
    [{ n: [1, null] }, [{ any: [{ field: 'n', op: 'in', value: [1] }, exists(false)] }]],
    [{ n: { nin: [1, 'x'] } }, [NEVER]],
    [{ n: { nin: [1, null] } }, [{ every: [{ field: 'n', op: 'nin', value: [1] }, exists(true)] }]],
    [{ tags: { all: ['a', 1] } }, [NEVER]],
    [{ tags: { all: ['a', null] } }, [NEVER]],
    [{ _id: 'A'.repeat(24) }, [{ field: 'id', op: 'eq', value: 'a'.repeat(24) }]],
    [{ updatedAt: 0 }, [{ field: 'updatedAt', op: 'eq', value: '1970-01-01T00:00:00.000Z' }]],
  ])('%#: of %j are %j', (given, conditions) => {
    expect(conditionsOf(given)).toEqual(conditions);
  });

  test.each<[unknown, string]>([
    [{ n: {} }, 'compares "n" with an Object'],
    [{ n: { exists: 1 } }, `"exists" on "n" takes a boolean`],
    [{ n: { in: 1 } }, `"in" on "n" takes a list`],
    [{ n: { like: 1 } }, 'uses "like" on "n"; it can be eq, ne, in, nin, exists, gt, gte, lt, lte'],
    [{ n: { like: null } }, 'uses "like" on "n"'],
    [{ nope: 1 }, 'names the unknown field "nope"'],
    [{ deletedAt: null }, 'names the unknown field "deletedAt"'],
    [null, 'returned null'],
    [true, 'returned true'],
    [[undefined], 'returned a list that contains undefined'],
    [7, 'returned a number'],
    [new (class {})(), 'returned an object'],
    [new (class Filter {})(), 'returned a Filter'],
    [[[{ n: 1 }]], 'returned a list that contains an Array'],
  ])('%#: are an error for an invalid filter: %j', (given, message) => {
    expect(() => conditionsOf(given)).toThrow(message);
  });

  test.each(['word', 'createdAt', 'updatedAt'])(
    'are an error for a password, or a timestamp that the resource does not have: %s',
    (name) => {
      const timeless = { fields: { word: f.password() }, timestamps: false, scope: () => ({ [name]: null }) };
      const [compiled] = compileResources([defineResource('timeless', timeless)], 'reject');
      const viewer = { user: undefined, service: (() => undefined) as never };
      expect(() => scopeConditions(compiled!, viewer)).toThrow(`names the unknown field "${name}"`);
    },
  );

  test('are evaluated once per viewer if the scope returns a promise', async () => {
    filter = Promise.resolve({ n: 1 });
    scopeCalls = 0;
    const viewer = { user: undefined, service: (() => undefined) as never };
    const all = await Promise.all([scopeConditions(resource, viewer), scopeConditions(resource, viewer)]);
    expect([scopeCalls, all[0], all[1]]).toEqual([1, all[1], [{ field: 'n', op: 'eq', value: 1 }]]);
    await scopeConditions(resource, { ...viewer });
    expect(scopeCalls).toBe(2);
  });
});
