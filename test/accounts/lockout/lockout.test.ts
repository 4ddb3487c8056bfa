import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import { type ApiResponse, startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const secret = 'correct horse battery';
const wrong = 'wrong horse battery';
const events: { name: string; payload: Record<string, unknown> }[] = [];
const EVENTS = ['security.login_failed', 'security.account_locked', 'security.locked_login_attempt', 'auth.login'];
const run = await startTestApp({
  resources: [defineUser()],
  listeners(app) {
    for (const name of EVENTS) app.on(name, (payload: Record<string, unknown>) => void events.push({ name, payload }));
  },
});
const { app, call, person, env } = run;
const brief = await startTestApp({
  resources: [defineUser()],
  settings: { auth: { lockout: { maxAttempts: 2, windowMinutes: 60, lockMinutes: 0.005 } } },
});
const off = await startTestApp({ resources: [defineUser()], settings: { auth: { lockout: { maxAttempts: 0 } } } });
const proxy = await startTcpProxy(new URL(process.env.TEST_REDIS_URL!));
afterAll(() => proxy.close());
const proxied = await startTestApp({ resources: [defineUser()] }, { env: () => ({ REDIS_URL: proxy.url }) });
const redis = new Redis(env.REDIS_URL!);
afterAll(() => redis.disconnect());

const login = (email: string, password = secret) => call('POST', '/api/auth/login', { email, password });
const times = <T>(n: number, make: (i: number) => T) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const statuses = (responses: ApiResponse[]) => responses.map(({ status }) => status);
const keyOf = (email: string) =>
  `${env.REDIS_PREFIX}:lockout:${createHash('sha256').update(`email:${email}`).digest('hex')}`;

async function fail(email: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) expect((await login(email, wrong)).status).toBe(401);
}

test('the fifth failed sign-in locks the e-mail: right and wrong passwords respond 429 with Retry-After', async () => {
  const ann = await person('Ann');
  await fail(ann.email, 5);
  const responses = [await login(ann.email), await login(ann.email, wrong)];
  for (const { status, body, headers } of responses) {
    const { requestId: _, ...error } = body.error;
    expect([status, error]).toEqual([
      429,
      { code: 'RATE_LIMITED', message: 'Too many failed sign-ins, try again in 15 minutes' },
    ]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(890);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(900);
  }
});

test('an e-mail without an account is locked in the same way', async () => {
  await fail('nobody@example.com', 5);
  expect((await login('nobody@example.com', wrong)).status).toBe(429);
});

test('case and surrounding space of an e-mail do not affect the count', async () => {
  const { email } = await person('Kim');
  const [first, ...rest] = email;
  for (const written of [
    email,
    email.toUpperCase(),
    ` ${email} `,
    `\u212a${rest.join('')}`,
    first + rest.join('').toUpperCase(),
  ])
    expect((await login(written, wrong)).status).toBe(401);
  expect((await login(email)).status).toBe(429);
});

test('a successful sign-in clears the count', async () => {
  const ann = await person('Ann');
  await fail(ann.email, 4);
  expect((await login(ann.email)).status).toBe(200);
  await fail(ann.email, 4);
  expect((await login(ann.email)).status).toBe(200);
  expect(await redis.exists(keyOf(ann.email))).toBe(0);
});

test('a lock leaves live sessions alone', async () => {
  const ann = await person('Ann');
  await fail(ann.email, 5);
  expect((await login(ann.email)).status).toBe(429);
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(200);
});

test('of fifty concurrent wrong passwords, five are checked', async () => {
  const ann = await person('Ann');
  const responses = await times(50, () => login(ann.email, wrong));
  expect(statuses(responses).sort()).toEqual([...Array(5).fill(401), ...Array(45).fill(429)]);
  expect((await login(ann.email)).status).toBe(429);
});

test('twelve concurrent sign-ins with the right password all succeed', async () => {
  const ann = await person('Ann');
  expect(statuses(await times(12, () => login(ann.email)))).toEqual(Array(12).fill(200));
  await fail(ann.email, 4);
  expect(statuses(await times(12, () => login(ann.email)))).toEqual(Array(12).fill(200));
});

test('a right password among concurrent wrong ones is refused only after five wrong ones', async () => {
  const ann = await person('Ann');
  const responses = await times(20, (i) => login(ann.email, i % 5 === 4 ? wrong : secret));
  expect(statuses(responses)).toEqual(Array.from({ length: 20 }, (_, i) => (i % 5 === 4 ? 401 : 200)));
});

test('reservations of a process that died expire', async () => {
  const ann = await person('Ann');
  const until = Date.now() + 300;
  const flights = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((id) => [id, until]));
  await redis.set(keyOf(ann.email), JSON.stringify({ failures: [], flights, lockedUntil: 0 }), 'PX', 60_000);
  expect((await login(ann.email)).status).toBe(200);
  expect(Date.now()).toBeGreaterThanOrEqual(until);
});

test('the right password of a disabled account responds 403 and locks nothing', async () => {
  const ann = await person('Ann');
  await app.service('user').update(ann.id, { status: 'disabled' });
  for (let i = 0; i < 7; i++) expect((await login(ann.email)).status).toBe(403);
  await fail(ann.email, 5);
  expect((await login(ann.email)).status).toBe(429);
});

