import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { sessions as sessionTable } from '../../../src/accounts/sessions/sessions.ts';
import { defineUser } from '../../../src/index.ts';
import { type Executor, openDatabase } from '../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { createRetentionSweep } from '../../../src/platform/work/leased-work/sweeps.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

const secret = 'correct horse battery';
const { app, call, url, env, person } = await startTestApp({ resources: [defineUser()] });
const loose = await startTestApp({
  resources: [defineUser()],
  settings: { auth: { devicesFollowSessions: false, sessionTtlDays: 2 } },
});
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

/** Starts another session of the same user. */
async function again(who: Person, headers?: Record<string, string>): Promise<Person> {
  const { body } = await call('POST', '/api/auth/login', { email: who.email, password: secret }, headers);
  return { ...who, token: body.data.token, call: createClient(url, body.data.token) };
}

let tokens = 0;
async function device(who: Person): Promise<string> {
  const token = `token-${++tokens}-0123456789abcdefghijklmnopqrstuvwxyz`;
  return (await who.call('POST', '/api/auth/devices', { token, platform: 'ios' })).body.data.id;
}

const isIn = async (who: Person) => (await who.call('GET', '/api/auth/me')).status === 200;
const sessionsOf = async (who: Person) => (await who.call('GET', '/api/auth/sessions')).body.data;
const currentId = async (who: Person): Promise<string> =>
  (await sessionsOf(who)).find(({ current }: { current: boolean }) => current).id;
const devicesOf = async (userId: string): Promise<string[]> =>
  (await sql.query('select id from devices where user_id = $1 order by id', [userId])).rows.map(({ id }) => id);

test('the list contains only live sessions of the user: the current one first, then the newest', async () => {
  const ann = await person('Ann');
  await person('Ben');
  const second = await again(ann, { 'user-agent': 'Phone/1.0' });
  const third = await again(ann, { 'user-agent': 'Laptop/2.0' });
  const { status, body } = await second.call('GET', '/api/auth/sessions');
  expect(status).toBe(200);
  const record = (userAgent: unknown, current: boolean) => ({
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    current,
    createdAt: expect.stringMatching(/Z$/),
    lastUsedAt: expect.stringMatching(/Z$/),
    expiresAt: expect.stringMatching(/Z$/),
    ip: expect.stringMatching(/127\.0\.0\.1|::1/),
    userAgent,
    method: 'password',
    authenticatedAt: expect.stringMatching(/Z$/),
  });
  expect(body.data).toEqual([
    record('Phone/1.0', true),
    record('Laptop/2.0', false),
    record(expect.any(String), false),
  ]);
  const days = (Date.parse(body.data[0].expiresAt) - Date.parse(body.data[0].createdAt)) / 86_400_000;
  expect(days).toBeGreaterThan(29.99);
  expect(days).toBeLessThan(30.01);

  await sql.query(`update sessions set expires_at = now() - make_interval(secs => 1) where id = $1`, [
    await currentId(third),
  ]);
  expect(await sessionsOf(second)).toHaveLength(2);
});

test('each session is marked as current only in its own list', async () => {
  const ann = await person('Ann');
  const all = [ann, await again(ann), await again(ann)];
  const ids = await Promise.all(all.map(currentId));
  expect(new Set(ids).size).toBe(3);
  for (const one of all) {
    const current = (await sessionsOf(one)).filter((session: { current: boolean }) => session.current);
    expect(current).toHaveLength(1);
  }
});

test('ending a session by its id takes effect at once and removes only its devices', async () => {
  const ann = await person('Ann');
  const other = await again(ann);
  const kept = await device(ann);
  await device(other);
  const id = await currentId(other);
  expect((await ann.call('DELETE', `/api/auth/sessions/${id}`)).status).toBe(204);
  expect([await isIn(other), await isIn(ann)]).toEqual([false, true]);
  expect(await devicesOf(ann.id)).toEqual([kept]);
  expect((await ann.call('DELETE', `/api/auth/sessions/${id}`)).status).toBe(404);
});

test('the current session can be ended in the same way', async () => {
  const ann = await person('Ann');
  expect((await ann.call('DELETE', `/api/auth/sessions/${await currentId(ann)}`)).status).toBe(204);
  expect(await isIn(ann)).toBe(false);
});

