import { expect, expectTypeOf, test } from 'vitest';
import { app as sampleApp } from '../../src/app/index.ts';
import { createApp, defineResource, f } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';
import { app } from './fixture.ts';

const { api, signInAs, url, app: running } = await createTestApp(app);

test('signInAs creates a user whose api is signed in; the api of the app is signed out', async () => {
  const ada = await signInAs({ name: 'Ada', roles: ['user', 'admin'] });
  expect(ada.user.roles).toEqual(['user', 'admin']);
  expect(ada.email).toMatch(/^ada-\d+@example\.com$/);
  expect(await ada.api.get('/api/auth/me')).toMatchObject({ status: 200, body: { data: { id: ada.id, name: 'Ada' } } });
  expect(await api.get('/api/auth/me')).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
});

test('signInAs with the id of a user signs that user in', async () => {
  const ada = await signInAs({ email: 'ada@example.com' });
  const again = await signInAs(ada.id);
  expect(again).toMatchObject({ id: ada.id, email: 'ada@example.com' });
  expect(again.token).not.toBe(ada.token);
  expect((await again.api.get('/api/auth/me')).body.data.id).toBe(ada.id);
  await expect(signInAs('0123456789abcdef01234567')).rejects.toThrow(
    'signInAs: there is no user with the id "0123456789abcdef01234567"',
  );
});

test('users can log in with the password that they were created with', async () => {
  const ada = await signInAs({ password: 'correct horse battery' });
  const logIn = (password: string) => api.post('/api/auth/login', { email: ada.email, password });
  expect((await logIn('correct horse battery')).status).toBe(200);
  expect((await logIn('a bell rings at noon')).status).toBe(401);
});

test('the client sends every method, headers and no session of another user', async () => {
  const [ada, bob] = await Promise.all([signInAs(), signInAs()]);
  const made = await ada.api.post('/api/tasks', { title: 'Write' }, { headers: { 'idempotency-key': 'one' } });
  const again = await ada.api.post('/api/tasks', { title: 'Write' }, { headers: { 'idempotency-key': 'one' } });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  const path = `/api/tasks/${made.body.data.id}`;
  expect((await bob.api.get(path)).status).toBe(404);
  expect((await ada.api.patch(path, { done: true })).body.data.done).toBe(true);
  expect((await ada.api.put(path, { title: 'Rewrite' })).body.data.title).toBe('Rewrite');
  expect(await ada.api.delete(path)).toMatchObject({ status: 204, body: undefined });
  expect((await ada.api.get('/api/docs')).body).toContain('<!doctype html>');
  await expect(ada.api.get('api/tasks')).rejects.toThrow('must begin with a slash, not "api/tasks"');
});

test('the types know the resources of the app', async () => {
  const task = await running.service('task').create({ title: 'Hello' });
  expectTypeOf(task.title).toEqualTypeOf<string>();
  expectTypeOf<Awaited<ReturnType<typeof signInAs>>['user']['phone']>().toEqualTypeOf<string>();
  // @ts-expect-error: the field is not declared
  await expect(running.service('task').create({ titel: 'Hello' })).rejects.toThrow();
  // @ts-expect-error: the role is not declared
  await expect(signInAs({ roles: ['boss'] })).rejects.toThrow();
});

test('two test apps have separate data, and closing one leaves the other', async () => {
  const first = await createTestApp(sampleApp);
  const second = await createTestApp(sampleApp);
  await first.app.service('post').create({ title: 'Only here', status: 'published' });
  expect((await first.api.get('/api/posts')).body.data).toHaveLength(1);
  await first.close();
  await first.close();
  await expect(first.api.get('/api/posts')).rejects.toThrow('fetch failed');
  expect((await second.api.get('/api/posts')).body.data).toEqual([]);
});

test('an app in "await using" is closed at the end of the block', async () => {
  let address: string;
  {
    await using other = await createTestApp(app);
    address = other.url;
    expect(address).not.toBe(url);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  }
  await expect(fetch(address)).rejects.toThrow('fetch failed');
});

test('the definition gets the given variables, test mode, and none of the process', async () => {
  let environment: Record<string, string | undefined> = {};
  const definition = (given: typeof environment) => {
    environment = given;
    return app(given);
  };
  await using _ = await createTestApp(definition, { environment: { STRIPE_KEY: 'sk_test' } });
  expect(environment).toMatchObject({ NODE_ENV: 'test', STRIPE_KEY: 'sk_test' });
  expect(environment.PATH).toBeUndefined();
});

test('rate limits do not apply', async () => {
  const logins = Array.from({ length: 30 }, () =>
    api.post('/api/auth/login', { email: 'x@example.com', password: 'x' }),
  );
  for (const { status, body } of await Promise.all(logins))
    if (status === 429) expect(body.error.message).toMatch(/sign-in/);
});

test.each([
  [undefined, /takes the function that the app's module exports, not undefined/],
  [{ resources: [] }, /takes the function that the app's module exports, not a value of type object/],
  [() => ({}), /must return the result of createApp, but it returned a value of type object/],
  [
    async (environment: Record<string, string | undefined>) => app(environment),
    /must return the result of createApp, but it returned a promise/,
  ],
])('createTestApp refuses %s and says what to pass', async (definition, message) => {
  await expect(createTestApp(definition as never)).rejects.toThrow(message);
});

test('createTestApp reports the configuration errors of an app', async () => {
  const broken = defineResource('task', { fields: { owner: f.ref('nobody') } });
  const definition = (environment: Record<string, string | undefined>) =>
    createApp({ resources: [broken] }, environment);
  await expect(createTestApp(definition)).rejects.toThrow(/The app has configuration errors:[\s\S]*"nobody"/);
});

test('an app without accounts has no signInAs', async () => {
  const note = defineResource('note', { fields: { text: f.text().required() }, policies: { create: 'public' } });
  await using notes = await createTestApp((environment) => createApp({ resources: [note] }, environment));
  expect((await notes.api.post('/api/notes', { text: 'Hi' })).status).toBe(201);
  await expect((notes.signInAs as () => Promise<unknown>)()).rejects.toThrow('signInAs needs accounts');
});
