// f.json(schema): the schema validates the values of a json field and gives them their types.
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import type { StandardSchema } from '../../../src/platform/helpers/standard-schema.ts';
import { startTestApp } from '../../support/app.ts';

/** The same settings in each library: a theme, sizes from 1 to 9, and a name that is trimmed. */
const libraries = {
  zod: z.strictObject({
    theme: z.enum(['dark', 'light']),
    sizes: z.array(z.number().max(9, 'At most 9')).optional(),
    name: z.string().trim().default('none'),
  }),
  valibot: v.strictObject({
    theme: v.picklist(['dark', 'light']),
    sizes: v.optional(v.array(v.pipe(v.number(), v.maxValue(9, 'At most 9')))),
    name: v.optional(v.pipe(v.string(), v.trim()), 'none'),
  }),
  arktype: type({
    '+': 'reject',
    theme: "'dark' | 'light'",
    'sizes?': type('number')
      .narrow((n, ctx) => n <= 9 || ctx.reject({ message: 'At most 9' }))
      .array(),
    name: [type('string').pipe((text) => text.trim()), '=', 'none'],
  }),
} satisfies Record<string, StandardSchema>;

const open = { list: 'public', create: 'public', read: 'public', update: 'public' } as const;
const resources = Object.entries(libraries).map(([name, schema]) =>
  defineResource(name, {
    fields: {
      settings: f.json(schema as StandardSchema<{ theme: string }>).filterable(),
      many: f.array(f.json(schema as StandardSchema)),
      inside: f.object({ deep: f.json(schema as StandardSchema) }),
    },
    policies: open,
  }),
);

const returning = (output: unknown) => z.unknown().transform(() => output);
const cyclic: unknown[] = [];
cyclic.push(cyclic);
const outputs = {
  date: [returning({ at: new Date(0) }), 'a Date at "value.at"'],
  missing: [returning({ list: [1, undefined] }), 'undefined at "value.list.1"'],
  whole: [returning(undefined), 'undefined at "value"'],
  bigint: [returning([{ n: 1n }]), 'a bigint at "value.0.n"'],
  method: [returning({ run: () => 1 }), 'a function at "value.run"'],
  infinite: [returning(Number.POSITIVE_INFINITY), 'Infinity at "value"'],
  map: [returning({ map: new Map() }), 'a Map at "value.map"'],
  cyclic: [returning({ cyclic }), 'an object that contains itself at "value.cyclic.0"'],
} as const;
const wrong = Object.entries(outputs).map(([name, [schema]]) =>
  defineResource(`wrong-${name}`, { fields: { value: f.json(schema) }, policies: open }),
);

const slow = z.object({ code: z.string().refine(async (code) => code !== 'taken', 'Already taken') });
const order: string[] = [];
const rules = defineResource('rule', {
  fields: {
    checked: f
      .json(z.object({ from: z.number(), to: z.number() }))
      .check(({ from, to }) => {
        order.push('check');
        return from <= to || 'Not in order';
      })
      .schema(
        z.object({ from: z.number(), to: z.number() }).transform((range) => {
          order.push('schema');
          return { ...range, length: range.to - range.from };
        }),
      ),
    later: f.json(slow),
    sealed: f.json(z.object({ pin: z.string().min(4, 'Too short') })).encrypted(),
    needed: f
      .json(z.object({ a: z.number() }))
      .required('Needed')
      .default({ a: 1 }),
    plain: f.json(),
  },
  policies: open,
});
const { app, call } = await startTestApp({ resources: [defineUser(), ...resources, ...wrong, rules] });

