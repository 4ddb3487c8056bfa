import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const fields = {
  title: f.string().required(),
  slug: f.string().unique(),
  secretSlug: f.string().unique().hidden(),
  secretPart: f.string().hidden(),
  once: f.string().immutable(),
  shown: f.string().readOnly(),
  pin: f.string().writeOnly(),
  forAdmins: f.string().writableBy('admin'),
  forOwner: f.string().writableBy('owner'),
  forDrafts: f
    .string()
    .writableBy(({ doc, user, action }) => (action === 'create' ? user !== undefined : doc.title === 'draft')),
  adminOnly: f.string().writableBy('admin').visibleTo('admin'),
  place: f.object({ city: f.string(), deep: f.object({ a: f.string() }) }),
  list: f.array(f.object({ a: f.string() })),
  author: f.ref('user').owner(),
};
const policies = {
  list: 'public',
  read: 'public',
  create: 'authenticated',
  update: 'authenticated',
  delete: 'authenticated',
};
const indexes = [
  { fields: ['title', '-once'], unique: true },
  { fields: ['title', 'secretPart', 'pin', 'adminOnly'], unique: true },
];
const note = defineResource('note', { fields, policies, indexes });
const plain = defineResource('plain', {
  fields: {
    title: f.string(),
    holder: f.ref('user'),
    broken: f
      .string()
      .max(3)
      .default(() => 'too long'),
  },
  owner: 'holder',
});
const { app, call, person } = await startTestApp({ resources: [defineUser(), note, plain] });
const strict = defineResource('note', { fields, policies });
const lenient = await startTestApp({ resources: [defineUser(), strict], settings: { unknownFields: 'strip' } });
const [ann, bob, admin] = [await person('Ann'), await person('Bob'), await person('Root', ['user', 'admin'])];
const denied = 'You are not allowed to set this field';
let count = 0;
const title = () => `title ${++count}`;
const make = async (values: object = {}) =>
  (await ann.call('POST', '/api/notes', { title: title(), ...values })).body.data;
const change = (as: typeof call, id: string, values: object) => as('PATCH', `/api/notes/${id}`, values);

test('writableBy is evaluated per record, for a role, the owner and a function', async () => {
  const { id } = await make();
  const draft = await make({ title: 'draft' });
  const every = { forAdmins: 'x', forOwner: 'x', forDrafts: 'x' };
  expect((await change(ann.call, id, every)).body.error.details).toEqual({ forAdmins: denied, forDrafts: denied });
  expect((await change(bob.call, id, every)).body.error.details).toEqual({
    forAdmins: denied,
    forOwner: denied,
    forDrafts: denied,
  });
  expect((await change(admin.call, id, every)).body.error.details).toEqual({ forOwner: denied, forDrafts: denied });
  expect((await change(ann.call, id, { forOwner: 'mine' })).body.data.forOwner).toBe('mine');
  expect((await change(bob.call, draft.id, { forDrafts: 'yes' })).body.data.forDrafts).toBe('yes');
});

test('on create the creator is the owner, for writableBy too', async () => {
  expect(await make({ forOwner: 'mine', forDrafts: 'x' })).toMatchObject({ forOwner: 'mine', forDrafts: 'x' });
  const { status, body } = await ann.call('POST', '/api/notes', { title: title(), forAdmins: 'x' });
  expect([status, body.error.details]).toEqual([422, { forAdmins: denied }]);
});

test('a field that the user may neither set nor see is refused with null as well', async () => {
  const { id } = await make();
  expect((await change(ann.call, id, { adminOnly: null })).body.error.details).toEqual({ adminOnly: denied });
  expect((await change(ann.call, id, { shown: null })).body.error.details).toEqual({ shown: 'Is read-only' });
  expect((await change(ann.call, id, { once: null })).body.error.details).toEqual({
    once: 'Cannot be changed after creation',
  });
});

test('a writeOnly field is accepted and never returned, and a readOnly one is set by code', async () => {
  const made = await make({ pin: '1234' });
  expect(made).not.toHaveProperty('pin');
  expect(await app.service('note').read(made.id)).toMatchObject({ pin: '1234' });
  await app.service('note').update(made.id, { shown: 'by code', once: 'late' });
  expect((await call('GET', `/api/notes/${made.id}`)).body.data).toMatchObject({ shown: 'by code', once: 'late' });
});

test('a duplicate responds 409 on update too, names its field, and does not reveal the conflicting record', async () => {
  const [one, two] = [await make({ slug: 'taken' }), await make({ slug: 'free' })];
  const { status, body } = await change(bob.call, two.id, { slug: 'taken' });
  expect([status, body.error.code, body.error.details]).toEqual([409, 'CONFLICT', { slug: 'Is already taken' }]);
  expect(JSON.stringify(body)).not.toMatch(new RegExp(`${one.id}|${ann.id}|notes_`));
  expect((await change(bob.call, one.id, { slug: 'taken' })).status).toBe(200);
});

