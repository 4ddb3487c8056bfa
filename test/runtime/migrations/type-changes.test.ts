import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { findConversion } from '../../../src/runtime/migrations/plan/convert.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';
import { post, proposed, sideBySide, withValues } from './changing-field.ts';

const DATE = '2024-02-29T12:30:00.250Z';

const SAFE = [
  ['integer', 'number', f.integer().filterable(), f.number().filterable(), [7, -(2 ** 53 - 1)], [7, -(2 ** 53 - 1)]],
  ['integer', 'string', f.integer(), f.string().searchable().sortable(), [7, -8], ['7', '-8']],
  ['number', 'text', f.number(), f.text(), [1.5, 1e21, 0.1], ['1.5', '1e+21', '0.1']],
  [
    'integer',
    'decimal',
    f.integer().sortable(),
    f.decimal().sortable(),
    [7, -(2 ** 53 - 1)],
    ['7', '-9007199254740991'],
  ],
  [
    'number',
    'decimal',
    f.number(),
    f.decimal(),
    [0.1, 1e-7, 1.7976931348623157],
    ['0.1', '0.0000001', '1.7976931348623157'],
  ],
  ['decimal', 'string', f.decimal(), f.string(), ['12.50', '-0.001'], ['12.5', '-0.001']],
  ['decimal', 'json', f.decimal(), f.json(), ['12345678901234567890.5'], ['12345678901234567890.5']],
  ['decimal', 'array of decimal', f.decimal(), f.array(f.decimal()), ['1.50'], [['1.5']]],
  [
    'array of number',
    'array of decimal',
    f.array(f.number()),
    f.array(f.decimal()),
    [[0.1, 1e21]],
    [['0.1', '1000000000000000000000']],
  ],
  ['boolean', 'string', f.boolean(), f.string(), [true, false], ['true', 'false']],
  ['date', 'string', f.date().sortable(), f.string().sortable(), [DATE], [DATE]],
  ['enum', 'string', f.enum(['a', 'b']), f.string(), ['a'], ['a']],
  ['string', 'text', f.string().filterable(), f.text().filterable(['eq']).searchable(), ['x'], ['x']],
  ['text', 'string', f.text().filterable(['eq']).searchable(), f.string().filterable(), ['x'], ['x']],
  ['id', 'string', f.id(), f.string(), ['a'.repeat(24)], ['a'.repeat(24)]],
  ['string', 'array of string', f.string().filterable(), f.array(f.string()).filterable(), ['x'], [['x']]],
  ['integer', 'array of integer', f.integer(), f.array(f.integer()), [3], [[3]]],
  [
    'array of integer',
    'array of number',
    f.array(f.integer()).filterable(),
    f.array(f.number()).filterable(),
    [[1, 2]],
    [[1, 2]],
  ],
  [
    'array of boolean',
    'array of string',
    f.array(f.boolean()),
    f.array(f.string()),
    [[true, false]],
    [['true', 'false']],
  ],
  ['integer', 'json', f.integer(), f.json(), [3], [3]],
  ['string', 'json', f.string().searchable(), f.json(), ['x"y'], ['x"y']],
  ['date', 'json', f.date(), f.json(), [DATE], [DATE]],
  ['array of string', 'json', f.array(f.string()).filterable(), f.json(), [['a', 'b']], [['a', 'b']]],
] as [string, string, AnyField, AnyField, unknown[], unknown[]][];

describe('safe changes in one migration', () => {
  let given: unknown[][];
  let remove = async () => {};
  beforeAll(async () => {
    const fields = SAFE.map(([, , from, to, values]) => ({ from, to, values }));
    const { project, after, values } = await sideBySide(fields, (atEnd) => (remove = atEnd));
    await project.change([after]);
    given = await values();
  });
  afterAll(() => remove());

  test.each(SAFE.map(([from, to, , , , expected], i) => [from, to, expected, i] as const))(
    '%s becomes %s without losing a value',
    (_from, _to, expected, i) => {
      expect(given[i]).toEqual([...expected, undefined]);
    },
  );
});

