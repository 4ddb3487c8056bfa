import { expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { create: 'public', read: 'public', update: 'public' } as const;
const say = (name: string) => `Give a ${name}`;

/** A required field of each type, each with its own message. */
const needs = {
  string: f.string().required(say('string')),
  text: f.text().required(say('text')),
  email: f.email().required(say('email')),
  url: f.url().required(say('url')),
  password: f.password().required(say('password')),
  number: f.number().required(say('number')),
  integer: f.integer().required(say('integer')),
  boolean: f.boolean().required(say('boolean')),
  date: f.date().required(say('date')),
  enum: f.enum(['a', 'b']).required(say('enum')),
  key: f.id().required(say('key')),
  ref: f.ref('need').required(say('ref')),
  array: f.array(f.string()).required(say('array')),
  object: f.object({ a: f.string() }).required(say('object')),
  json: f.json().required(say('json')),
};
const names = Object.keys(needs);
const need = defineResource('need', { fields: needs, policies: open });

let made = 0;
const nextNumber = () => ++made;
const preset = defineResource('preset', {
  fields: {
    optional: f.string().required('Never said').optional(),
    later: f.string().optional().required('Said'),
    plain: f.string(),
    both: f.string().required('Said').default('x'),
    counted: f.integer().default(nextNumber),
    normalised: f
      .string()
      .lowercase()
      .default(() => ' ABC '),
    time: f.date().default((() => new Date(0)) as never),
    nothing: f.string().default((() => undefined) as never),
    missing: f.string().default('x'),
    object: f
      .object({ list: f.array(f.string()), counted: f.integer().default(nextNumber) })
      .default({ list: ['x'], counted: 0 }),
    inside: f.object({
      counted: f.integer().default(nextNumber),
      normalised: f
        .string()
        .lowercase()
        .default(() => ' ABC '),
      time: f.date().default((() => new Date(0)) as never),
      shared: f.array(f.string()).default(['x']),
      both: f.string().required('Said').default('x'),
      nothing: f.string().default((() => undefined) as never),
      deep: f.object({ counted: f.integer().default(nextNumber) }).default(() => ({ counted: nextNumber() })),
    }),
    rows: f.array(f.object({ counted: f.integer().default(nextNumber), name: f.string().required('Named') })),
  },
  policies: open,
});
const broken = defineResource('broken', {
  fields: {
    top: f
      .string()
      .max(1)
      .default(() => 'long'),
    inside: f.object({
      x: f
        .string()
        .max(1)
        .default(() => 'long'),
    }),
    empty: f
      .string()
      .required('Empty')
      .default((() => undefined) as never),
    emptyInside: f.object({
      x: f
        .string()
        .required('Empty')
        .default((() => undefined) as never),
    }),
  },
  policies: open,
});
const filled = defineResource('filled', {
  fields: {
    slug: f.string().required().readOnly(),
    secret: f.string().required().hidden(),
    title: f.string().required(),
  },
  policies: open,
  hooks: {
    beforeCreate: (values) => (values.title === 'none' ? values : { ...values, slug: values.title, secret: 'x' }),
  },
});

const { app, call } = await startTestApp({ resources: [need, preset, broken, filled] });
const create = (path: string, body: object) => call('POST', `/api/${path}`, body);

test('a create with required fields missing, null or empty reports each field with its message', async () => {
  const messages = Object.fromEntries(names.map((name) => [name, say(name)]));
  const all = (value: unknown) => Object.fromEntries(names.map((name) => [name, value]));
  for (const body of [{}, all(null), all('')]) {
    const { status, body: response } = await create('needs', body);
    expect([status, response.error.details]).toEqual([422, messages]);
  }
});

test('an update may omit required fields, but cannot clear them', async () => {
  const key = '0123456789abcdef01234567';
  const values = {
    string: 'x',
    text: 'x',
    email: 'a@b.co',
    url: 'http://a.co',
    password: 'correct horse',
    key,
    ref: key,
  };
  const others = { number: 0, integer: 0, boolean: false, date: 0, enum: 'a', array: [], object: {}, json: 0 };
  const { body } = await create('needs', { ...values, ...others });
  expect((await call('PATCH', `/api/needs/${body.data.id}`, { number: 1 })).status).toBe(200);
  for (const name of names.filter((one) => one !== 'password')) {
    for (const empty of [null, '']) {
      const response = await call('PATCH', `/api/needs/${body.data.id}`, { [name]: empty });
      expect([response.status, response.body.error.details]).toEqual([422, { [name]: say(name) }]);
    }
  }
});

test('optional() cancels required(), and required() cancels optional()', async () => {
  expect((await create('presets', {})).body.error.details).toEqual({ later: 'Said' });
  expect((await create('presets', { later: 'x' })).status).toBe(201);
});

test('a default fills a field missing in a create, its function is called for each record, and its value is normalized', async () => {
  const one = (await create('presets', { later: 'x' })).body.data;
  const two = (await create('presets', { later: 'x' })).body.data;
  expect(two.counted).toBeGreaterThan(one.counted);
  expect(one).toMatchObject({
    both: 'x',
    normalised: 'abc',
    time: '1970-01-01T00:00:00.000Z',
    object: { list: ['x'] },
  });
  for (const name of ['nothing', 'plain', 'optional', 'inside', 'rows']) expect(one).not.toHaveProperty(name);
  const sent = (await create('presets', { later: 'x', counted: 7, both: 'y', object: {} })).body.data;
  expect(sent).toMatchObject({ counted: 7, both: 'y', object: { counted: expect.any(Number) } });
  expect(sent.object).not.toHaveProperty('list');
});

test('defaults inside an object and inside the objects of an array are created anew for each of them', async () => {
  const body = { later: 'x', inside: {}, rows: [{ name: 'a' }, { name: 'b' }] };
  const [one, two] = [(await create('presets', body)).body.data, (await create('presets', body)).body.data];
  const counts = [one, two].flatMap(({ inside, rows }) => [
    inside.counted,
    inside.deep.counted,
    ...rows.map((row: { counted: number }) => row.counted),
  ]);
  expect(new Set(counts).size).toBe(8);
  const { normalised, time, shared, both } = one.inside;
  expect({ normalised, time, shared, both }).toEqual({
    normalised: 'abc',
    time: '1970-01-01T00:00:00.000Z',
    shared: ['x'],
    both: 'x',
  });
  expect(one.inside).not.toHaveProperty('nothing');
  const changed = await app.service('preset').create({ later: 'x', inside: {} } as never);
  (changed.inside as { shared: string[] }).shared.push('y');
  expect((await create('presets', { later: 'x', inside: {} })).body.data.inside.shared).toEqual(['x']);
});

test('null for a member with a default sets the default, unless the member is required', async () => {
  const given = await create('presets', { later: 'x', inside: { shared: null, deep: null } });
  expect(given.body.data.inside).toMatchObject({ shared: ['x'], deep: {} });
  const refused = await create('presets', { later: 'x', both: null, inside: { both: null }, rows: [{ name: null }] });
  expect(refused.body.error.details).toEqual({ both: 'Said', 'inside.both': 'Said', 'rows.0.name': 'Named' });
});

test('an update fills only the defaults inside an object that it sends', async () => {
  const { id, counted } = (await create('presets', { later: 'x', both: 'y' })).body.data;
  const { data } = (await call('PATCH', `/api/presets/${id}`, { plain: 'z', inside: {} })).body;
  expect(data).toMatchObject({ counted, both: 'y', plain: 'z', inside: { both: 'x', shared: ['x'] } });
});

test("a default function whose value breaks the field's rules is an error of the declaration: 500 without details", async () => {
  for (const body of [{ empty: 'x' }, { top: 'x', empty: 'x', inside: {} }]) {
    const { status, body: response } = await create('brokens', body);
    expect([status, response.error.code]).toEqual([500, 'INTERNAL']);
    expect(JSON.stringify(response)).not.toContain('default');
  }
});

test('a required field whose default function returns nothing is missing', async () => {
  const { body } = await create('brokens', { top: 'x', emptyInside: {} });
  expect(body.error.details).toMatchObject({ 'emptyInside.x': 'Empty', empty: 'Empty' });
});

test('a hook fills required fields that clients cannot send, and leaving one out is an error of the hook', async () => {
  const { status, body } = await create('filleds', { title: 'hello' });
  expect([status, body.data.slug]).toEqual([201, 'hello']);
  expect((await create('filleds', {})).body.error.details).toEqual({ title: 'Is required' });
  expect((await create('filleds', { title: 'x', slug: 'y' })).body.error.details).toEqual({ slug: 'Is read-only' });
  const missing = await create('filleds', { title: 'none' });
  expect([missing.status, missing.body.error.details]).toEqual([500, undefined]);
});
