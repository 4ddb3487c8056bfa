import { describe, expect, onTestFinished, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { type ColumnType, getArrayColumnType } from '../../../src/records/fields/column-type.ts';
import { columnTypeBySqlName } from '../../../src/records/fields/f.ts';
import { columnTypeOf, fieldJsonSchema, fieldSchema, fieldTypeOf } from '../../../src/records/fields/field-type.ts';
import type { Direction } from '../../../src/records/fields/json-schema.ts';
import { normalizeForComparison } from '../../../src/records/fields/password-strength.ts';
import { isStorableJson } from '../../../src/records/fields/types/json.ts';

const ID = 'a'.repeat(24);
const DAY = '2026-01-01T00:00:00.000Z';
const STORABLE = 'Must not contain NUL or broken characters';
const JSON_ONLY = 'Must be JSON without NUL or broken characters';
const DATE = 'Must be a date: an ISO 8601 string or epoch milliseconds';

/** The column type for a Postgres type name. The name of an array type ends with `[]`. */
function columnType(sql: string): ColumnType {
  return sql.endsWith('[]') ? getArrayColumnType(columnTypeBySqlName(sql.slice(0, -2))!) : columnTypeBySqlName(sql)!;
}

/** Returns the stored value, or the first error message. */
function checked({ spec }: AnyField, value: unknown, unknownFields: 'reject' | 'strip' = 'reject'): unknown {
  const parsed = fieldSchema(spec, unknownFields).safeParse(value);
  return parsed.success ? { stored: parsed.data } : parsed.error.issues[0]!.message;
}

describe('a value in a query string', () => {
  test.each<[AnyField, string, unknown]>([
    [f.boolean(), 'true', true],
    [f.boolean(), 'false', false],
    [f.number(), '-1.5e3', -1500],
    [f.number(), '.5', 0.5],
    [f.integer(), '9007199254740991', 2 ** 53 - 1],
    [f.date(), '2026-01-01', DAY],
    [f.date(), '100000', '1970-01-01T00:01:40.000Z'],
    [f.date(), '-100000', '1969-12-31T23:58:20.000Z'],
    [f.enum(['a', 'b']), 'b', 'b'],
    [f.id(), 'A'.repeat(24), ID],
    [f.ref('thing'), ID, ID],
    [f.array(f.integer()), '7', 7],
  ])('of a field %#: %s is parsed as %j', ({ spec }, text, value) => {
    expect(fieldTypeOf(spec).fromQuery!(text, spec)).toBe(value);
  });

  test.each<[AnyField, readonly string[]]>([
    [f.boolean(), ['', '1', 'TRUE']],
    [f.number(), ['', '0x10', ' 1', 'Infinity', '1e999', '.']],
    [f.integer(), ['1.5', '9007199254740992', 'x']],
    [f.date(), ['99999', '-99999', '2026-02-30', '9999999999999999']],
    [f.enum(['a']), ['', 'A', 'toString']],
    [f.id(), ['', 'a'.repeat(23), 'g'.repeat(24)]],
    [f.array(f.integer()), ['x']],
  ])('of a field %#: is rejected if the field cannot hold it: %j', ({ spec }, texts) => {
    for (const text of texts) expect([text, fieldTypeOf(spec).fromQuery!(text, spec)]).toEqual([text, undefined]);
  });
});

describe('a comparison value from code', () => {
  test.each<[AnyField, unknown, unknown]>([
    [f.boolean(), false, false],
    [f.number(), 0.1, 0.1],
    [f.integer(), -7, -7],
    [f.date(), new Date(DAY), DAY],
    [f.date(), Date.parse(DAY), DAY],
    [f.date(), '2026-01-01', DAY],
    [f.id(), 'A'.repeat(24), ID],
    [f.array(f.date()), '2026-01-01', DAY],
  ])('%#: %j is compared as %j', ({ spec }, value, compared) => {
    expect(fieldTypeOf(spec).comparable!(value, spec)).toBe(compared);
  });

  test.each<[AnyField, readonly unknown[]]>([
    [f.boolean(), ['true', 1, null]],
    [f.number(), ['1', Number.NaN, Number.POSITIVE_INFINITY, null]],
    [f.integer(), ['1', 1.5, 2 ** 53, null]],
    [f.date(), [true, null, [DAY], { valueOf: () => 0 }, new Date(Number.NaN)]],
    [f.enum(['a']), [1, null]],
    [f.id(), [1, null]],
  ])('%#: is rejected if it has another type: %j', ({ spec }, values) => {
    for (const value of values) expect(fieldTypeOf(spec).comparable!(value, spec)).toBeUndefined();
  });
});

describe('a date', () => {
  test('without a zone is in UTC, whatever the time zone of the process', () => {
    const zone = process.env.TZ;
    onTestFinished(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });
    process.env.TZ = 'America/New_York';
    for (const text of ['2026-01-01', '2026-01-01T00:00', '2026-01-01T00:00:00', '2026-01-01T00:00:00.000']) {
      expect(checked(f.date(), text)).toEqual({ stored: DAY });
    }
    expect(checked(f.date(), '2026-01-01T00:00-05:00')).toEqual({ stored: '2026-01-01T05:00:00.000Z' });
  });

  test('out of bounds is refused with the message of the bound, and the bounds themselves are allowed', () => {
    const field = f.date().min('2026-01-01', 'Too early').max('2026-12-31', 'Too late');
    expect([Date.parse(DAY) - 1, '2027-01-01'].map((value) => checked(field, value))).toEqual([
      'Too early',
      'Too late',
    ]);
    expect(checked(field, '2026-01-01')).toEqual({ stored: DAY });
    expect(checked(field, '2026-12-31')).toEqual({ stored: '2026-12-31T00:00:00.000Z' });
  });
});