describe.each(Object.keys(libraries))('with %s', (name) => {
  const path = `/api/${name === 'zod' ? 'zods' : `${name}s`}`;

  test('the output of the schema is stored and returned', async () => {
    const settings = { theme: 'dark', sizes: [1, 9], name: ' x ' };
    const { status, body } = await call('POST', path, {
      settings,
      many: [{ theme: 'light' }],
      inside: { deep: settings },
    });
    expect([status, body.error]).toEqual([201, undefined]);
    expect(body.data).toMatchObject({
      settings: { theme: 'dark', sizes: [1, 9], name: 'x' },
      many: [{ theme: 'light', name: 'none' }],
      inside: { deep: { theme: 'dark', sizes: [1, 9], name: 'x' } },
    });
    const { body: changed } = await call('PATCH', `${path}/${body.data.id}`, { settings: { theme: 'light' } });
    expect(changed.data.settings).toEqual({ theme: 'light', name: 'none' });
    const { body: cleared } = await call('PATCH', `${path}/${body.data.id}`, { settings: null });
    expect(cleared.data.settings).toBeUndefined();
    expect((await call('GET', `${path}?settings[exists]=false`)).body.meta.total).toBe(1);
  });

  test('errors name the path inside the value, also in arrays and objects', async () => {
    const bad = { theme: 'blue', sizes: [1, 10], name: 'x' };
    const { status, body } = await call('POST', path, {
      settings: bad,
      many: [{ theme: 'dark' }, bad],
      inside: { deep: bad },
    });
    expect(status).toBe(422);
    expect(Object.keys(body.error.details).sort()).toEqual([
      'inside.deep.sizes.1',
      'inside.deep.theme',
      'many.1.sizes.1',
      'many.1.theme',
      'settings.sizes.1',
      'settings.theme',
    ]);
    expect(body.error.details['settings.sizes.1']).toMatch(/At most 9/);
    for (const settings of [{ theme: 'dark', more: 1 }, [], 'text', 5, { ['__proto__']: 1 }])
      expect((await call('POST', path, { settings })).status).toBe(422);
  });
});

test.each(Object.entries(outputs))(
  'an output that is not JSON is an error that names it: %s',
  async (name, [, text]) => {
    const service = app.service(`wrong-${name}`);
    await expect(service.create({ value: {} })).rejects.toThrow(
      `The schema of a json field returned ${text}, which JSON cannot hold`,
    );
    const { status, body } = await call('POST', `/api/wrong-${name}s`, { value: {} });
    expect([status, body.error.code]).toEqual([500, 'INTERNAL']);
    expect(JSON.stringify(body)).not.toContain('schema');
  },
);

test('asynchronous schemas work, and encrypted values are validated before they are encrypted', async () => {
  expect((await call('POST', '/api/rules', { later: { code: 'taken' } })).body.error.details).toEqual({
    'later.code': 'Already taken',
  });
  expect((await call('POST', '/api/rules', { sealed: { pin: '1' } })).body.error.details).toEqual({
    'sealed.pin': 'Too short',
  });
  const { body } = await call('POST', '/api/rules', { later: { code: 'free', more: 1 }, sealed: { pin: '1234' } });
  expect(body.data).toMatchObject({ later: { code: 'free' }, sealed: { pin: '1234' }, needed: { a: 1 } });
});

test('the schema runs before check, and check before schema()', async () => {
  const wrongType = await call('POST', '/api/rules', { checked: { from: 'x', to: 2 } });
  expect(Object.keys(wrongType.body.error.details)).toEqual(['checked.from']);
  const unordered = await call('POST', '/api/rules', { checked: { from: 3, to: 2 } });
  expect(unordered.body.error.details).toEqual({ checked: 'Not in order' });
  order.length = 0;
  const { body } = await call('POST', '/api/rules', { checked: { from: 1, to: 3 } });
  expect(body.data.checked).toEqual({ from: 1, to: 3, length: 2 });
  expect(order).toEqual(['check', 'schema']);
});

test('json fields without a schema accept any JSON, as before', async () => {
  for (const plain of [1, 'x', [null], { a: { b: true } }])
    expect((await call('POST', '/api/rules', { plain })).body.data.plain).toEqual(plain);
});

test('the limits of bodies apply', async () => {
  let deep: unknown = 1;
  for (let i = 0; i < 40; i++) deep = [deep];
  expect((await call('POST', '/api/rules', { later: { code: 'x', deep } })).status).toBe(422);
  const keys = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]));
  expect((await call('POST', '/api/rules', { later: { code: 'x', ...keys } })).status).toBe(422);
});

test('wrong schemas and defaults are configuration errors', () => {
  const resource = defineResource('thing', {
    fields: {
      text: f.json('x' as never),
      preset: f.json(z.object({ a: z.number({ error: 'Must be a number' }) })).default({ a: 'x' } as never),
      fine: f.json(slow).default({ code: 'free' }),
    },
  });
  const start = () =>
    createApp(
      { resources: [defineUser(), resource] },
      { NODE_ENV: 'test', DATABASE_URL: 'postgres://x', REDIS_URL: 'redis://x' },
    );
  expect(start).toThrow('field "text": json() takes a Standard Schema');
  expect(start).toThrow(`field "preset": default() violates the field's own rules: Must be a number`);
  expect(start).not.toThrow(/field "fine"/);
});
