import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import type { StandardSchema } from '../../../src/platform/helpers/standard-schema.ts';
import { startTestApp } from '../../support/app.ts';

/** The same rules in each library: a text that is not "bad" and gets "!", an ordered pair of numbers, an object with tags. */
interface Library {
  shout: StandardSchema<string>;
  /** Asynchronous if the library supports it. */
  later: StandardSchema<string>;
  range: StandardSchema<{ from: number; to: number }>;
  form: StandardSchema<{ tags: string[] }>;
}

const libraries: Record<string, Library> = {
  zod: {
    shout: z
      .string()
      .refine((text) => text !== 'bad', 'Not bad')
      .transform((text) => `${text}!`),
    later: z
      .string()
      .refine(async (text) => text !== 'bad', 'Not bad')
      .transform(async (text) => `${text}!`),
    range: z
      .object({ from: z.number(), to: z.number() })
      .refine(({ from, to }) => from <= to, { path: ['to'], error: 'Not below from' }),
    form: z.object({ tags: z.array(z.string().min(2, 'Longer')) }),
  },
  valibot: {
    shout: v.pipe(
      v.string(),
      v.check((text) => text !== 'bad', 'Not bad'),
      v.transform((text) => `${text}!`),
    ),
    later: v.pipeAsync(
      v.string(),
      v.checkAsync(async (text) => text !== 'bad', 'Not bad'),
      v.transformAsync(async (text) => `${text}!`),
    ),
    range: v.pipe(
      v.object({ from: v.number(), to: v.number() }),
      v.forward(
        v.partialCheck([['from'], ['to']], ({ from, to }) => from <= to, 'Not below from'),
        ['to'],
      ),
    ),
    form: v.object({ tags: v.array(v.pipe(v.string(), v.minLength(2, 'Longer'))) }),
  },
  arktype: {
    shout: type('string')
      .narrow((text, ctx) => text !== 'bad' || ctx.reject({ message: 'Not bad' }))
      .pipe((text) => `${text}!`),
    later: type('string')
      .narrow((text, ctx) => text !== 'bad' || ctx.reject({ message: 'Not bad' }))
      .pipe((text) => `${text}!`),
    range: type({ from: 'number', to: 'number' }).narrow(
      ({ from, to }, ctx) => from <= to || ctx.reject({ path: ['to'], message: 'Not below from' }),
    ),
    form: type({
      tags: type('string')
        .narrow((text, ctx) => text.length > 1 || ctx.reject({ message: 'Longer' }))
        .array(),
    }),
  },
};

const open = { create: 'public', read: 'public', update: 'public' } as const;
const range = () => f.object({ from: f.integer().required(), to: f.integer().required() });
const fieldsOf = ({ shout, later, range: ordered, form }: Library): Record<string, AnyField> => ({
  short: f.string().max(5).schema(shout),
  later: f.string().max(5).schema(later),
  secret: f.string().encrypted().schema(shout),
  ordered: range().schema(ordered),
  form: f.json().schema(form),
  texts: f.array(f.string().max(5).schema(shout)),
  ranges: f.array(range().schema(ordered)),
  inside: f.object({ text: f.string().schema(later), range: range().schema(ordered), plain: f.string() }),
  outer: f.array(f.string().schema(shout)).schema({
    '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: [...(value as string[])].reverse() }) },
  }),
});
const resources = Object.entries(libraries).map(([name, library]) =>
  defineResource(name, { fields: fieldsOf(library), policies: open }),
);