describe('a number', () => {
  test.each([f.number(), f.integer()])(
    'out of bounds is refused with the message of the bound, and the bounds themselves are allowed',
    (kind) => {
      const field = kind.min(-1, 'Too small').max(1, 'Too great');
      expect([-2, 2].map((value) => checked(field, value))).toEqual(['Too small', 'Too great']);
      expect([-1, 1].map((value) => checked(field, value))).toEqual([{ stored: -1 }, { stored: 1 }]);
    },
  );

  test('is never −0', () => {
    expect(checked(f.number(), -0)).toEqual({ stored: 0 });
  });
});

test('an e-mail address has at most 254 characters', () => {
  const address = (length: number) =>
    `a@${'b.'.repeat(length).slice(0, length - 'a@.co'.length - 1)}b.co`.slice(-length);
  expect(checked(f.email(), address(254))).toEqual({ stored: address(254) });
  expect(checked(f.email(), address(255))).toBe('Must be a valid e-mail address');
});

describe('a password', () => {
  const letters = '💚a'.repeat(64);

  test('has 8 to 128 characters, whatever their size in memory', () => {
    for (const text of ['a bell!!', letters, `${'💚'.repeat(127)}a`])
      expect(checked(f.password(), text)).toEqual({ stored: text });
    for (const text of ['a bell!', '💚a💚a💚a💚', `${letters}a`, 'a bell'.repeat(1000)]) {
      expect(checked(f.password(), text)).toBe('Must be 8 to 128 characters');
    }
  });

  test.each<[string, string | undefined]>([
    ['a bell\0 rings', STORABLE],
    ['password', 'This password is too common, choose another one'],
    ['ijklmnop', 'This password is too easy to guess'],
    ['ponmlkji', 'This password is too easy to guess'],
    ['💚💚💚💚💚💚💚💚', 'This password is too easy to guess'],
    ['acegikmo', undefined],
    ['ijklmnoq', undefined],
    ['hjklmnop', undefined],
    ['wwwwwwwx', undefined],
  ])('%j: %s', (text, message) => {
    expect(checked(f.password(), text)).toEqual(message ?? { stored: text });
  });
});

test.each([
  ['STRASSE', 'straße'],
  ['𝐀𝐁', 'ab'],
  ['Ｂｅｌｌ', 'bell'],
  ['É', 'e\u0301'],
  ['\u0390', '\u0399\u0308\u0301'],
])('%j and %j are equal in the list of common passwords', (one, other) => {
  expect(normalizeForComparison(one)).toBe(normalizeForComparison(other));
});

test('an indexed enum takes as many bytes as its longest value', () => {
  const { spec } = f.enum(['a', 'ää', 'abc']);
  expect(fieldTypeOf(spec).indexedBytes!(spec)).toBe(4);
});

