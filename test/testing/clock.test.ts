import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser } from '../../src/index.ts';
import { createTestApp } from '../../src/testing/index.ts';
import { app } from './fixture.ts';

const testApp = await createTestApp(app);
const { clock, signInAs, api } = testApp;

test('a session expires when the clock has advanced past its life', async () => {
  const ada = await signInAs();
  await clock.advance('29d');
  expect((await ada.api.get('/api/auth/me')).status).toBe(200);
  await clock.advance('2d');
  expect((await ada.api.get('/api/auth/me')).status).toBe(401);
});

test('a password reset expires', async () => {
  const ada = await signInAs({ name: 'Ada' });
  const requestToken = async () => {
    await api.post('/api/auth/password/forgot', { email: ada.email });
    const { text } = await testApp.waitForMail({ to: ada.email });
    return /token=([\w-]+)/.exec(text)![1]!;
  };
  const reset = (token: string) =>
    api.post('/api/auth/password/reset', { token, password: 'another bell rings at noon' });
  const first = await requestToken();
  await clock.advance('31m');
  expect((await reset(first)).body.error.code).toBe('INVALID_TOKEN');
  expect((await reset(await requestToken())).status).toBeLessThan(300);
});

test('an API key expires', async () => {
  const ada = await signInAs();
  const { body } = await ada.api.post('/api/auth/api-keys', { name: 'ci', scopes: ['tasks:read'], expiresInDays: 1 });
  const get = () => api.get('/api/tasks', { headers: { authorization: `Bearer ${body.data.key}` } });
  expect((await get()).status).toBe(200);
  await clock.advance('25h');
  expect((await get()).status).toBe(401);
});

test('a locked account is unlocked again', async () => {
  const ada = await signInAs();
  const logIn = (password: string) => api.post('/api/auth/login', { email: ada.email, password });
  for (let i = 0; i < 5; i++) await logIn('wrong password');
  expect((await logIn('a bell rings at noon')).status).toBe(429);
  await clock.advance('16m');
  expect((await logIn('a bell rings at noon')).status).toBe(200);
});

test('the window of a rate limit ends, for allowed and for refused clients', async () => {
  const note = defineResource('note', { fields: {}, policies: { list: 'public' } });
  const rateLimit = { enabled: true, global: { limit: 2, windowMs: 60_000 } };
  await using limited = await createTestApp((environment) =>
    createApp({ resources: [defineUser(), note], settings: { rateLimit } }, environment),
  );
  const list = async () => {
    const { status, headers } = await limited.api.get('/api/notes');
    return [status, headers.get('ratelimit-remaining')];
  };
  expect(await list()).toEqual([200, '1']);
  await clock.advance('1m');
  expect([await list(), await list(), await list()]).toEqual([
    [200, '1'],
    [200, '0'],
    [429, '0'],
  ]);
  await clock.advance('1m');
  expect(await list()).toEqual([200, '1']);
});

test('a failed webhook is retried by its schedule', async () => {
  const ada = await signInAs();
  const received = await testApp.receiveWebhooks(ada, ['task.*']);
  received.respondWith(500, 503, 204);
  await ada.api.post('/api/tasks', { title: 'Deliver me' });
  await testApp.settle();
  expect(received.attempts.map(({ status }) => status)).toEqual([500]);
  await clock.advance('30m');
  expect(received.attempts).toHaveLength(1);
  await clock.advance('1h');
  expect(received.attempts.map(({ status }) => status)).toEqual([500, 503]);
  expect(received.events).toEqual([]);
  await clock.advance('30h');
  expect((await received.next('task.created')).data.title).toBe('Deliver me');
});

test('records, defaults and SQL have the time of the clock, and the time goes on', async () => {
  await clock.set('2040-02-29T12:00:00Z');
  const task = await testApp.create('task');
  expect(task.createdAt).toMatch(/^2040-02-29T12:00/);
  expect(task.remindAt).toMatch(/^2040-02-29T12:00/);
  expect(new Date().toISOString()).toMatch(/^2040-02-29T12:00/);
  expect(new Date(0).toISOString()).toBe('1970-01-01T00:00:00.000Z');
  expect(new Date()).toBeInstanceOf(Date);
  expect(Date()).toMatch(/2040/);
  const before = Date.now();
  await expect.poll(() => Date.now()).toBeGreaterThan(before);
});

test('a second app has the same clock, and reset returns to the real time', async () => {
  await clock.set('2041-01-01');
  await using other = await createTestApp(app);
  expect((await other.create('task')).createdAt).toMatch(/^2041-01-01/);
  await other.clock.reset();
  const real = performance.timeOrigin + performance.now();
  expect(Math.abs(Date.now() - real)).toBeLessThan(60_000);
  expect(Math.abs(Date.parse((await testApp.create('task')).createdAt) - real)).toBeLessThan(60_000);
});

test('the clock may be set to the past', async () => {
  await clock.set('2020-02-29');
  expect((await testApp.create('task')).createdAt).toMatch(/^2020-02-29/);
  await clock.reset();
});

test.each(['soon', '5 minutes', -1, Number.NaN])('advance refuses %s', async (period) => {
  await expect(clock.advance(period as number)).rejects.toThrow(/is not a period. Use ms, or a text such as '30s'/);
});

test('set refuses a text that is not a time', async () => {
  await expect(clock.set('tomorrow')).rejects.toThrow('clock.set: "tomorrow" is not a time');
});