test('the right password of a disabled account does not clear the failed sign-ins and emits an event with the reason', async () => {
  const ann = await person('Ann');
  await fail(ann.email, 4);
  await app.service('user').update(ann.id, { status: 'disabled' });
  events.length = 0;
  for (let i = 0; i < 2; i++) expect((await login(` ${ann.email.toUpperCase()}`)).status).toBe(403);
  const payload = { email: ann.email, ip: expect.stringMatching(/127\.0\.0\.1|::1/), reason: 'user_disabled' };
  expect(events).toEqual(Array(2).fill({ name: 'security.login_failed', payload }));
  await fail(ann.email, 1);
  expect((await login(ann.email)).status).toBe(429);
});

test('Redis keys do not reveal the counted e-mails, and all of them expire', async () => {
  const email = 'whoever@secret-company.example';
  await login(email, wrong);
  const keys = await redis.keys(`${env.REDIS_PREFIX}:lockout:*`);
  expect(keys).toContain(keyOf(email));
  for (const key of keys) {
    expect(`${key} ${await redis.get(key)}`).not.toMatch(/secret-company|example/);
    const left = await redis.pttl(key);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(900_000);
  }
});

test('events are emitted for each failed sign-in, once for the lock, and for each attempt while it holds, never with a password', async () => {
  const ann = await person('Ann');
  events.length = 0;
  await times(8, () => login(ann.email.toUpperCase(), wrong));
  await login(ann.email);
  const counts = EVENTS.map((name) => events.filter((one) => one.name === name).length);
  expect(counts).toEqual([5, 1, 4, 0]);
  const who = { email: ann.email, ip: expect.stringMatching(/127\.0\.0\.1|::1/) };
  for (const { name, payload } of events) {
    const more = name === 'security.account_locked' ? { lockedUntil: expect.stringMatching(/^\d{4}-.*Z$/) } : {};
    expect(payload).toEqual({ ...who, ...more });
  }
});

test('auth.lockout sets the number of attempts and the duration, and the count restarts after a lock', async () => {
  const { email } = await brief.person('Ann');
  const attempt = (password: string) => brief.call('POST', '/api/auth/login', { email, password });
  expect(statuses([await attempt(wrong), await attempt(wrong)])).toEqual([401, 401]);
  const locked = await attempt(secret);
  expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '1']);
  expect(locked.body.error.message).toBe('Too many failed sign-ins, try again in 1 minute');
  await expect.poll(async () => (await attempt(wrong)).status).toBe(401);
  expect((await attempt(secret)).status).toBe(200);
});

test('maxAttempts 0 turns the lockout off', async () => {
  const { email } = await off.person('Ann');
  const attempt = (password: string) => off.call('POST', '/api/auth/login', { email, password });
  for (let i = 0; i < 8; i++) expect((await attempt(wrong)).status).toBe(401);
  expect((await attempt(secret)).status).toBe(200);
  expect(await redis.keys(`${off.env.REDIS_PREFIX}:lockout:*`)).toEqual([]);
});

/** Signs in to the app whose Redis a test can take away. */
const loginByProxy = async (email: string, password: string) =>
  (await proxied.call('POST', '/api/auth/login', { email, password })).status;

/** Returns whether a failed sign-in was counted in Redis. */
async function isCounted(): Promise<boolean> {
  proxy.sent.length = 0;
  await loginByProxy('somebody-else@example.com', secret);
  return proxy.sent.some((chunk) => chunk.includes('lockedUntil'));
}

async function reopenProxy(): Promise<void> {
  proxy.reopen();
  await expect.poll(isCounted, { timeout: 60_000 }).toBe(true);
}

test.each(['shut', 'hang'] as const)('while Redis is down (%s) each process locks by itself', async (how) => {
  await reopenProxy();
  const [ann, bob] = [await proxied.person('Ann'), await proxied.person('Bob')];
  proxy[how]();
  expect(await loginByProxy(bob.email, secret)).toBe(200);
  const failed = await Promise.all(Array.from({ length: 20 }, () => loginByProxy(ann.email, wrong)));
  expect(failed.sort()).toEqual([...Array(5).fill(401), ...Array(15).fill(429)]);
  expect(await loginByProxy(ann.email, secret)).toBe(429);
  const right = await Promise.all(Array.from({ length: 12 }, () => loginByProxy(bob.email, secret)));
  expect(right).toEqual(Array(12).fill(200));
});

test('when Redis fails during attempts, all of them still get a response', async () => {
  await reopenProxy();
  const ann = await proxied.person('Ann');
  const responses = Promise.all(Array.from({ length: 30 }, () => loginByProxy(ann.email, secret)));
  await loginByProxy(ann.email, secret);
  proxy.shut();
  expect(await responses).toEqual(Array(30).fill(200));
});

test('failed sign-ins are counted in Redis again after it recovers', async () => {
  await reopenProxy();
  proxy.shut();
  expect(await isCounted()).toBe(false);
  await reopenProxy();
});

test.each([
  [{ maxAttempts: -1 }, 'settings.auth.lockout.maxAttempts'],
  [{ maxAttempts: 2.5 }, 'settings.auth.lockout.maxAttempts'],
  [{ windowMinutes: 0 }, 'settings.auth.lockout.windowMinutes'],
  [{ lockMinutes: Number.NaN }, 'settings.auth.lockout.lockMinutes'],
  [{ attempts: 3 }, 'settings.auth.lockout.attempts'],
])('auth.lockout %j is a configuration error that names the setting', (lockout, path) => {
  expect(() => readSettings({ auth: { lockout: lockout as never } })).toThrow(path);
});