describe('an array', () => {
  test('with too few or too many items is refused with the message of the bound', () => {
    const field = f.array(f.integer()).min(1, 'Too few').max(2, 'Too many');
    expect([[], [1, 2, 3]].map((value) => checked(field, value))).toEqual(['Too few', 'Too many']);
    expect(checked(f.array(f.integer()).min(2), [1])).toBe('Must be at least 2 items');
    expect(checked(f.array(f.integer()).max(1), [1, 2])).toBe('Must be at most 1 item');
  });

  test.each<[AnyField, string, string | undefined]>([
    [f.array(f.string()), 'text[]', 'gin'],
    [f.array(f.date()), 'timestamp(3) with time zone[]', 'gin'],
    [f.array(f.array(f.integer())), 'jsonb', undefined],
    [f.array(f.object({ n: f.integer() })), 'jsonb', undefined],
    [f.array(f.json()), 'jsonb', undefined],
  ])(
    '%#: is a %s column with the index %s, and supports comparisons only if the column is an array',
    ({ spec }, column, method) => {
      const type = fieldTypeOf(spec);
      const [value] = [[1]];
      expect([columnTypeOf(spec).sql, type.indexMethod!(spec)]).toEqual([column, method]);
      expect(type.comparisons(spec)).toEqual(
        method === undefined ? ['exists'] : ['eq', 'ne', 'in', 'nin', 'all', 'exists'],
      );
      expect(type.toColumn!(value, spec)).toEqual(method === undefined ? '[1]' : value);
    },
  );

  test('read from the JSON of a row has its items in their stored form', () => {
    const stored = (field: AnyField, value: unknown) => fieldTypeOf(field.spec).fromJson!(value, field.spec);
    expect(stored(f.array(f.date()), ['2026-01-01T01:00:00+01:00'])).toEqual([DAY]);
    expect(stored(f.array(f.integer()), [1])).toEqual([1]);
    expect(stored(f.array(f.array(f.date())), [['2026-01-01']])).toEqual([['2026-01-01']]);
  });

  test('of indexed texts accepts only texts that fit into the index', () => {
    const long = 'x'.repeat(3000);
    expect(checked(f.array(f.text()).index(), [long])).toMatch(/^Must be at most \d+ bytes$/);
    expect(checked(f.array(f.text()), [long])).toEqual({ stored: [long] });
  });
});

describe('an object', () => {
  const field = f.object({
    name: f.string().required(),
    code: f.string().default('x'),
    both: f.string().required().default('y'),
    note: f.string(),
  });

  test('has its members filled with their defaults, and drops members that are null', () => {
    expect(checked(field, { name: 'a', code: null, note: null })).toEqual({
      stored: { name: 'a', code: 'x', both: 'y' },
    });
    for (const empty of [null, '']) expect(checked(field, { name: 'a', both: empty })).toBe('Is required');
    for (const body of [{}, { name: null }, { name: '' }]) expect(checked(field, body)).toBe('Is required');
  });

  test('with unknown keys is refused, or stored without them if the resource strips unknown fields', () => {
    expect(checked(f.object({}), { x: 1 })).toContain('"x"');
    expect(checked(f.object({}), { x: 1 }, 'strip')).toEqual({ stored: {} });
    for (const unknownFields of ['reject', 'strip'] as const) {
      expect(checked(f.object({}), 'x', unknownFields)).toBe('Must be an object');
    }
  });

  test.each<[Direction, string[]]>([
    ['input', ['name']],
    ['output', ['name', 'code', 'both']],
  ])('in the JSON Schema of %s has the required keys %j and no others', (direction, required) => {
    expect(fieldJsonSchema(field.spec, direction)).toMatchObject({ required, additionalProperties: false });
    expect(fieldJsonSchema(f.object({ note: f.string() }).spec, direction)).not.toHaveProperty('required');
  });
});

