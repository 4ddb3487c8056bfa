import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const seen: { hook: string; args: unknown[] }[] = [];
const note = (hook: string, ...args: unknown[]) => void seen.push({ hook, args });

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(20),
    slug: f.string().max(20),
    stamp: f.string().hidden(),
    shout: f.string().schema(z.string().transform((text) => `${text}!`)),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', update: 'public', create: 'public', delete: 'public' },
  hooks: {
    beforeCreate(values, { user, req }) {
      note('beforeCreate', { ...values }, user?.name, req?.method);
      if (values.title === 'forbidden') throw new ApiError('FORBIDDEN', 'Not this title');
      if (values.title === 'broken') throw new Error('inside');
      if (values.title === 'false') return false;
      if (values.title === 'invalid') return { ...values, slug: 'x'.repeat(30) };
      if (values.title === 'mutated') {
        values.slug = ' by mutation ';
        return;
      }
      if (values.title === 'mutated badly') {
        values.slug = 5 as never;
        return;
      }
      return { ...values, slug: values.title.toLowerCase(), stamp: 'by hook' };
    },
    afterCreate: (record, { user }) => note('afterCreate', record.id, user?.name),
    beforeUpdate(changes, record) {
      note('beforeUpdate', { ...changes }, record.title);
      if (changes.title === 'false') return Promise.resolve(false);
      const { slug: _dropped, ...rest } = changes;
      return rest;
    },
    afterUpdate: (record, previous) => note('afterUpdate', record.title, previous.title),
    beforeDelete(record) {
      note('beforeDelete', record.title);
      if (record.title === 'kept') throw new ApiError('CONFLICT', 'Keep it');
      return record.title !== 'not removed';
    },
    afterDelete: (record) => note('afterDelete', record.title),
  },
});

const events: Record<string, unknown>[] = [];
const { app, call, person } = await startTestApp({
  resources: [defineUser(), post],
  listeners(made) {
    for (const name of ['post.created', 'post.updated', 'post.deleted']) {
      made.on<Record<string, unknown>>(name, (payload) => void events.push(payload));
    }
    made.on('post.created', () => {
      throw new Error('a listener that fails');
    });
  },
});
const ann = await person('Ann');

test('hooks run around each write, with the values, the record, the user and the request', async () => {
  seen.length = 0;
  const { body } = await ann.call('POST', '/api/posts', { title: ' Hello ' });
  expect(body.data).toMatchObject({ title: 'Hello', slug: 'hello' });
  expect(body.data).not.toHaveProperty('stamp');
  await ann.call('PATCH', `/api/posts/${body.data.id}`, { title: 'Other', slug: 'sent' });
  expect((await call('GET', `/api/posts/${body.data.id}`)).body.data).toMatchObject({ title: 'Other', slug: 'hello' });
  await ann.call('DELETE', `/api/posts/${body.data.id}`);
  expect(seen).toEqual([
    { hook: 'beforeCreate', args: [{ title: 'Hello', author: ann.id }, 'Ann', 'POST'] },
    { hook: 'afterCreate', args: [body.data.id, 'Ann'] },
    { hook: 'beforeUpdate', args: [{ title: 'Other', slug: 'sent' }, 'Hello'] },
    { hook: 'afterUpdate', args: ['Other', 'Hello'] },
    { hook: 'beforeDelete', args: ['Other'] },
    { hook: 'afterDelete', args: ['Other'] },
  ]);
});

test('a hook refuses by throwing: an ApiError is the response, any other error a 500 without details', async () => {
  const forbidden = await ann.call('POST', '/api/posts', { title: 'forbidden' });
  expect([forbidden.status, forbidden.body.error.message]).toEqual([403, 'Not this title']);
  const broken = await ann.call('POST', '/api/posts', { title: 'broken' });
  expect([broken.status, JSON.stringify(broken.body)]).toEqual([500, expect.not.stringContaining('inside')]);
  const { id } = await app.service('post').create({ title: 'kept' });
  expect((await ann.call('DELETE', `/api/posts/${id}`)).status).toBe(409);
  expect((await call('GET', `/api/posts/${id}`)).status).toBe(200);
});

test('a before hook that returns false is an error of the project, and nothing is written', async () => {
  const posts = app.service('post');
  const { id } = await posts.create({ title: 'not removed' });
  const message = 'a hook returned false, which does not stop the write; to refuse it, throw an ApiError';
  await expect(posts.create({ title: 'false' })).rejects.toThrow(message);
  await expect(posts.update(id, { title: 'false' })).rejects.toThrow(message);
  await expect(posts.delete(id)).rejects.toThrow(message);
  expect((await posts.read(id)).title).toBe('not removed');
  for (const [method, path, body] of [
    ['POST', '', { title: 'false' }],
    ['PATCH', `/${id}`, { title: 'false' }],
    ['DELETE', `/${id}`, undefined],
  ] as const) {
    expect((await ann.call(method, `/api/posts${path}`, body)).status).toBe(500);
  }
});

test('values changed by a hook are validated, whether it returns them or modifies its argument', async () => {
  expect((await ann.call('POST', '/api/posts', { title: 'invalid' })).body.error.details).toEqual({
    slug: 'Must be at most 20 characters',
  });
  expect((await ann.call('POST', '/api/posts', { title: 'mutated badly' })).body.error.details).toEqual({
    slug: 'Must be a string',
  });
  expect((await ann.call('POST', '/api/posts', { title: 'mutated' })).body.data.slug).toBe('by mutation');
});

test('values that a hook leaves unchanged are not transformed a second time', async () => {
  expect((await ann.call('POST', '/api/posts', { title: 'Once', shout: 'hey' })).body.data.shout).toBe('hey!');
});

test('a listener receives the change with the stored record, and a failing listener affects no other', async () => {
  events.length = 0;
  const made = await ann.call('POST', '/api/posts', { title: 'Told' }, { 'x-request-id': 'my-request' });
  expect(made.status).toBe(201);
  await app.service('post').update(made.body.data.id, { title: 'Told again' });
  await app.service('post').delete(made.body.data.id);
  expect(events).toMatchObject([
    {
      resource: 'post',
      action: 'created',
      record: { title: 'Told', stamp: 'by hook' },
      previous: undefined,
      user: { id: ann.id },
      requestId: 'my-request',
    },
    { action: 'updated', record: { title: 'Told again' }, previous: { title: 'Told' }, user: undefined },
    { action: 'deleted', record: { title: 'Told again' } },
  ]);
});
