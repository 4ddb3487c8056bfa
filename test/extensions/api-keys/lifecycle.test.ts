// Keys end with a password reset or after their retention time; creations at the same time keep to the rules.
import { expect, test, vi } from 'vitest';
import { createOldKeysSweep } from '../../../src/extensions/api-keys/user-data.ts';
import type { Executor } from '../../../src/platform/data/postgres/queryable.ts';
import type { Person } from '../../support/app.ts';
import { waitUntilBlockedBy } from '../../support/database/blocked-by.ts';
import { startKeysApp } from './app.ts';

const running = await startKeysApp();
const keeping = await startKeysApp({ revokeOnPasswordReset: false });
const { app, person, key, query, client, seen } = running;

/** Requests a link and returns its token. */
async function linkOf({ app, call }: typeof running, who: Person): Promise<string> {
  await call('POST', '/api/auth/password/forgot', { email: who.email });
  return vi.waitFor(
    async () => {
      const mail = (await app.captured.mails()).find((one) => one.to === who.email);
      return /[?&]token=([\w-]+)/.exec(mail!.text)![1]!;
    },
    { timeout: 60_000, interval: 50 },
  );
}

const reset = ({ call }: typeof running, token: string) =>
  call('POST', '/api/auth/password/reset', { token, password: 'a new bell rings at dusk' });

test('a password reset revokes all keys of the user and emits one event', { timeout: 240_000 }, async () => {
  const [ann, bob] = [await person('Ann'), await person('Bob')];
  const [first, second, others] = [await key(ann), await key(ann), await key(bob)];
  const token = await linkOf(running, ann);
  expect((await first.call('GET', '/api/auth/me')).status).toBe(200);
  const responses = await Promise.all(Array.from({ length: 5 }, () => reset(running, token)));
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 400, 400, 400, 400]);
  for (const { call } of [first, second]) expect((await call('GET', '/api/auth/me')).status).toBe(401);
  expect((await others.call('GET', '/api/auth/me')).status).toBe(200);
  expect(seen.api_keys_revoked).toEqual([
    { userId: ann.id, keyIds: expect.any(Array), reason: 'password_reset', ip: '127.0.0.1' },
  ]);
  expect((seen.api_keys_revoked![0]!.keyIds as string[]).sort()).toEqual([first.id, second.id].sort());
});

test('a reset with an invalid link revokes nothing', async () => {
  const { call } = await key(await person('Cy'));
  expect((await reset(running, 'A'.repeat(43))).status).toBe(400);
  expect((await call('GET', '/api/auth/me')).status).toBe(200);
});

test('with revokeOnPasswordReset off, a reset does not revoke keys', { timeout: 240_000 }, async () => {
  const dan = await keeping.person('Dan');
  const { call } = await keeping.key(dan);
  expect((await reset(keeping, await linkOf(keeping, dan))).status).toBe(204);
  expect((await dan.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await call('GET', '/api/auth/me')).status).toBe(200);
  expect(keeping.seen.api_keys_revoked).toEqual([]);
});

const create = (who: Pick<Person, 'call'>) => who.call('POST', '/api/auth/api-keys', { name: 'x' });
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
  await waitUntilBlockedBy(client);
  await client.query('delete from sessions where user_id = $1', [dan.id]);
  await client.query('commit');
  expect((await creation).status).toBe(401);
  expect(await active(dan.id)).toBe(0);
});

test('no key is created for an account deleted at the same time', async () => {
  const eve = await person('Eve');
  const creations = Array.from({ length: 5 }, () => create(eve));
  await app.service('user').delete(eve.id);
  // A session that ends right after it was found is no longer a recent one.
  const outcomes = ['201 ', '401 UNAUTHORIZED', '403 RECENT_SIGN_IN_REQUIRED'];
  for (const { status, body } of await Promise.all(creations))
    expect(outcomes).toContain(`${status} ${body.error?.code ?? ''}`);
});

const executor = {
  write: async ({ text, values }) => (await client.query({ text, values, rowMode: 'array' })).rows,
} as Executor;
const sweep = createOldKeysSweep(executor);
const left = async (user: string) =>
  (await query('select id from api_keys where user_id = $1 order by id', [user])).map(({ id }) => id);

test('revoked and expired keys are removed after 30 days', async () => {
  const ann = await person('Ann');
  const age = async (column: string, days: number) => {
    const { id } = await key(ann);
    await query(`update api_keys set ${column} = now() - $2 * interval '1 day' where id = $1`, [id, days]);
    return id;
  };
  const kept = [
    await age('expires_at', 29.9),
    await age('revoked_at', 29.9),
    (await key(ann)).id,
    await age('created_at', 400),
  ];
  await age('expires_at', 30.1);
  await age('revoked_at', 30.1);
  await sweep.run();
  expect(await left(ann.id)).toEqual(kept);
});

test('one run removes several batches, in bounded statements', async () => {
  const bob = await person('Bob');
  await query(
    `insert into api_keys (id, user_id, key_hash, name, prefix, scopes, expires_at)
     select lpad(to_hex(n), 24, '0'), $1, 'h' || n, 'x', 'svc_ak_000000', '{read}', now() - interval '31 days'
     from generate_series(1, 2500) n`,
    [bob.id],
  );
  const sizes: number[] = [];
  const counting = {
    async write(statement) {
      const rows = await executor.write(statement);
      sizes.push(rows.length);
      return rows;
    },
  } as Executor;
  await createOldKeysSweep(counting).run();
  expect([await left(bob.id), sizes]).toEqual([[], [1000, 1000, 500, 0]]);
});
