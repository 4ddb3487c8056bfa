import { beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

/** The records that the policy functions received, one copy per call. */
const docs: Record<string, unknown>[] = [];

const order = defineResource('order', {
  fields: {
    title: f.string().required(),
    code: f.string().uppercase(),
    mail: f.email(),
    state: f.enum(['new', 'old']).default('new'),
    secret: f.string().hidden().default('by default'),
    pass: f.password(),
    shout: f.string().schema(z.string().transform((text) => `${text}!`)),
    place: f.object({ city: f.string(), zip: f.string().default('0000') }),
    even: f.integer().check((n) => n % 2 === 0 || 'Must be even'),
    price: f.integer().writableBy(({ doc }) => {
      docs.push(structuredClone(doc));
      doc.place ??= {};
      doc.place.city = 'changed by a policy';
      return doc.title.startsWith('x');
    }),
    discount: f.integer().writableBy(['admin', ({ doc }) => doc.title.length > 3]),
    author: f.ref('user').owner(),
  },
  policies: { create: 'public', read: 'public' },
});
const lenientOrder = defineResource('order', { fields: order.fields, policies: { create: 'public' } });

const { app, call, person } = await startTestApp({ resources: [defineUser(), order] });
const lenient = await startTestApp({
  resources: [defineUser(), lenientOrder],
  settings: { unknownFields: 'strip' },
});
const [ann, admin] = [await person('Ann'), await person('Root', ['user', 'admin'])];
const denied = 'You are not allowed to set this field';
const create = (body: object, as = ann.call) => as('POST', '/api/orders', body);
beforeEach(() => void docs.splice(0));

test.each([
  ['of the wrong type', { title: 5 }, { title: 'Must be a string' }],
  ['missing', {}, { title: 'Is required' }],
  ['unknown', { title: 'xyz', nope: 1 }, { nope: 'Unknown field' }],
  ['read-only', { title: 'xyz', secret: 'x' }, { secret: 'Is read-only' }],
  ['rejected by a check', { title: 'xyz', even: 1 }, { even: 'Must be even' }],
  ['itself invalid', { title: 'xyz', price: 1.5 }, { price: 'Must be a whole number' }],
])(
  'on create a function is not called if a field is %s, and the 422 reports that field',
  async (_what, body, details) => {
    const response = await create({ price: 3, ...body });
    expect([response.status, response.body.error.details, docs]).toEqual([422, details, []]);
  },
);

test('on create a function receives the record as it would be stored: normalized, with defaults and owner', async () => {
  const sent = { title: ' xyz ', code: 'ab', mail: 'A@B.co', shout: 'hey', place: { city: ' Bern ' }, price: 3 };
  const own = { id: '0123456789abcdef01234567', createdAt: '2020-01-01', updatedAt: 'x' };
  const { status, body } = await create({ ...sent, ...own, pass: 'correct horse battery' });
  expect(docs).toEqual([
    {
      title: 'xyz',
      code: 'AB',
      mail: 'a@b.co',
      state: 'new',
      secret: 'by default',
      shout: 'hey!',
      place: { city: 'Bern', zip: '0000' },
      price: 3,
      author: ann.id,
    },
  ]);
  expect([status, body.data.place.city]).toEqual([201, 'Bern']);
});

test('unknown fields that are dropped do not reach a function', async () => {
  const { body } = await lenient.call('POST', '/api/orders', { title: 'no', nope: 1, price: 3 });
  expect([body.error.details, docs]).toEqual([
    { price: denied },
    [{ title: 'no', state: 'new', secret: 'by default', price: 3 }],
  ]);
});

test('every refused field is reported, and one allowing function or role accepts the value', async () => {
  expect((await create({ title: 'no', price: 3, discount: 1 })).body.error.details).toEqual({
    price: denied,
    discount: denied,
  });
  expect((await create({ title: 'no', price: null })).body.error.details).toEqual({ price: denied });
  expect((await create({ title: 'xyz', price: 3 })).body.data.price).toBe(3);
  expect((await create({ title: 'no', discount: 1 }, admin.call)).body.data.discount).toBe(1);
  expect((await create({ title: 'long', discount: 1 }, call)).body.data.discount).toBe(1);
  await app.service('order').create({ title: 'no', price: 3 });
  await expect(app.service('order').create({ title: 'no', price: 3 }, { user: { id: ann.id } })).rejects.toMatchObject({
    details: { price: denied },
  });
});
