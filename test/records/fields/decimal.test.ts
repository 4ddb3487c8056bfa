// Decimal numbers have the same canonical form and the same order in code and in Postgres.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { fieldJsonSchema, fieldSchema, fieldTypeOf } from '../../../src/records/fields/field-type.ts';
import { compareDecimals, toCanonicalDecimal } from '../../../src/records/fields/types/decimal.ts';
import { startTestApp } from '../../support/app.ts';

const NOT_A_DECIMAL = 'Must be a decimal number, such as "12.5"';
const INEXACT = 'Must be a string: a number in JSON is exact only up to 15 digits';

/** Returns the stored value, or the error message. */
function checked({ spec }: AnyField, value: unknown): unknown {
  const parsed = fieldSchema(spec, 'reject').safeParse(value);
  return parsed.success ? { stored: parsed.data } : parsed.error.issues[0]!.message;
}

const price = f.decimal({ precision: 20, scale: 4 });
const thing = defineResource('thing', {
  fields: {
    price: price.filterable().sortable().min('-1000000000000000'),
    exact: f.decimal().filterable().sortable(),
    code: f.decimal().unique(),
    prices: f.array(f.decimal()).filterable(),
    sealed: f.decimal().encrypted(),
    parts: f.object({ share: f.decimal() }),
    rate: f.decimal().default('1.50'),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  softDelete: true,
});
const sale = defineResource('sale', {
  fields: {
    total: f.decimal({ scale: 2 }).filterable().sortable().aggregatable(),
    tax: f.decimal({ precision: 6, scale: 2 }).default('1.5'),
    code: f.decimal({ scale: 1 }).unique(),
    steps: f.array(f.decimal({ scale: 2 })).filterable(),
    sealed: f.decimal({ scale: 2 }).encrypted(),
    parts: f.object({ share: f.decimal({ scale: 2 }), rest: f.decimal({ scale: 2 }).default(0) }),
    free: f.decimal(),
  },
  aggregates: {},
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
});
const { app, call, env } = await startTestApp({ resources: [defineUser(), thing, sale], extensions: [softDelete()] });
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
/** Returns the first row as an array. */
async function sql(text: string, ...values: unknown[]): Promise<unknown[]> {
  return (await database.query<unknown[]>({ text, values, rowMode: 'array' })).rows[0] ?? [];
}
/** A number as a field with four digits after the point returns it. */
const withScale = (text: string) => {
  const [whole, fraction = ''] = text.split('.');
  return `${whole}.${fraction.padEnd(4, '0')}`;
};
const clear = () => sql('truncate things, things_deleted, outbox');

describe('a decimal number', () => {
  test.each([
    ['12.50', '12.5'],
    ['-0.00', '0'],
    ['007', '7'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['1e3', '1000'],
    ['1E+3', '1000'],
    ['12e-2', '0.12'],
    ['0e9999', '0'],
    ['9007199254740993', '9007199254740993'],
    ['0000000000000000000000000000000000000000000001', '1'],
    [12.5, '12.5'],
    [0.1, '0.1'],
    [1e-7, '0.0000001'],
    [-0, '0'],
    [999999999999999, '999999999999999'],
    [9007199254740990, '9007199254740990'],
    [1e-15, '0.000000000000001'],
  ])('%j is stored as %s', (value, stored) => {
    expect(checked(f.decimal(), value)).toEqual({ stored });
  });

  test.each<[unknown, string]>([
    ['', NOT_A_DECIMAL],
    ['x', NOT_A_DECIMAL],
    [' 1', NOT_A_DECIMAL],
    ['1 ', NOT_A_DECIMAL],
    ['1\n', NOT_A_DECIMAL],
    ['+1', NOT_A_DECIMAL],
    ['--1', NOT_A_DECIMAL],
    ['1,5', NOT_A_DECIMAL],
    ['1_000', NOT_A_DECIMAL],
    ['0x10', NOT_A_DECIMAL],
    ['.', NOT_A_DECIMAL],
    ['1e', NOT_A_DECIMAL],
    ['NaN', NOT_A_DECIMAL],
    ['Infinity', NOT_A_DECIMAL],
    ['١٢', NOT_A_DECIMAL],
    ['１２', NOT_A_DECIMAL],
    ['1e9999', NOT_A_DECIMAL],
    ['1e-9999', NOT_A_DECIMAL],
    ['1e99999999999999999999', NOT_A_DECIMAL],
    [Number.NaN, NOT_A_DECIMAL],
    [Number.POSITIVE_INFINITY, NOT_A_DECIMAL],
    [true, NOT_A_DECIMAL],
    [{}, NOT_A_DECIMAL],
    [['1'], NOT_A_DECIMAL],
    [0.1 + 0.2, INEXACT],
    [2 ** 53, INEXACT],
    [2 ** 53 - 1, INEXACT],
    [1234567890123456, INEXACT],
    [-1234567890123456, INEXACT],
    [12345678901234500, INEXACT],
    [0.1234567890123456, INEXACT],
    [JSON.parse('9007199254740991.4'), INEXACT],
    [JSON.parse('12345678901234501'), INEXACT],
    [1e21, INEXACT],
    ['1e400', 'Must have at most 20 digits before the decimal point'],
    [`1${'0'.repeat(20)}`, 'Must have at most 20 digits before the decimal point'],
    ['0.0000000000000000001', 'Must have at most 18 decimal places'],
  ])('%j is refused: %s', (value, message) => {
    expect(checked(f.decimal(), value)).toBe(message);
  });

  test('with too many characters is refused before it is parsed', () => {
    for (const text of ['9'.repeat(1_000_000), `0.${'0'.repeat(1_000_000)}1`, `1e${'9'.repeat(1_000_000)}`])
      expect(checked(f.decimal(), text)).toBe(NOT_A_DECIMAL);
  });

  test('has at most the digits that its declaration allows, not counting redundant zeros', () => {
    const field = f.decimal({ precision: 3, scale: 1 });
    expect(['99.9', '099.90'].map((value) => checked(field, value))).toEqual([{ stored: '99.9' }, { stored: '99.9' }]);
    expect(checked(field, '7')).toEqual({ stored: '7.0' });
    expect(checked(field, '9.99')).toBe('Must have at most 1 decimal place');
    expect(checked(field, '100')).toBe('Must have at most 2 digits before the decimal point');
    expect(checked(f.decimal({ precision: 2, scale: 2 }), '0.25')).toEqual({ stored: '0.25' });
    expect(checked(f.decimal({ precision: 2, scale: 0 }), '1.5')).toBe('Must have at most 0 decimal places');
  });

  test('out of bounds is refused, however close it is', () => {
    const field = f.decimal().min('0.1').max('12345678901234567890.000000000000000001');
    expect(checked(field, '0.099999999999999999')).toBe('Must be at least 0.1');
    expect(checked(field, '12345678901234567890.000000000000000002')).toBe(
      'Must be at most 12345678901234567890.000000000000000001',
    );
    expect(checked(field, '0.10')).toEqual({ stored: '0.1' });
    expect(checked(f.decimal().min(1, 'Too little'), 0)).toBe('Too little');
  });

  test('is described as a string, and in responses by the pattern of its canonical form', () => {
    expect(fieldJsonSchema(f.decimal({ precision: 5, scale: 2 }).spec, 'output')).toEqual({
      type: 'string',
      format: 'decimal',
      pattern: '^-?(0|[1-9]\\d{0,2})\\.\\d{2}$',
    });
    expect(fieldJsonSchema(f.decimal({ precision: 2 }).spec, 'output')).toMatchObject({
      pattern: '^-?0(\\.\\d{0,1}[1-9])?$',
    });
    const { anyOf } = fieldJsonSchema(f.decimal().spec, 'input') as { anyOf: { type: string }[] };
    expect(anyOf.map(({ type }) => type)).toEqual(['string', 'number']);
    expect(fieldJsonSchema(f.decimal().spec, 'query')).toMatchObject({ type: 'string', format: 'decimal' });
  });

  test('matches the pattern of its declaration in canonical form', () => {
    for (const [precision, scale] of [
      [5, 2],
      [2, 2],
      [3, 0],
      [38, 18],
    ] as const) {
      const { spec } = f.decimal({ precision, scale });
      const pattern = new RegExp(fieldJsonSchema(spec, 'output').pattern as string);
      for (const text of ['0', '0.25', '-0.25', '1', '999', '12.5', '-120.01', '1000']) {
        const result = checked({ spec } as AnyField, text);
        const value = typeof result === 'object' ? String((result as { stored: unknown }).stored) : text;
        expect([text, pattern.test(value)]).toEqual([text, typeof result === 'object']);
      }
      for (const text of ['00', '1.0000000000000000000', '.5', '5.', '1e1', '+1', ''])
        expect(pattern.test(text)).toBe(false);
    }
  });

  test.each<[AnyField, string]>([
    [f.decimal({ precision: 0 }), 'decimal() takes a precision of 1 to 1000 digits, not 0'],
    [f.decimal({ precision: 1001 }), 'decimal() takes a precision of 1 to 1000 digits, not 1001'],
    [f.decimal({ precision: 2, scale: 3 }), 'decimal() takes a scale from 0 to its precision, 2, not 3'],
    [f.decimal({ precision: 2, scale: 0.5 }), 'decimal() takes a scale from 0 to its precision, 2, not 0.5'],
    [f.decimal({ precison: 4 } as object), '"precison" is not an option. Did you mean "precision"?'],
    [f.decimal().min('x'), 'min(x) is not an exact decimal number; give it as a string'],
    [f.decimal().max(0.1 + 0.2), 'max(0.30000000000000004) is not an exact decimal number; give it as a string'],
  ])('%#: with an invalid declaration is reported: %s', ({ spec }, message) => {
    expect(fieldTypeOf(spec).errors!(spec)).toEqual([message]);
  });
});

/** Decimal numbers in various notations. */
const digits = (least: number, most: number) =>
  fc.array(fc.constantFrom(...'0123456789'), { minLength: least, maxLength: most }).map((all) => all.join(''));
const plain = fc
  .tuple(fc.constantFrom('', '-'), digits(1, 24), fc.option(digits(0, 20)))
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}`);
const scientific = fc.tuple(plain, fc.integer({ min: -40, max: 40 })).map(([text, exponent]) => `${text}e${exponent}`);
const written = fc.oneof(plain, plain, scientific);

test('the canonical form of any decimal number is the text that Postgres produces for it', async () => {
  const property = fc.asyncProperty(fc.array(written, { minLength: 50, maxLength: 50 }), async (texts) => {
    const [expected] = await sql(
      'select array_agg(trim_scale(value::numeric)::text order by place) from unnest($1::text[]) with ordinality as given(value, place)',
      texts,
    );
    expect(texts.map(toCanonicalDecimal)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('two decimal numbers have the same order in code and in Postgres', async () => {
  // Includes close pairs that differ only in one additional digit.
  const close = fc
    .tuple(plain, digits(1, 1))
    .map(([a, digit]) => [a, `${a}${a.includes('.') ? '' : '.'}${digit}`] as const);
  const pairs = fc.oneof(fc.tuple(written, written), close);
  const property = fc.asyncProperty(fc.array(pairs, { minLength: 50, maxLength: 50 }), async (given) => {
    const [expected] = await sql(
      `select array_agg(sign(a::numeric - b::numeric)::int order by place)
        from unnest($1::text[], $2::text[]) with ordinality as given(a, b, place)`,
      given.map(([a]) => a),
      given.map(([, b]) => b),
    );
    const actual = given.map(([a, b]) => Math.sign(compareDecimals(toCanonicalDecimal(a)!, toCanonicalDecimal(b)!)));
    expect(actual.map((one) => one + 0)).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('any JSON number of at most 15 digits is stored with the digits that were sent', () => {
  const sent = fc
    .tuple(fc.constantFrom('', '-'), digits(0, 8), digits(1, 7))
    .map(([sign, whole, fraction]) => `${sign}${whole.replace(/^0+(?=\d)/, '') || '0'}.${fraction}`);
  fc.assert(
    fc.property(sent, (text) => {
      expect(checked(f.decimal(), JSON.parse(text))).toEqual({ stored: toCanonicalDecimal(text) });
    }),
  );
});

test('a whole JSON number is stored as it was sent, or refused with a hint to send a string', () => {
  const sent = fc
    .tuple(fc.constantFrom('', '-'), fc.constantFrom('1', '9'), digits(0, 19))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(sent, (text) => {
      const result = checked(f.decimal(), JSON.parse(text));
      if (result !== INEXACT) expect(result).toEqual({ stored: toCanonicalDecimal(text) });
      else expect(text.replace('-', '').length).toBeGreaterThan(15);
    }),
  );
});

describe('the schema of a decimal number in the OpenAPI document', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const bound = fc.constantFrom(undefined, '0', '-0.5', '0.25', '3', '-12345', '12345678901234567890.5');
  const options = fc
    .tuple(fc.integer({ min: 1, max: 40 }), fc.nat())
    .map(([precision, seed]) => ({ precision, scale: seed % (precision + 1) }));
  const fields = fc.tuple(options, bound, bound).map(([declared, min, max]) => {
    let field = f.decimal(declared);
    if (min !== undefined) field = field.min(min);
    if (max !== undefined) field = field.max(max);
    const isZeroOrNone = (one: string | undefined) => one === undefined || one === '0';
    return { field, scale: declared.scale, isBoundExact: isZeroOrNone(min) && isZeroOrNone(max) };
  });
  const zeros = fc.nat(3).map((count) => '0'.repeat(count));
  const padded = fc
    .tuple(fc.constantFrom('', '-'), zeros, digits(0, 22), fc.constantFrom('', '.'), digits(0, 20), zeros)
    .map((parts) => parts.join(''));
  const texts = fc.oneof(
    plain,
    padded,
    padded,
    scientific,
    fc.string(),
    fc.constantFrom('-0', '.', '-.0', '0e5', '+1'),
  );
  const validators = new Map<string, ReturnType<typeof ajv.compile>>();
  const matches = ({ spec }: AnyField, value: unknown, direction: 'input' | 'query' = 'input') => {
    const schema = fieldJsonSchema(spec, direction);
    const key = JSON.stringify(schema);
    const validate = validators.get(key) ?? ajv.compile(schema);
    validators.set(key, validate);
    return validate(value);
  };

  test('accepts every text that the server accepts, and in plain notation within the bounds no other', () => {
    fc.assert(
      fc.property(fields, fc.array(texts, { minLength: 20, maxLength: 20 }), ({ field, isBoundExact }, list) => {
        for (const text of list) {
          const isAccepted = typeof checked(field, text) === 'object';
          const isMatch = matches(field, text);
          if (isAccepted || (isBoundExact && !/e/i.test(text))) expect([text, isMatch]).toEqual([text, isAccepted]);
        }
      }),
    );
  });

  test('accepts every JSON number that the server accepts, and none outside of the bounds', () => {
    const small = fc.tuple(fc.constantFrom('', '-'), digits(1, 10), digits(0, 8));
    const numbers = fc.oneof(
      small.map(([sign, whole, fraction]) => Number(`${sign}${whole}.${fraction}`)),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.maxSafeInteger(),
      fc.constantFrom(2 ** 53 - 1, 9007199254740990, 9007199254740980, 999999999999999, 0.25, 3, -12345),
    );
    fc.assert(
      fc.property(fields, fc.array(numbers, { minLength: 20, maxLength: 20 }), ({ field, scale }, list) => {
        for (const number of list) {
          const result = checked(field, number);
          const isMatch = matches(field, number);
          if (typeof result === 'object') expect([number, isMatch]).toEqual([number, true]);
          // The schema states in words what JSON Schema cannot express: the number of digits.
          else if (isMatch)
            expect(result).toMatch(
              scale === 0 ? /^Must be a string/ : /^Must (be a string|have at most \d+ decimal place)/,
            );
        }
      }),
    );
  });

  test('accepts no text that is longer than the server reads', () => {
    expect([3999, 4000, 4001].map((count) => '0'.repeat(count)).map((text) => matches(f.decimal(), text))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('of a query accepts exactly the texts in plain notation that the server accepts', () => {
    const { fromQuery } = fieldTypeOf(f.decimal().spec);
    const long = [
      '9'.repeat(1000),
      '9'.repeat(1001),
      `.${'9'.repeat(1000)}`,
      `.${'9'.repeat(1001)}`,
      `0${'9'.repeat(1000)}`,
    ];
    fc.assert(
      fc.property(fc.oneof(plain, padded, fc.string(), fc.constantFrom(...long)), (text) => {
        const isAccepted = fromQuery!(text, f.decimal().spec) !== undefined;
        if (isAccepted || !/e/i.test(text))
          expect([text, matches(f.decimal(), text, 'query')]).toEqual([text, isAccepted]);
      }),
    );
  });
});

describe('records with decimal numbers', () => {
  const BIG = '12345678901234567890.123456789012345678';
  const values = {
    price: '12.50',
    exact: BIG,
    code: '1.0',
    prices: ['1.10', 2, BIG],
    sealed: BIG,
    parts: { share: '0.10' },
  };
  const stored = {
    price: '12.5000',
    exact: BIG,
    code: '1',
    prices: ['1.1', '2', BIG],
    sealed: BIG,
    parts: { share: '0.1' },
    rate: '1.5',
  };

  test('keep every digit in responses and events, and after an update and a restore', async () => {
    const seen: Record<string, unknown>[] = [];
    app.on('thing.created', ({ record }: { record: Record<string, unknown> }) => void seen.push({ ...record }));
    const created = (await call('POST', '/api/things', values)).body.data;
    expect(created).toMatchObject(stored);
    expect((await call('GET', `/api/things/${created.id}`)).body.data).toMatchObject(stored);
    const updated = await call('PATCH', `/api/things/${created.id}`, { price: '-0.0001' });
    expect(updated.body.data).toMatchObject({ ...stored, price: '-0.0001' });
    const [payload] = (await sql(
      `select payload from outbox where record_id = $1 and name = 'thing.updated'`,
      created.id,
    )) as [{ record: object; previous: object }];
    expect(payload.previous).toMatchObject({ price: '12.5', exact: BIG, prices: ['1.1', '2', BIG] });
    expect(payload.record).toMatchObject({ price: '-0.0001', exact: BIG });
    await call('DELETE', `/api/things/${created.id}`);
    expect((await call('POST', `/api/things/${created.id}/restore`)).status).toBe(200);
    expect((await call('GET', `/api/things/${created.id}`)).body.data).toMatchObject({ exact: BIG });
    await clear();
  });

  test('are unique by numeric value', async () => {
    expect((await call('POST', '/api/things', { code: '7' })).status).toBe(201);
    expect((await call('POST', '/api/things', { code: '7.00' })).status).toBe(409);
    await clear();
  });

  test('are read in canonical form, whatever notation SQL stored', async () => {
    const { id } = (await call('POST', '/api/things', values)).body.data;
    await sql(`update things set price = 3.0000, prices = '{1.00,20}' where id = $1 returning 1`, id);
    expect((await call('GET', `/api/things/${id}`)).body.data).toMatchObject({ price: '3.0000', prices: ['1', '20'] });
    await clear();
  });

  test.each([
    ['price=12.50', ['12.5']],
    ['price[ne]=12.5', ['-3', '0.5', '9', '100']],
    ['price[in]=9.0,1e2', ['9', '100']],
    ['price[gt]=9', ['12.5', '100']],
    ['price[gte]=9.0', ['9', '12.5', '100']],
    ['price[lt]=0.50000001', ['-3', '0.5']],
    ['price[lte]=-3', ['-3']],
    ['prices=9.0', ['9']],
  ])('are compared as numbers by ?%s', async (query, expected) => {
    for (const value of ['-3', '0.5', '9', '12.5', '100'])
      await call('POST', '/api/things', { price: value, prices: [value] });
    const { body } = await call('GET', `/api/things?sort=price&${query}`);
    expect(body.data.map((record: { price: string }) => record.price)).toEqual(expected.map(withScale));
    await clear();
  });

  test.each(['x', '1e9999', '+1', 'NaN', '9'.repeat(1001)])('respond 400 to ?price=%s', async (text) => {
    const { status, body } = await call('GET', `/api/things?price=${encodeURIComponent(text)}`);
    expect([status, body.error.message]).toEqual([400, 'The query parameter "price" has a value of the wrong type']);
  });

  test('are sorted and paged by value, by cursor in both directions', async () => {
    const given = ['-10', '-9.99', '0', '0.0001', '9', '10', '10.5', '999999999999999.9999', '1000000000000000'];
    for (const value of [...given].sort()) await call('POST', '/api/things', { price: value });
    for (const sort of ['price', '-price']) {
      const found: string[] = [];
      let after: string | undefined;
      do {
        const { body } = await call(
          'GET',
          `/api/things?sort=${sort}&limit=2${after === undefined ? '' : `&after=${after}`}`,
        );
        found.push(...body.data.map((record: { price: string }) => record.price));
        after = body.meta.next;
      } while (after !== undefined && after !== null);
      expect(found).toEqual((sort === 'price' ? given : given.toReversed()).map(withScale));
    }
    await clear();
  });
});

describe('a decimal number with a declared scale', () => {
  const given = { total: '24.5', code: 3, steps: [1, '2.50'], sealed: '-7', parts: { share: '.1' }, free: '2.50' };
  const expected = {
    total: '24.50',
    tax: '1.50',
    code: '3.0',
    steps: ['1.00', '2.50'],
    sealed: '-7.00',
    parts: { share: '0.10', rest: '0.00' },
    free: '2.5',
  };

  test('has that many digits after the point in responses, lists, events and services', async () => {
    const seen: Record<string, unknown>[] = [];
    app.on('sale.created', ({ record }: { record: Record<string, unknown> }) => void seen.push({ ...record }));
    const { id, ...created } = (await call('POST', '/api/sales', given)).body.data;
    expect(created).toMatchObject(expected);
    expect(seen[0]).toMatchObject(expected);
    expect((await call('GET', `/api/sales/${id}`)).body.data).toMatchObject(expected);
    expect((await call('GET', '/api/sales?total=24.5&steps=1')).body.data).toMatchObject([expected]);
    expect(await app.service('sale').list({ total: { in: [24.5] } })).toMatchObject({ data: [expected] });
    expect(await app.service('sale').upsert('code', { ...given, code: '3.00' })).toMatchObject({ id, ...expected });
    const batch = { operations: [{ op: 'upsert', by: 'code', data: { ...given, code: '3' } }] };
    expect((await call('POST', '/api/sales/batch', batch)).body.data[0]).toMatchObject({
      data: { id, ...expected },
    });
    expect(errorOfDetails(await call('POST', '/api/sales', { total: '1.234' }))).toEqual({
      total: 'Must have at most 2 decimal places',
    });
    await app.service('sale').delete(id);
  });

  test('has them in aggregates, however SQL stored the values', async () => {
    const sales = app.service('sale');
    for (const total of ['1', '1', '2.5']) await sales.create({ total });
    await sql('update sales set total = 1.0000 where total = 1');
    const { body } = await call('GET', '/api/sales/aggregate?group=total&sum=total&avg=total&min=total');
    expect(body.data).toMatchObject([
      { group: { total: '1.00' }, sum: { total: '2.00' }, avg: { total: '1.00' }, min: { total: '1.00' } },
      { group: { total: '2.50' }, sum: { total: '2.50' }, avg: { total: '2.50' }, min: { total: '2.50' } },
    ]);
    const all = await call('GET', '/api/sales/aggregate?sum=total&avg=total');
    expect(all.body.data).toMatchObject([{ sum: { total: '4.50' }, avg: { total: '1.50' } }]);
  });
});

const errorOfDetails = ({ body }: { body: { error: { details: object } } }) => body.error.details;