test('adding a value to an enum changes nothing in the database', async () => {
  const project = await withValues(f.enum(['a']), ['a']);
  const { lines } = await project.generate([post(f.enum(['a', 'b']))]);
  expect(lines).toEqual(['The migrations are up to date with the declarations.']);
});

test('a stricter kind of the same type is noted in the written migration, and the values stay', async () => {
  const project = await withValues(f.string(), ['x']);
  const { lines } = await project.generate([post(f.enum(['a', 'b']).filterable())]);
  expect(lines).toContain(
    'Note: posts.v becomes enum: existing values are kept without a check; 1 row has another value.',
  );
});

const REFUSED = [
  [
    'string',
    'integer',
    f.string(),
    f.integer(),
    'a text that is not a whole number would fail',
    'nullif(\\"$v\\", \'\')::bigint',
  ],
  [
    'string',
    'date',
    f.string(),
    f.date(),
    'a text that is not a date would fail',
    'nullif(\\"$v\\", \'\')::timestamp(3) with time zone',
  ],
  [
    'string',
    'boolean',
    f.string(),
    f.boolean(),
    'a text that is not true or false would fail',
    'nullif(\\"$v\\", \'\')::boolean',
  ],
  ['number', 'integer', f.number(), f.integer(), 'fractions would be lost', 'round(\\"$v\\")::bigint'],
  ['decimal', 'integer', f.decimal(), f.integer(), 'fractions would be lost', 'round(\\"$v\\")::bigint'],
  [
    'decimal',
    'number',
    f.decimal(),
    f.number(),
    'digits beyond double precision would be lost',
    '\\"$v\\"::double precision',
  ],
  [
    'string',
    'decimal',
    f.string(),
    f.decimal(),
    'a text that is not a number would fail',
    'nullif(\\"$v\\", \'\')::numeric',
  ],
  ['array', 'string', f.array(f.string()), f.string(), 'all items but the first would be lost', '\\"$v\\"[1]'],
  [
    'json',
    'integer',
    f.json(),
    f.integer(),
    'a value that is not a whole number would fail',
    '(\\"$v\\" #>> \'{}\')::bigint',
  ],
  [
    'integer',
    'email',
    f.integer(),
    f.email(),
    'a value that is not a valid email would stay unchanged',
    '\\"$v\\"::text',
  ],
] as [string, string, AnyField, AnyField, string, string][];

describe('unsafe changes in one migration', () => {
  let refusals: string[][];
  let remove = async () => {};
  beforeAll(async () => {
    const fields = REFUSED.map(([, , from, to]) => ({ from, to }));
    const all = await sideBySide(fields, (atEnd) => (remove = atEnd));
    expect(await all.project.generate([all.after])).toMatchObject({ ok: false });
    refusals = await all.refusals('change');
  });
  afterAll(() => remove());

  test.each(REFUSED.map(([from, to, , , why, example], i) => [from, to, why, example, i] as const))(
    'a change from %s to %s is refused with the reason and the commands to convert, keep or drop the values',
    (_from, _to, why, example, i) => {
      const using = `posts.v${i}=${example.replaceAll('$v', `v${i}`)}`;
      expect(refusals[i]).toEqual([
        expect.stringMatching(new RegExp(`^  - posts.v${i}: its type cannot become .*: ${why}$`)),
        `      to convert the values: npx belfry migration generate change --using "${using}"`,
        expect.stringContaining('to keep the values: leave the field as it is, declare a new one'),
        `      to drop the values: npx belfry migration generate change --drop posts.v${i}`,
      ]);
    },
  );
});

