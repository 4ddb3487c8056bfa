import { expect, test } from 'vitest';
import { app } from '../../src/app/index.ts';
import { createTestApp } from '../../src/testing/index.ts';

const { api, signInAs, ...testApp } = await createTestApp(app);

test('signInAs creates a user whose api is signed in, and api without a user is signed out', async () => {
  const ada = await signInAs({ name: 'Ada', roles: ['user', 'admin'] });
  expect(ada.user.roles).toEqual(['user', 'admin']);
  expect(ada.email).toMatch(/^ada-\d+@example\.com$/);
  expect(await ada.api.get('/api/auth/me')).toMatchObject({ status: 200, body: { data: { id: ada.id, name: 'Ada' } } });
  expect(await api.get('/api/auth/me')).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
});

test('the app of a test app has typed services', async () => {
  const post = await testApp.app.service('post').create({ title: 'Hello' });
  expect(post.title).toBe('Hello');
  // @ts-expect-error: the field is not declared
  await expect(testApp.app.service('post').create({ titel: 'Hello' })).rejects.toThrow();
});
