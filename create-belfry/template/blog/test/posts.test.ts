import { createTestApp } from 'belfry/testing';
import { expect, test } from 'vitest';
import { app } from '../src/app.ts';

// The app, with a database of its own. It is closed after the tests of this file.
const { api, signInAs } = await createTestApp(app);

test('a draft is visible to its author only, and a published post to everyone', async () => {
  const ada = await signInAs({ name: 'Ada' });
  const { status, body } = await ada.api.post('/api/posts', { title: 'Hello, world' });
  expect(status).toBe(201);
  const post = body.data;
  expect(post).toMatchObject({ title: 'Hello, world', status: 'draft' });
  expect((await ada.api.get(`/api/posts/${post.id}`)).status).toBe(200);
  expect((await api.get(`/api/posts/${post.id}`)).status).toBe(404);

  expect((await ada.api.post(`/api/posts/${post.id}/publish`)).status).toBe(200);
  expect((await api.get(`/api/posts/${post.id}`)).body.data).toMatchObject({ title: 'Hello, world' });
});

test('only the author, editors and admins can change a post', async () => {
  const ada = await signInAs({ name: 'Ada' });
  const bob = await signInAs({ name: 'Bob' });
  const editor = await signInAs({ name: 'Eve', roles: ['editor'] });
  const { id } = (await ada.api.post('/api/posts', { title: 'Hello' })).body.data;
  await ada.api.post(`/api/posts/${id}/publish`);

  expect((await bob.api.patch(`/api/posts/${id}`, { title: 'Mine' })).status).toBe(403);
  expect((await editor.api.patch(`/api/posts/${id}`, { title: 'Hello, world' })).status).toBe(200);
  expect((await ada.api.get(`/api/posts/${id}`)).body.data.title).toBe('Hello, world');
});

test('only signed-in users can create posts', async () => {
  expect((await api.post('/api/posts', { title: 'Hello' })).status).toBe(401);
});
