import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(20).searchable().sortable(),
    body: f.text().max(1000),
    status: f.enum(['draft', 'published']).default('draft').filterable(),
    tags: f.array(f.string().max(10)).max(3).filterable(),
    score: f.integer().min(0).filterable().sortable(),
    internal: f.string().hidden().default('secret'),
    pin: f.string().writeOnly(),
    rank: f.integer().readOnly().default(1),
    slug: f.string().unique().immutable(),
    author: f.ref('user').owner().populate(),
  },
  policies: { list: 'public', read: 'public', update: 'owner | admin' },
});

const { call, person, app } = await startTestApp({ resources: [defineUser(), post] });
const ann = await person('Ann');
const bob = await person('Bob');
const admin = await person('Root', ['user', 'admin']);

test('a record can be created, read, listed, updated and deleted', async () => {
  const created = await ann.call('POST', '/api/posts', { title: ' Hello ', tags: ['a', 'b'], score: 3 });
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  expect(created.body.data).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    title: 'Hello',
    status: 'draft',
    tags: ['a', 'b'],
    score: 3,
    rank: 1,
    author: expect.objectContaining({ id: ann.id, email: ann.email }),
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updatedAt: created.body.data.createdAt,
  });
  const read = await call('GET', `/api/posts/${id}`);
  expect(read.status).toBe(200);
  expect(read.body.data.author).not.toHaveProperty('email');
  const listed = await call('GET', '/api/posts?tags=a&sort=-score&limit=5');
  expect(listed.body).toMatchObject({ data: [{ id }], meta: { total: 1, page: 1, limit: 5, pages: 1 } });
  const changed = await ann.call('PATCH', `/api/posts/${id}`, { status: 'published', score: null });
  expect(changed.status).toBe(200);
  expect(changed.body.data).toMatchObject({ status: 'published' });
  expect(changed.body.data).not.toHaveProperty('score');
  expect((await bob.call('PATCH', `/api/posts/${id}`, { title: 'x' })).status).toBe(403);
  expect((await admin.call('PUT', `/api/posts/${id}`, { title: 'by admin' })).body.data.title).toBe('by admin');
  expect((await bob.call('DELETE', `/api/posts/${id}`)).status).toBe(403);
  expect((await call('DELETE', `/api/posts/${id}`)).status).toBe(401);
  const deletion = await ann.call('DELETE', `/api/posts/${id}`);
  expect([deletion.status, deletion.body]).toEqual([204, undefined]);
  expect((await call('GET', `/api/posts/${id}`)).status).toBe(404);
});

test('each invalid field has its own message, and all are reported together', async () => {
  const { status, body } = await ann.call('POST', '/api/posts', {
    title: '',
    status: 'lost',
    tags: ['a', 5],
    score: 1.5,
    internal: 'x',
    rank: 2,
    author: bob.id,
    nope: 1,
    id: 'ignored',
    createdAt: 'ignored',
  });
  expect(status).toBe(422);
  expect(body.error).toMatchObject({ code: 'VALIDATION_ERROR', requestId: expect.any(String) });
  expect(body.error.details).toEqual({
    title: 'Is required',
    status: 'Must be one of: draft, published',
    'tags.1': 'Must be a string',
    score: 'Must be a whole number',
    internal: 'Is read-only',
    rank: 'Is read-only',
    author: 'Is read-only',
    nope: 'Unknown field',
  });
});

test('a duplicate of a unique field responds 409 CONFLICT, and of twenty concurrent creates one succeeds', async () => {
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => ann.call('POST', '/api/posts', { title: 'one', slug: 'same' })),
  );
  const statuses = responses.map((response) => response.status).sort();
  expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  expect(responses.find((response) => response.status === 409)!.body.error).toMatchObject({
    code: 'CONFLICT',
    details: { slug: 'Is already taken' },
  });
});

test('an update of an immutable field is refused', async () => {
  const { body } = await ann.call('POST', '/api/posts', { title: 'fixed', slug: 'fixed' });
  const response = await ann.call('PATCH', `/api/posts/${body.data.id}`, { slug: 'other' });
  expect(response.body.error.details).toEqual({ slug: 'Cannot be changed after creation' });
});

test('code without a user acts as the system: it sees hidden fields and skips policies', async () => {
  const made = await app.service('post').create({ title: 'by code', internal: 'for us' });
  expect(made.internal).toBe('for us');
  expect((await app.service('post').list({ q: 'by co' })).data).toHaveLength(1);
  await expect(app.service('post').update(made.id, { title: 'x' }, { user: { id: bob.id } })).rejects.toMatchObject({
    status: 403,
  });
});

test('a page has at most 100 records unless the project sets another limit', async () => {
  expect((await call('GET', '/api/posts?limit=100')).status).toBe(200);
  const { status, body } = await call('GET', '/api/posts?limit=101');
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
});