test('Postgres accepts the proposed expressions', async () => {
  const { project, after, refusals, values } = await sideBySide([
    { from: f.string(), to: f.integer() },
    { from: f.string(), to: f.number() },
    { from: f.string(), to: f.date() },
    { from: f.string(), to: f.boolean() },
    { from: f.string(), to: f.object({ a: f.string() }) },
    { from: f.number(), to: f.integer() },
    { from: f.array(f.string()), to: f.string() },
    { from: f.json(), to: f.integer() },
    { from: f.json(), to: f.string() },
    { from: f.integer(), to: f.email() },
    { from: f.boolean(), to: f.integer() },
    { from: f.date(), to: f.integer() },
  ]);
  const using = (await refusals()).flatMap(proposed);
  expect(using.length / 2).toBeGreaterThan(8);
  await project.change([after], ...using);
  expect(await values()).toEqual(Array(12).fill([undefined]));
});

const VALUES: Record<string, string> = {
  text: 'x',
  boolean: 'true',
  bigint: '7',
  'double precision': '1.5',
  'timestamp(3) with time zone': DATE,
  jsonb: '"x"',
};
const TEXTS: Record<string, string> = { ...VALUES, 'double precision': '7' };
const JSONS: Record<string, string> = {
  ...VALUES,
  text: '"x"',
  'timestamp(3) with time zone': JSON.stringify(DATE),
};
const TYPES = Object.keys(VALUES);
const itemOf = (type: string) => type.replace(/\[\]$/, '');
const listed = (type: string, text: string, json: boolean) =>
  type.endsWith('[]') ? (json ? `[${text}]` : `{"${text}"}`) : text;

/** A value for a column of type `from` that can be converted to type `to`. */
function valueFor(from: string, to: string): string {
  if (from === 'jsonb') return listed(to, JSONS[itemOf(to)]!, true);
  if (from === 'text') return TEXTS[itemOf(to)]!;
  const text = itemOf(from) === 'text' && itemOf(to) !== 'jsonb' ? TEXTS[itemOf(to)]! : VALUES[itemOf(from)]!;
  return listed(from, text, false);
}

const COLUMNS = [...TYPES, ...TYPES.filter((type) => type !== 'jsonb').map((type) => `${type}[]`)];

test.each(COLUMNS)(
  'every expression proposed for values of %s runs over a value that it can convert, and over NULL',
  async (from) => {
    const { query } = await createMigrationProject();
    let proposed = 0;
    for (const [to, field] of [
      ...COLUMNS.map((type) => [type, undefined] as const),
      ['text', f.email()],
      ['text[]', f.array(f.email())],
    ] as const) {
      if (to === from) continue;
      const how = findConversion('"v"', from, to, field?.spec);
      const using = 'using' in how ? how.using : how.example;
      if (using === undefined) continue;
      proposed += 1;
      await query(`create table t (v ${from})`);
      await query('insert into t values ($1), (null)', [valueFor(from, to)]);
      await query(`alter table t alter column v set data type ${to} using ${using}`);
      expect((await query('select count(*)::int as rows, count(v)::int as held from t'))[0], `${to}: ${using}`).toEqual(
        { rows: 2, held: 1 },
      );
      await query('drop table t');
    }
    expect(proposed).toBeGreaterThan(2);
  },
);

test('the proposed expressions preserve the meaning of the values', async () => {
  const cases: [AnyField, unknown, AnyField, unknown][] = [
    [f.boolean(), true, f.integer(), 1],
    [f.integer(), 7, f.boolean(), true],
    [f.date(), DATE, f.integer(), Date.parse(DATE)],
    [f.integer(), Date.parse(DATE), f.date(), DATE],
    [f.array(f.boolean()), [true, false], f.integer(), 1],
    [f.json(), ['a', 'b'], f.array(f.string()), ['a', 'b']],
    [f.string(), '1,2', f.array(f.integer()), [1, 2]],
  ];
  const fields = cases.map(([from, value, to]) => ({ from, to, values: [value] }));
  const { project, after, refusals, values } = await sideBySide(fields);
  const using = (await refusals()).map(proposed);
  expect(using.every((one) => one.length === 2)).toBe(true);
  await project.change([after], ...using.flat());
  expect(await values()).toEqual(cases.map(([, , , expected]) => [expected, undefined]));
});

