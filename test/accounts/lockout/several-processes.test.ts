import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { app } from '../../fixtures/blog/app.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../support/processes/app-process.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...createRoleEnv(database), NODE_ENV: 'test', CHEAP_PASSWORDS: 'on' };
const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };

const redis = new Redis(database.redisUrl);
afterAll(() => redis.disconnect());

const holder = new Client({ connectionString: database.databaseUrl });
await holder.connect();
afterAll(() => holder.end());

/** Blocks every attempt after its reservation, when it looks up its account. */
const hold = () => holder.query('begin; lock table users in access exclusive mode');
const release = () => holder.query('rollback');

async function placesTaken(): Promise<number> {
  const keys = await redis.keys(`${database.redisPrefix}:lockout:*`);
  const states = await Promise.all(keys.map((key) => redis.get(key)));
  return Math.max(...states.map((text) => Object.keys(JSON.parse(text ?? '{}').flights ?? {}).length));
}

const allPlacesTaken = () => expect.poll(placesTaken, { interval: 20, timeout: 60_000 }).toBe(5);

test('two processes share one count, and attempts of a killed process do not lock users out', {
  timeout: 240_000,
}, async () => {
  const migrating = app(env);
  await migrating.migrate({ mode: 'sync' });
  await migrating.close();

  const processes = [startBlog('web', env), startBlog('web', env)];
  const calls = (await Promise.all(processes.map((process) => process.url()))).map((url) => createClient(url));
  const first = calls[0]!;
  const login = (at: number, email: string, password: string) =>
    calls[at % 2]!('POST', '/api/auth/login', { email, password });
  expect((await first('POST', '/api/auth/register', account)).status).toBe(201);
  const { token } = (await login(1, account.email, account.password)).body.data;

  await hold();
  const attempts = Array.from({ length: 20 }, (_, i) => login(i, account.email, 'wrong horse battery'));
  await allPlacesTaken();
  await release();
  const wrong = await Promise.all(attempts);
  expect(wrong.map(({ status }) => status).sort()).toEqual([...Array(5).fill(401), ...Array(15).fill(429)]);
  for (const at of [0, 1]) expect((await login(at, account.email, account.password)).status).toBe(429);
  expect((await createClient(await processes[1]!.url(), token)('GET', '/api/auth/me')).status).toBe(200);

  const bob = { ...account, name: 'Bob', email: 'bob@example.com' };
  expect((await first('POST', '/api/auth/register', bob)).status).toBe(201);
  await hold();
  const lost = Promise.allSettled(Array.from({ length: 8 }, () => login(0, bob.email, bob.password)));
  await allPlacesTaken();
  processes[0]!.child.kill('SIGKILL');
  await lost;
  await release();
  expect((await login(1, bob.email, bob.password)).status).toBe(200);

  processes[1]!.child.kill('SIGTERM');
  expect(await processes[1]!.ended).toBe(0);
});
