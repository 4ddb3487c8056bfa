// What deleting a user revokes in its own transaction, and what a relay does afterwards. A relay runs only in tests that start
// it, so nothing else can revoke it.
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import {
  apiKeys,
  createApp,
  defineExtension,
  defineResource,
  defineUser,
  f,
  privacy,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { challenge, codeOf, forget, guard, PASSWORD, verify } from '../two-factor/two-factor-user.ts';

let stepFails = false;
const team = defineResource('team', {
  fields: { member: f.ref('user') },
  hooks: { beforeDelete: async ({ member }, { service }) => void (await service('user').delete(String(member))) },
});
const declared = {
  resources: [defineUser({ softDelete: true }), team],
  extensions: [
    softDelete(),
    apiKeys(),
    twoFactor(),
    webhooks(),
    privacy(),
    defineExtension({
      name: 'failing-step',
      setup: () => ({
        async revocationStep() {
          if (stepFails) throw new Error('the step failed');
        },
      }),
    }),
  ],
  settings: { auth: { password: { logN: 4, r: 8, p: 1 }, devicesFollowSessions: false } },
};
const { app, call, person, env, url } = await startTestApp(
  declared,
  // Tests hold a lock until the transactions of many clients wait for it.
  { env: () => ({ POOL_MAX: '28' }), roles: ['web', 'push-worker'] },
);
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
// A second connection: within one transaction, Postgres keeps showing the same snapshot of the activity.
const watcher = new Client({ connectionString: env.DATABASE_URL! });
await watcher.connect();
afterAll(() => Promise.all([sql.end(), watcher.end()]));
const root = await person('Root', ['user', 'admin']);

const device = { platform: 'ios' } as const;
const endpoint = { url: 'https://example.com/hook', events: ['user.*'] };
let devices = 0;
const token = () => `token-of-a-device-${++devices}-0123456789`;

/** A user with a second factor and an endpoint. */
async function guarded(name: string) {
  const who = await guard(await person(name), sql);
  expect((await who.call('POST', '/api/webhooks', endpoint)).status).toBe(201);
  return who;
}

/** A user with one of each credential or target: everything that signs in, receives or fetches on their behalf. */
async function equipped(name: string) {
  const who = await guarded(name);
  const key = (await who.call('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['*'] })).body.data.key as string;
  expect((await who.call('POST', '/api/auth/devices', { ...device, token: token() })).status).toBe(201);
  const link = await vi.waitFor(
    async () => {
      const { body } = await who.call('GET', '/api/auth/me/export');
      expect(body.data.status).toBe('ready');
      return new URL(body.data.url).pathname;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect((await call('HEAD', link)).status).toBe(200);
  const mfaToken = await challenge(call, who);
  return { ...who, key, link, mfaToken };
}

const LIVE = `
  select (select count(*)::int from sessions where user_id = $1) as sessions,
    (select count(*)::int from api_keys where user_id = $1 and revoked_at is null) as keys,
    (select count(*)::int from devices where user_id = $1) as devices,
    (select count(*)::int from webhook_endpoints where owner_id = $1 and removed_at is null) as endpoints,
    (select count(*)::int from privacy_exports where user_id = $1 or requested_by = $1) as exports,
    (select count(*)::int from two_factor_challenges where user_id = $1) as challenges`;
const live = async (id: string) => (await sql.query(LIVE, [id])).rows[0];
const none = { sessions: 0, keys: 0, devices: 0, endpoints: 0, exports: 0, challenges: 0 };
const all = { sessions: 1, keys: 1, devices: 1, endpoints: 1, exports: 1, challenges: 1 };
const restore = async (id: string) => expect((await root.call('POST', `/api/users/${id}/restore`)).status).toBe(200);

const deletions: [string, (id: string) => Promise<unknown>][] = [
  ['DELETE /api/users/:id', (id) => root.call('DELETE', `/api/users/${id}`)],
  ['the service of the app', (id) => app.service('user').delete(id)],
  ['the service of a transaction', (id) => app.transaction((tx) => tx.service('user').delete(id))],
  [
    'the service of a hook',
    async (id) => {
      const { id: one } = await app.service('team').create({ member: id });
      await app.service('team').delete(one);
    },
  ],
];

test.each(deletions)(
  'a user who is deleted by %s and restored at once gets none of their credentials back',
  async (_by, remove) => {
    const ada = await equipped('Ada');
    expect(await live(ada.id)).toEqual(all);
    await remove(ada.id);
    await restore(ada.id);
    expect(await live(ada.id)).toEqual(none);
    expect((await ada.call('GET', '/api/auth/me')).status).toBe(401);
    expect((await createClient(url, ada.key)('GET', `/api/users/${ada.id}`)).status).toBe(401);
    expect((await call('GET', ada.link)).status).toBe(404);
    await forget(ada, sql);
    expect((await verify(call, ada.mfaToken, codeOf(ada.secret))).status).toBe(401);

    const { body } = await verify(call, await challenge(call, ada), codeOf(ada.secret));
    const back = createClient(url, body.data.token);
    for (const path of ['/api/auth/api-keys', '/api/auth/devices', '/api/webhooks'])
      expect((await back('GET', path)).body.data).toEqual([]);
  },
);

test('a deletion that is rolled back revokes nothing', async () => {
  const bea = await equipped('Bea');
  const failing = app.transaction(async (tx) => {
    await tx.service('user').delete(bea.id);
    throw new Error('no');
  });
  await expect(failing).rejects.toThrow('no');
  expect(await live(bea.id)).toEqual(all);
  expect((await bea.call('GET', '/api/auth/me')).status).toBe(200);
});

test('a deletion whose revocation fails is rolled back, even when code catches the error', async () => {
  const cleo = await equipped('Cleo');
  stepFails = true;
  try {
    expect((await root.call('DELETE', `/api/users/${cleo.id}`)).status).toBe(500);
    const caught = app.transaction(async (tx) => {
      await tx
        .service('user')
        .delete(cleo.id)
        .catch(() => undefined);
      return 'committed';
    });
    await expect(caught).rejects.toThrow('the step failed');
  } finally {
    stepFails = false;
  }
  expect(await live(cleo.id)).toEqual(all);
  expect((await cleo.call('GET', '/api/auth/me')).status).toBe(200);
});

test('a credential that is created while its user is being deleted does not come back with the user', {
  timeout: 240_000,
}, async () => {
  for (let round = 0; round < 6; round++) {
    const dan = await guard(await person('Dan'), sql);
    const plain = await person('Eve');
    const remove = () => [dan, plain].map(({ id }) => root.call('DELETE', `/api/users/${id}`));
    const create = () =>
      [dan, plain].flatMap((who) => [
        call('POST', '/api/auth/login', { email: who.email, password: PASSWORD }),
        who.call('POST', '/api/auth/api-keys', { name: 'CI' }),
        who.call('POST', '/api/auth/devices', { ...device, token: token() }),
        who.call('POST', '/api/webhooks', endpoint),
        who.call('GET', '/api/auth/me/export'),
      ]);
    // All of them wait for locks on the users' rows, so that they run concurrently.
    await sql.query('begin');
    await sql.query('select from users where id = any($1) for update', [[dan.id, plain.id]]);
    const operations = round % 2 === 0 ? [...create(), ...remove()] : [...remove(), ...create()];
    await vi.waitFor(
      async () => {
        const { rows } = await watcher.query(
          `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        expect(rows[0].waiting).toBeGreaterThanOrEqual(8);
      },
      { timeout: 60_000, interval: 20 },
    );
    await sql.query('commit');
    const responses = await Promise.all(operations);
    expect(responses.filter(({ status }) => status >= 500)).toEqual([]);
    for (const { id } of [dan, plain]) {
      await restore(id);
      expect(await live(id)).toEqual(none);
    }
  }
});

test('a session stored for a user while their account is being erased is removed with the account', async () => {
  const fay = await person('Fay');
  // Runs after the rows of the features are erased and before the erasure finishes.
  await sql.query(`
    create function stored_late() returns trigger language plpgsql as $$ begin
      insert into sessions (id, user_id, token_hash, expires_at, ip, user_agent)
        values (md5(random()::text), new.user_id, md5(random()::text), now() + interval '1 day', '', '');
      return new; end $$;
    create trigger stored_late after update on privacy_erasures for each row when (new.status = 'finished' and old.status = 'running')
      execute function stored_late()`);
  expect((await fay.call('POST', '/api/auth/me/erase', { password: PASSWORD })).status).toBe(202);
  await vi.waitFor(
    async () => {
      const { rows } = await sql.query('select status from privacy_erasures where user_id = $1', [fay.id]);
      expect(rows[0].status).toBe('finished');
    },
    { timeout: 60_000, interval: 50 },
  );
  expect((await live(fay.id)).sessions).toBe(0);
});

/** Starts a relay and resolves once it has handled all events and started all sweeps. */
async function relay(): Promise<void> {
  const relaying = createApp(declared, env);
  onTestFinished(() => relaying.close());
  await relaying.start({ roles: ['relay'] });
  await vi.waitUntil(async () => (await sql.query('select from outbox')).rowCount === 0, { timeout: 60_000 });
}

const remove = async (id: string) => expect((await root.call('DELETE', `/api/users/${id}`)).status).toBe(204);
const counted = async (table: string, column: string, id: string) =>
  (await sql.query(`select from ${table} where ${column} = $1`, [id])).rowCount;

test('the relay keeps what users create after they were restored', async () => {
  const ada = await guarded('Ada');
  await remove(ada.id);
  await restore(ada.id);
  expect((await ada.call('GET', '/api/auth/me')).status).toBe(401);
  const { body } = await verify(call, await challenge(call, ada), codeOf(ada.secret));
  const back = createClient(url, body.data.token);
  const made = await back('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['*'] });
  const kept = (await back('POST', '/api/webhooks', endpoint)).body.data.id;
  await relay();
  const key = createClient(url, made.body.data.key);
  expect([(await back('GET', '/api/auth/me')).status, (await key('GET', `/api/users/${ada.id}`)).status]).toEqual([
    200, 200,
  ]);
  expect((await back('GET', '/api/webhooks')).body.data).toMatchObject([{ id: kept, enabled: true }]);
});

test('a deleted user is signed out but keeps their second factor, which is removed once the user can no longer be restored', async () => {
  const bob = await guarded('Bob');
  await remove(bob.id);
  await relay();
  expect(await counted('sessions', 'user_id', bob.id)).toBe(0);
  await restore(bob.id);
  expect((await bob.call('GET', '/api/auth/me')).status).toBe(401);
  const { body } = await call('POST', '/api/auth/login', { email: bob.email, password: PASSWORD });
  expect(body.data).toMatchObject({ mfaRequired: true });
  await remove(bob.id);
  await relay();
  expect(await counted('two_factors', 'user_id', bob.id)).toBe(1);
  await sql.query('delete from users_deleted where id = $1', [bob.id]);
  await relay();
  await expect.poll(() => counted('two_factors', 'user_id', bob.id)).toBe(0);
});