test('no expression is proposed where none can convert the values', async () => {
  const project = await withValues(f.boolean(), [true]);
  const { lines } = await project.generate([post(f.date())]);
  expect(lines).toHaveLength(4);
  expect(lines.join()).not.toContain('--using');
});

test.each([
  [['--check'], '<name> --drop posts.v'],
  [['--check', 'age'], 'age --drop posts.v'],
  [['--check', '--drop', 'posts.other'], '<name> --drop posts.other --drop posts.v'],
])('the command proposed for %j repeats its arguments', async (given, expected) => {
  const project = await withValues(f.string(), []);
  const { lines } = await project.generate([defineResource('post', { fields: { v: f.integer() } })], ...given);
  expect(lines.at(-1)).toBe(`      to drop the values: npx belfry migration generate ${expected}`);
});

test('a custom expression converts the values', async () => {
  const project = await withValues(f.string(), ['12', '']);
  await project.change([post(f.integer().filterable())], 'age', '--using', `posts.v=nullif(v, '')::bigint`);
  expect(await project.query('select v from posts order by id')).toEqual([{ v: '12' }, { v: null }, { v: null }]);
});

test('an expression that fails on a value changes nothing, and the error names the column, not the value', async () => {
  const project = await withValues(f.string(), ['12', 'a secret']);
  await project.generate([post(f.integer())], '--using', 'posts.v=v::bigint');
  const failure = await project.apply().catch((error: Error) => error.message);
  expect(failure).toBe(
    'The migration 0001_change failed; none of its changes were kept:\n  - posts.v has values that cannot be converted to bigint',
  );
  expect(await project.query('select count(v)::int as n from posts')).toEqual([{ n: 2 }]);
});

test('an expression for a column whose type stays the same is refused', async () => {
  const project = await withValues(f.string(), []);
  await expect(project.generate([post(f.text())], '--using', 'posts.v=lower(v)')).rejects.toThrow(
    '--using posts.v=…: its type does not change',
  );
});

test('values can be dropped on demand: the column is recreated with its indexes', async () => {
  const project = await withValues(f.string().filterable().searchable(), ['x']);
  await project.change([post(f.integer().filterable())], '--drop', 'posts.v');
  expect(await project.query('select v, other from posts order by id')).toEqual([
    { v: null, other: null },
    { v: null, other: 'without a value' },
  ]);
  expect(await project.query(`select 1 from pg_indexes where indexname = 'posts_v_index'`)).toHaveLength(1);
});

test.each([
  ['encrypted', f.string(), f.string().encrypted(), 'its values are not encrypted, and post.v could not decrypt them'],
  [
    'no longer encrypted',
    f.string().encrypted(),
    f.string(),
    'its values are encrypted, and post.v would return them undecrypted',
  ],
  ['no longer a password', f.password(), f.string(), 'its values are password hashes, and post.v would return them'],
  ['a password', f.string(), f.password(), 'its values are not password hashes, so nobody could sign in with post.v'],
] as [string, AnyField, AnyField, string][])(
  'a field that is %s, with the same type in the database, is refused',
  async (_, from, to, why) => {
    const project = await createMigrationProject();
    await project.change([post(from)]);
    const { ok, lines } = await project.generate([post(to)]);
    expect(ok).toBe(false);
    expect(lines[1]).toBe(`  - posts.v: ${why}`);
    await project.change([post(to)], '--drop', 'posts.v');
  },
);

test.each([
  ['smallint', 'bigint', { using: '"c"::bigint' }],
  ['bigint', 'integer', { loss: 'there is no conversion that keeps every value', example: '"c"::text::integer' }],
  ['uuid', 'jsonb', { using: 'to_jsonb("c")' }],
])('a column of an extension from %s to %s', (from, to, expected) => {
  expect(findConversion('"c"', from, to, undefined)).toEqual(expected);
});