const standard = (validate: (value: unknown) => unknown): StandardSchema => ({
  '~standard': { version: 1, vendor: 'test', validate: validate as StandardSchema['~standard']['validate'] },
});
const giving = (value: unknown) => standard(() => ({ value }));
const odd = defineResource('odd', {
  fields: {
    keyed: f.json().schema(standard(() => ({ issues: [{ message: 'Here', path: [{ key: 'a' }, 0, { key: 'b' }] }] }))),
    wordless: f.string().schema(standard(() => ({ issues: [] }))),
    twofold: f.string().schema(standard(() => ({ issues: [{ message: 'One' }, { message: 'Two' }] }))),
    thrown: f.string().schema(standard(() => Promise.reject(new Error('secret cause')))),
    nothing: f.string().schema(giving(undefined)),
    cleared: f.string().schema(giving(null)),
    needed: f.string().schema(giving(undefined)).required('Needed').default('x').optional(),
    date: f.date().schema(standard((value) => ({ value: new Date(value as string) }))),
    number: f.string().schema(giving(5)),
    cyclic: f.json().schema(standard(() => ({ value: [1n] }))),
    parts: f.array(f.string()).schema(giving(['a', 5])),
    calls: f.array(f.integer()).schema(standard((value) => ({ value: [...(value as number[]), 1] }))),
  },
  policies: open,
  hooks: {
    beforeCreate(values) {
      if (Array.isArray(values.calls) && values.calls.length === 1) (values.calls as number[]).push(9);
    },
  },
});
const held = defineResource('held', {
  fields: {
    text: f.string().schema(standard((value) => ({ value: JSON.parse(value as string) }))),
    texts: f.array(f.string().schema(standard((value) => ({ value: JSON.parse(value as string) })))),
    integer: f.integer().schema(standard((value) => ({ value: (value as number) * 3 }))),
    half: f.integer().schema(standard((value) => ({ value: (value as number) / 2 }))),
    number: f.number().schema(standard((value) => ({ value: (value as number) * 1e308 }))),
    date: f.date().schema(standard((value) => ({ value: Date.parse(value as string) * 1000 }))),
    json: f.json().schema(standard((value) => ({ value: JSON.parse(value as string) }))),
    indexed: f
      .string()
      .filterable()
      .schema(standard((value) => ({ value: (value as string).repeat(1000) }))),
    items: f
      .array(f.string())
      .filterable()
      .schema(standard((value) => ({ value: (value as string[]).map((text) => text.repeat(1000)) }))),
    pair: f.string().schema(standard((value) => ({ value: (value as string).repeat(1000) }))),
    free: f.string().schema(standard((value) => ({ value: (value as string).repeat(1000) }))),
  },
  indexes: [{ fields: ['pair', 'integer'] }],
  policies: open,
});
const strict = defineResource('strict', {
  fields: { needed: f.string().required('Needed').schema(giving(undefined)) },
  policies: open,
});

const { app, call } = await startTestApp({ resources: [...resources, odd, held, strict] });

describe.each(Object.keys(libraries))('%s', (name) => {
  const path = name === 'valibot' ? '/api/valibots' : name === 'zod' ? '/api/zods' : '/api/arktypes';
  const create = (body: object) => call('POST', path, body);

  test('the output replaces the value at the top level, in arrays and in objects, on create and on update', async () => {
    const range = { from: 1, to: 2 };
    const body = {
      short: ' hello ',
      later: 'hey',
      secret: 'hush',
      ordered: range,
      form: { tags: ['ab'] },
      texts: ['a', 'b'],
      ranges: [range],
      inside: { text: 'in', range, plain: 'p' },
      outer: ['a', 'b'],
    };
    const made = {
      ...body,
      short: 'hello!',
      later: 'hey!',
      secret: 'hush!',
      texts: ['a!', 'b!'],
      inside: { text: 'in!', range, plain: 'p' },
      outer: ['b!', 'a!'],
    };
    const { status, body: response } = await create(body);
    expect([status, response.data]).toEqual([201, expect.objectContaining(made)]);
    const changed = await call('PATCH', `${path}/${response.data.id}`, body);
    expect(changed.body.data).toMatchObject(made);
    expect((await call('GET', `${path}/${response.data.id}`)).body.data).toMatchObject(made);
  });

  test('the schema runs after the built-in rules, and only if they pass', async () => {
    expect((await create({ short: 'toolong', ordered: { from: 2, to: 1 } })).body.error.details).toEqual({
      short: 'Must be at most 5 characters',
    });
    expect((await create({ ordered: { from: 1.5, to: 1 } })).body.error.details).toEqual({
      'ordered.from': 'Must be a whole number',
    });
  });

  test('the path of an issue becomes the path of the detail', async () => {
    const wrong = { from: 2, to: 1 };
    const body = {
      short: 'bad',
      later: 'bad',
      ordered: wrong,
      form: { tags: ['ab', 'c'] },
      texts: ['a', 'bad'],
      ranges: [{ from: 1, to: 2 }, wrong],
      inside: { text: 'bad', range: wrong },
    };
    const { status, body: response } = await create(body);
    expect([status, response.error.details]).toEqual([
      422,
      {
        short: 'Not bad',
        later: 'Not bad',
        'ordered.to': 'Not below from',
        'form.tags.1': 'Longer',
        'texts.1': 'Not bad',
        'ranges.1.to': 'Not below from',
        'inside.text': 'Not bad',
        'inside.range.to': 'Not below from',
      },
    ]);
  });

  test('inner values fail first, so the outer schema does not run', async () => {
    expect((await create({ outer: ['a', 'bad'] })).body.error.details).toEqual({ 'outer.1': 'Not bad' });
  });

  test('records created by code are validated and transformed in the same way', async () => {
    const service = app.service(name as 'zod');
    expect(await service.create({ short: 'x', texts: ['y'] } as never)).toMatchObject({ short: 'x!', texts: ['y!'] });
    await expect(service.create({ short: 'bad' } as never)).rejects.toMatchObject({ details: { short: 'Not bad' } });
  });
});

