import { expect, test, vi } from 'vitest';
import { startKeysApp } from './app.ts';

const { app, call, person, key, query, client } = await startKeysApp();
const create = (who: { call: typeof call }) => who.call('POST', '/api/auth/api-keys', { name: 'x' });
const active = async (user: string) =>
  (await query('select count(*)::int as n from api_keys where user_id = $1 and revoked_at is null', [user]))[0].n;

test('thirty concurrent creations stop at twenty keys', async () => {
  const ann = await person('Ann');
  const responses = await Promise.all(Array.from({ length: 30 }, () => create(ann)));
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
  for (const { status, body } of responses.filter((one) => one.status !== 201)) {
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'API_KEY_LIMIT',
      'You can have at most 20 active API keys',
    ]);
  }
  expect(await active(ann.id)).toBe(20);
});

test('of twenty-five concurrent creations with nineteen existing keys, one succeeds; revoked and expired keys do not count', async () => {
  const bob = await person('Bob');
  const made = [];
  for (let i = 0; i < 21; i++) {
    made.push(await key(bob));
    if (i === 0) await bob.call('DELETE', `/api/auth/api-keys/${made[0]!.id}`);
    if (i === 1)
      await query('update api_keys set expires_at = now() - make_interval(secs => 1) where id = $1', [made[1]!.id]);
  }
  const responses = await Promise.all(Array.from({ length: 25 }, () => create(bob)));
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(24).fill(409)]);
});

test('creations of different users do not block each other', async () => {
  const people = await Promise.all(['C', 'D', 'E', 'F'].map((name) => person(name)));
  const responses = await Promise.all(people.flatMap((who) => Array.from({ length: 10 }, () => create(who))));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
});

test('no key is created when a concurrent password change ends the session', async () => {
  const dan = await person('Dan');
  await client.query('begin');
  await client.query('update users set updated_at = now() where id = $1', [dan.id]);
  const creation = create(dan);
  const waiting = 'select 1 from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
  await vi.waitFor(async () => expect(await query(waiting)).not.toEqual([]), { timeout: 60_000, interval: 20 });
  await client.query('delete from sessions where user_id = $1', [dan.id]);
  await client.query('commit');
  expect((await creation).status).toBe(401);
  expect(await active(dan.id)).toBe(0);
});

test('no key is created for an account deleted at the same time', async () => {
  const eve = await person('Eve');
  const responses = await Promise.all([
    ...Array.from({ length: 5 }, () => create(eve)),
    app.service('user').delete(eve.id),
  ]);
  for (const response of responses.slice(0, 5)) expect([201, 401]).toContain((response as { status: number }).status);
});
