import { createTestApp } from 'belfry/testing';
import { expect, test } from 'vitest';
import { app } from '../src/app.ts';

// The app, with a database of its own. It is closed after the tests of this file.
const { api, signInAs } = await createTestApp(app);

test('a new user can register and log in', async () => {
  const account = { email: 'ada@example.com', password: 'a bell rings at noon' };
  const registered = await api.post('/api/auth/register', { name: 'Ada', ...account });
  expect(registered.status).toBe(201);
  expect(registered.body.data.user).toMatchObject({ name: 'Ada', email: 'ada@example.com' });

  expect((await api.post('/api/auth/login', account)).status).toBe(200);
  expect((await api.post('/api/auth/login', { ...account, password: 'a wrong password' })).status).toBe(401);
});

test('the current user is the one with the session', async () => {
  const ada = await signInAs({ name: 'Ada' });
  expect((await ada.api.get('/api/auth/me')).body.data).toMatchObject({ id: ada.id, name: 'Ada' });
  expect((await api.get('/api/auth/me')).status).toBe(401);
});