describe('JSON', () => {
  test.each([null, true, false, 0, 'a', [], {}, [[null]], { a: { b: [1, 'x', null] } }])('%j is stored', (value) => {
    expect(isStorableJson(value)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['an infinite number in a list', [Number.POSITIVE_INFINITY]],
    ['NUL in a text', { a: ['\0'] }],
    ['NUL in a key', { '\0': 1 }],
    ['undefined as a member', { a: undefined }],
  ])('%s is not stored', (_, value) => {
    expect(isStorableJson(value)).toBe(false);
  });
});

describe('an output value of project code', () => {
  test.each<[string, unknown, unknown]>([
    ['text', 'a', 'a'],
    ['boolean', false, false],
    ['bigint', 7, 7],
    ['double precision', 0.5, 0.5],
    ['timestamp(3) with time zone', new Date(DAY), DAY],
    ['timestamp(3) with time zone', Date.parse(DAY), DAY],
    ['timestamp(3) with time zone', '2026-01-01', DAY],
    ['jsonb', { at: new Date(DAY), none: undefined }, { at: DAY }],
    ['text[]', ['a', 'b'], ['a', 'b']],
    ['text[]', [], []],
    ['timestamp(3) with time zone[]', ['2026-01-01'], [DAY]],
  ])('in a %s column: %j is stored as %j', (column, value, held) => {
    expect(columnType(column).convertToStored(value)).toEqual({ value: held });
  });

  test.each<[string, unknown, readonly number[], string | undefined]>([
    ['text', 1, [], undefined],
    ['text', 'a\0', [], STORABLE],
    ['boolean', 'true', [], undefined],
    ['bigint', '1', [], undefined],
    ['bigint', 1.5, [], 'Must be a whole number'],
    ['double precision', Number.NaN, [], 'Must be a number'],
    ['timestamp(3) with time zone', true, [], undefined],
    ['timestamp(3) with time zone', null, [], undefined],
    ['timestamp(3) with time zone', 'x', [], DATE],
    ['timestamp(3) with time zone', new Date(Number.NaN), [], DATE],
    ['jsonb', undefined, [], undefined],
    ['jsonb', { a: '\0' }, [], JSON_ONLY],
    ['text[]', 'a', [], undefined],
    ['text[]', ['a', 1], [1], undefined],
    ['text[]', ['a', 'b', '\0'], [2], STORABLE],
  ])('is refused in a %s column: %j at %j, %s', (column, value, path, message) => {
    expect(columnType(column).convertToStored(value)).toEqual({ path, message });
  });

  test('is limited to the size of an index entry if the text, or the texts of the array, are indexed', () => {
    expect(columnType('text').convertToStored('ää', 4)).toEqual({ value: 'ää' });
    expect(columnType('text').convertToStored('ää', 3)).toEqual({ path: [], message: 'Must be at most 3 bytes' });
    expect(columnType('text[]').convertToStored(['a', 'ää'], 3)).toEqual({
      path: [1],
      message: 'Must be at most 3 bytes',
    });
    expect(columnType('text').convertToStored(7, 3)).toEqual({ path: [], message: undefined });
    expect(columnType('jsonb').convertToStored('long', 3)).toEqual({ value: 'long' });
  });
});

describe('the JSON Schema', () => {
  test.each<[AnyField, Direction, object]>([
    [f.string().required(), 'input', { type: 'string', minLength: 1 }],
    [f.string().min(0).required(), 'input', { type: 'string', minLength: 1 }],
    [f.string().min(1).max(9).required(), 'input', { type: 'string', minLength: 1, maxLength: 9 }],
    [f.string().min(2).required(), 'input', { type: 'string', minLength: 2 }],
    [f.string(), 'input', { type: 'string' }],
    [f.string().pattern(/^a$/), 'input', { type: 'string', pattern: '^a$' }],
    [f.string().pattern(/^a$/i), 'input', { type: 'string' }],
    [f.string().pattern(/^a$/).lowercase(), 'input', { type: 'string' }],
    [f.string().pattern(/^A$/).uppercase(), 'query', { type: 'string' }],
    [f.string().pattern(/^A$/).uppercase(), 'output', { type: 'string', pattern: '^A$' }],
    [f.id(), 'input', { type: 'string', pattern: '^[0-9a-fA-F]{24}$' }],
    [f.id(), 'output', { type: 'string', pattern: '^[0-9a-f]{24}$' }],
    [f.date(), 'output', { type: 'string', format: 'date-time' }],
    [f.json().required(), 'input', { not: { enum: [null, ''] } }],
    [f.json().required(), 'output', {}],
    [f.json(), 'input', {}],
  ])('%# for %s is %j', (field, direction, schema) => {
    expect(fieldJsonSchema(field.spec, direction)).toEqual(schema);
  });

  const plain = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
  const standard = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } };

  test.each<[AnyField, Direction, object]>([
    [f.integer().describe('Bells').example(3), 'input', { ...plain, description: 'Bells', examples: [3] }],
    [f.integer().default(7), 'input', { ...plain, default: 7 }],
    [f.integer().default(7), 'output', plain],
    [f.integer().default(7), 'query', plain],
    [f.integer().default(() => 7), 'input', plain],
    [f.integer().schema(standard), 'input', plain],
    [f.integer().schema(standard), 'output', { type: 'integer' }],
    [f.integer().encrypted().schema(standard), 'output', {}],
    [f.integer().encrypted(), 'output', plain],
  ])('%# for %s has the description, example and default that apply there: %j', (field, direction, schema) => {
    expect(fieldJsonSchema(field.spec, direction)).toEqual(schema);
  });

  test('of a date accepts epoch milliseconds, and in a query only those that cannot be a day without dashes', () => {
    const least = (direction: Direction) =>
      (fieldJsonSchema(f.date().spec, direction).anyOf as { minimum?: number }[]).at(-1)!.minimum;
    expect([least('input'), least('query')]).toEqual([Date.parse('0001-01-01'), 100_000_000]);
  });

  test.each([
    ['bigint', { type: 'integer' }],
    ['jsonb', {}],
    ['text[]', { type: 'array', items: { type: 'string' } }],
  ])('of a %s column is %j', (column, schema) => {
    expect(columnType(column).jsonSchema).toEqual(schema);
  });
});
