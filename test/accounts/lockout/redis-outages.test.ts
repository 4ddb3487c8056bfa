import { afterAll, beforeEach, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const proxy = await startTcpProxy(new URL(process.env.TEST_REDIS_URL!));
afterAll(() => proxy.close());
const { call, person } = await startTestApp({ resources: [defineUser()] }, { env: () => ({ REDIS_URL: proxy.url }) });
const secret = 'correct horse battery';
const login = async (email: string, password: string) =>
  (await call('POST', '/api/auth/login', { email, password })).status;

/** Returns whether a failed sign-in was counted in Redis. */
async function isCounted(): Promise<boolean> {
  proxy.sent.length = 0;
  await login('somebody-else@example.com', secret);
  return proxy.sent.some((chunk) => chunk.includes('lockedUntil'));
}

beforeEach(async () => {
  proxy.reopen();
  await expect.poll(isCounted, { timeout: 60_000 }).toBe(true);
});

test.each(['shut', 'hang'] as const)('while Redis is down (%s) each process locks by itself', async (how) => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  proxy[how]();
  expect(await login(bob.email, secret)).toBe(200);
  const wrong = await Promise.all(Array.from({ length: 20 }, () => login(ann.email, 'wrong horse battery')));
  expect(wrong.sort()).toEqual([...Array(5).fill(401), ...Array(15).fill(429)]);
  expect(await login(ann.email, secret)).toBe(429);
  const right = await Promise.all(Array.from({ length: 12 }, () => login(bob.email, secret)));
  expect(right).toEqual(Array(12).fill(200));
});

test('when Redis fails during attempts, all of them still get a response', async () => {
  const ann = await person('Ann');
  const responses = Promise.all(Array.from({ length: 30 }, () => login(ann.email, secret)));
  await login(ann.email, secret);
  proxy.shut();
  expect(await responses).toEqual(Array(30).fill(200));
});

test('failed sign-ins are counted in Redis again after it recovers', async () => {
  proxy.shut();
  expect(await isCounted()).toBe(false);
  proxy.reopen();
  await expect.poll(isCounted, { timeout: 60_000 }).toBe(true);
});