test('another user’s session responds 404, like an unknown or malformed id, and stays live', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben', ['user', 'admin'])];
  const bodies = [];
  for (const id of [await currentId(ann), '0'.repeat(24), 'nonsense', (await currentId(ben)).toUpperCase()]) {
    const { status, body } = await ben.call('DELETE', `/api/auth/sessions/${id}`);
    const { requestId: _, ...error } = body.error;
    bodies.push([status, error]);
  }
  for (const one of bodies) expect(one).toEqual([404, { code: 'NOT_FOUND', message: 'Not found' }]);
  expect([await isIn(ann), await isIn(ben)]).toEqual([true, true]);
});

test('logout-all ends every session of the user with its devices, and no session of other users', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  const others = [await again(ann), await again(ann)];
  for (const one of [ann, ...others, ben]) await device(one);
  expect((await others[0]!.call('POST', '/api/auth/logout-all')).status).toBe(204);
  for (const one of [ann, ...others]) expect(await isIn(one)).toBe(false);
  expect(await isIn(ben)).toBe(true);
  expect(await devicesOf(ann.id)).toEqual([]);
  expect(await devicesOf(ben.id)).toHaveLength(1);
});

test('logout removes the devices of its session', async () => {
  const ann = await person('Ann');
  const other = await again(ann);
  await device(other);
  const kept = await device(ann);
  await other.call('POST', '/api/auth/logout');
  expect(await devicesOf(ann.id)).toEqual([kept]);
});

test.each([
  ['POST', '/api/auth/logout'],
  ['POST', '/api/auth/logout-all'],
  ['GET', '/api/auth/sessions'],
  ['DELETE', `/api/auth/sessions/${'0'.repeat(24)}`],
  ['POST', '/api/auth/password'],
])('%s %s without a session responds 401', async (method, path) => {
  expect((await call(method, path, method === 'GET' ? undefined : {})).status).toBe(401);
});

test('with devicesFollowSessions off, devices stay when a session ends; sessionTtlDays sets how long a session lasts', async () => {
  const ann = await loose.person('Ann');
  await device(ann);
  const { createdAt, expiresAt } = (await sessionsOf(ann))[0];
  expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBeLessThan(2.01 * 86_400_000);
  await ann.call('POST', '/api/auth/logout-all');
  const { body } = await loose.call('POST', '/api/auth/login', { email: ann.email, password: secret });
  expect((await createClient(loose.url, body.data.token)('GET', '/api/auth/devices')).body.data).toHaveLength(1);
});

test('the sweep removes only expired sessions and their devices, in bounded batches', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  await device(ann);
  const kept = await device(ben);
  await sql.query(`update sessions set expires_at = now() - interval '1 second' where user_id = $1`, [ann.id]);
  await sql.query(`
    insert into sessions (id, user_id, token_hash, expires_at, ip, user_agent)
    select 'old' || i, 'gone', 'hash' || i, now() - interval '1 day', '', '' from generate_series(1, 2500) i`);
  const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
  const sizes: number[] = [];
  const counted: Executor = {
    async write(statement) {
      const rows = await database.write(statement);
      sizes.push(rows.length);
      return rows as never;
    },
  };
  const sweep = createRetentionSweep(counted, { name: 'test', removals: [{ table: sessionTable }] });
  await Promise.all([sweep.run(), sweep.run()]);
  await database.close();
  expect(Math.max(...sizes)).toBe(1000);
  const left = `select count(*)::int as count from sessions where expires_at <= now()`;
  expect((await sql.query(left)).rows[0].count).toBe(0);
  expect(await devicesOf(ann.id)).toEqual([]);
  expect(await devicesOf(ben.id)).toEqual([kept]);
  expect(await isIn(ben)).toBe(true);
});

test('the sessions of a deleted user are removed, with their addresses', async () => {
  const ann = await person('Ann');
  await app.service('user').delete(ann.id);
  const left = async () => (await sql.query('select 1 from sessions where user_id = $1', [ann.id])).rowCount;
  await expect.poll(left, { timeout: 60_000 }).toBe(0);
});
