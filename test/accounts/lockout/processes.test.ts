import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { app } from '../../fixtures/blog/app.ts';
import { clientOf } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database.ts';
import { envOfOneRole, startBlog } from '../../support/processes.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...envOfOneRole(database), NODE_ENV: 'test' };
const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };

const redis = new Redis(database.redisUrl);
afterAll(() => redis.disconnect());

async function placesTaken(): Promise<number> {
  const keys = await redis.keys(`${database.redisPrefix}:lockout:*`);
  const states = await Promise.all(keys.map((key) => redis.get(key)));
  return Math.max(...states.map((text) => Object.keys(JSON.parse(text ?? '{}').flights ?? {}).length));
}

test('two processes lock together, and one that is killed in the middle of attempts keeps nobody out', {
  timeout: 240_000,
}, async () => {
  const migrating = app(env);
  await migrating.migrate({ mode: 'sync' });
  await migrating.close();

  const processes = [startBlog('web', env), startBlog('web', env)];
  const calls = (await Promise.all(processes.map((process) => process.url()))).map((url) => clientOf(url));
  const first = calls[0]!;
  const login = (at: number, email: string, password: string) =>
    calls[at % 2]!('POST', '/api/auth/login', { email, password });
  expect((await first('POST', '/api/auth/register', account)).status).toBe(201);
  const { token } = (await login(1, account.email, account.password)).body.data;

  const wrong = await Promise.all(Array.from({ length: 20 }, (_, i) => login(i, account.email, 'wrong horse battery')));
  expect(wrong.map(({ status }) => status).sort()).toEqual([...Array(5).fill(401), ...Array(15).fill(429)]);
  for (const at of [0, 1]) expect((await login(at, account.email, account.password)).status).toBe(429);
  expect((await clientOf(await processes[1]!.url(), token)('GET', '/api/auth/me')).status).toBe(200);

  const bob = { ...account, name: 'Bob', email: 'bob@example.com' };
  expect((await first('POST', '/api/auth/register', bob)).status).toBe(201);
  const lost = Promise.allSettled(Array.from({ length: 8 }, () => login(0, bob.email, bob.password)));
  // Real hashes take their time: it dies with all five places taken.
  await expect.poll(placesTaken, { interval: 5, timeout: 60_000 }).toBe(5);
  processes[0]!.child.kill('SIGKILL');
  await lost;
  expect((await login(1, bob.email, bob.password)).status).toBe(200);

  processes[1]!.child.kill('SIGTERM');
  expect(await processes[1]!.ended).toBe(0);
});