const details = async (body: object) => (await call('POST', '/api/odds', body)).body.error?.details;

test('an issue may have a path of keys or no message, and of several issues at one path the first is reported', async () => {
  expect(await details({ keyed: 1 })).toEqual({ 'keyed.a.0.b': 'Here' });
  expect(await details({ wordless: 'x' })).toEqual({ wordless: 'Must be valid' });
  expect(await details({ twofold: 'x' })).toEqual({ twofold: 'One' });
});

test('an undefined or null output leaves the field without a value, unless the field is required', async () => {
  const { status, body } = await call('POST', '/api/odds', { nothing: 'x', cleared: 'x' });
  expect([status, Object.keys(body.data).includes('nothing'), Object.keys(body.data).includes('cleared')]).toEqual([
    201,
    false,
    false,
  ]);
  const refused = await call('POST', '/api/stricts', { needed: 'x' });
  expect([refused.status, refused.body.error.details]).toEqual([422, { needed: 'Needed' }]);
});

test('a Date as output is stored as a date', async () => {
  const { body } = await call('POST', '/api/odds', { date: '2026-01-01' });
  expect(body.data.date).toBe('2026-01-01T00:00:00.000Z');
});

test.each([{ number: 'x' }, { cyclic: 1 }, { parts: ['x'] }, { thrown: 'x' }])(
  'an output that the field cannot hold, or a library that throws, is an error of the declaration: %j responds 500',
  async (body) => {
    const { status, body: response } = await call('POST', '/api/odds', body);
    expect([status, response.error.code]).toEqual([500, 'INTERNAL']);
    expect(JSON.stringify(response)).not.toContain('secret cause');
  },
);

const BROKEN = 'Must not contain NUL or broken characters';
test.each<[object, Record<string, string>]>([
  [{ text: '"a\\u0000b"' }, { text: BROKEN }],
  [{ text: '"a\\ud800"' }, { text: BROKEN }],
  [{ texts: ['"a"', '"\\u0000"'] }, { 'texts.1': BROKEN }],
  [{ integer: Number.MAX_SAFE_INTEGER }, { integer: 'Must be a whole number' }],
  [{ half: 3 }, { half: 'Must be a whole number' }],
  [{ number: 10 }, { number: 'Must be a number' }],
  [{ date: '2026-01-01' }, { date: 'Must be a date: an ISO 8601 string or epoch milliseconds' }],
  [{ json: '{"a":["\\u0000"]}' }, { json: 'Must be JSON without NUL or broken characters' }],
  [{ indexed: 'abc' }, { indexed: 'Must be at most 2600 bytes' }],
  [{ items: ['a', 'abc'] }, { 'items.1': 'Must be at most 2600 bytes' }],
  [{ pair: 'ab' }, { pair: 'Must be at most 1300 bytes' }],
])('an output that does not fit into its column or index is a validation error: %j', async (body, details) => {
  const { status, body: response } = await call('POST', '/api/helds', body);
  expect([status, response.error.code, response.error.details]).toEqual([422, 'VALIDATION_ERROR', details]);
});

test('an output that fits is stored', async () => {
  const { status, body } = await call('POST', '/api/helds', { indexed: 'ab', items: ['ab'], pair: 'a', free: 'abcd' });
  expect([status, body.data.free.length]).toEqual([201, 4000]);
});

test('changes of a hook inside a value are validated again, and unchanged values are not transformed twice', async () => {
  expect((await call('POST', '/api/odds', { calls: [1, 2] })).body.data.calls).toEqual([1, 2, 1]);
  expect((await call('POST', '/api/odds', { calls: [] })).body.data.calls).toEqual([1, 9, 1]);
});