test('a duplicate in an index over several fields names those visible to every viewer', async () => {
  const { title: same } = await make({ once: 'a' });
  const { status, body } = await ann.call('POST', '/api/notes', { title: same, once: 'a' });
  expect([status, body.error.code, body.error.details]).toEqual([
    409,
    'CONFLICT',
    { title: 'Is already taken together with once', once: 'Is already taken together with title' },
  ]);
  const invalidValues = { title: title(), secretPart: 'x', pin: '1', adminOnly: 'y' };
  await app.service('note').create(invalidValues);
  await expect(app.service('note').create({ ...invalidValues, once: 'other' })).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { title: 'Is already taken' },
  });
});

test('a duplicate in a hidden field responds 409 without naming the field', async () => {
  await app.service('note').create({ title: title(), secretSlug: 'x' });
  await expect(app.service('note').create({ title: title(), secretSlug: 'x' })).rejects.toMatchObject({
    code: 'CONFLICT',
    details: undefined,
  });
});

test('unknownFields strip drops undeclared fields at every depth, and still refuses fields that the user may not set', async () => {
  const { body } = await lenient.call('POST', '/api/auth/register', {
    name: 'Eve',
    email: 'eve@example.com',
    password: 'correct horse battery',
    nope: 1,
  });
  const headers = { authorization: `Bearer ${body.data.token}` };
  const text =
    '{"title":"x","nope":1,"__proto__":{"a":1},"_id":1,"place":{"city":"Bern","nope":1,"__proto__":{"a":1},"deep":{"b":1}},"list":[{"a":"x","b":1}]}';
  const made = await lenient.call('POST', '/api/notes', text, headers);
  expect(made.body.data).toMatchObject({ title: 'x', place: { city: 'Bern', deep: {} }, list: [{ a: 'x' }] });
  expect(JSON.stringify(made.body)).not.toMatch(/nope|__proto__|"b"/);
  const { status, body: refused } = await lenient.call('POST', '/api/notes', { title: 'x', shown: 'x' }, headers);
  expect([status, refused.error.details]).toEqual([422, { shown: 'Is read-only' }]);
});

test('the owner option turns a field into the owner: set from the session, read-only, and used by policies', async () => {
  const broken = await ann.call('POST', '/api/plains', { title: 'x' });
  expect([broken.status, JSON.stringify(broken.body)]).toEqual([500, expect.not.stringContaining('too long')]);
  const made = await ann.call('POST', '/api/plains', { title: 'x', broken: 'ok' });
  expect(made.body.data).toMatchObject({ holder: ann.id });
  expect((await bob.call('PATCH', `/api/plains/${made.body.data.id}`, { title: 'y' })).status).toBe(403);
  expect((await ann.call('PATCH', `/api/plains/${made.body.data.id}`, { holder: bob.id })).body.error.details).toEqual({
    holder: 'Is read-only',
  });
  expect((await ann.call('PATCH', `/api/plains/${made.body.data.id}`, { title: 'y' })).status).toBe(200);
});

test('concurrent updates are all kept, and each response contains its own values', async () => {
  const { id } = await make();
  const names = ['slug', 'forOwner', 'pin'] as const;
  const responses = await Promise.all(names.map((name) => change(ann.call, id, { [name]: `${name}-value` })));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  const stored = await app.service('note').read(id);
  for (const name of names) expect(stored[name]).toBe(`${name}-value`);
});

test('an update changes updatedAt and keeps createdAt', async () => {
  const made = await make();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { body } = await change(ann.call, made.id, { slug: 'moved' });
  expect(body.data.createdAt).toBe(made.createdAt);
  expect(Date.parse(body.data.updatedAt)).toBeGreaterThan(Date.parse(made.updatedAt));
});

test('code receives the same errors as a client: fields, statuses, codes', async () => {
  const notes = app.service('note');
  await expect(notes.create({ title: '', nope: 1 } as never)).rejects.toMatchObject({
    status: 422,
    code: 'VALIDATION_ERROR',
    details: { title: 'Is required', nope: 'Unknown field' },
  });
  await expect(notes.read('zzz')).rejects.toMatchObject({ status: 404 });
  await expect(notes.update('\0', {})).rejects.toMatchObject({ status: 404 });
  await expect(notes.delete('0123456789abcdef01234567')).rejects.toMatchObject({ status: 404 });
  await expect(notes.list({ nope: 1 })).rejects.toMatchObject({ status: 400 });
  expect(() => (app.service as (name: string) => unknown)('nope')).toThrow(
    'there is no resource "nope"; resources: user, note, plain',
  );
});
