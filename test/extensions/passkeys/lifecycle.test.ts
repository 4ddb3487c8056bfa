import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { Revocation } from '../../../src/declare/revocation.ts';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { createPasskeyRowParts } from '../../../src/extensions/passkeys/user-data.ts';
import { audit, defineExtension, defineUser, passkeys, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { createPasskey } from '../../support/passkeys/authenticator.ts';
import {
  ageSessions,
  confirm,
  countSessions,
  expireChallenges,
  PASSWORD,
  type PasskeyUser,
  register,
  signIn,
  signInOptions,
  withPasskey,
} from './passkey-user.ts';

let host: ExtensionHost;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host = given;
    return {};
  },
});
const user = defineUser({ softDelete: true });
const { app, person, call, env } = await startTestApp(
  {
    resources: [user],
    extensions: [passkeys({ secondFactor: true }), softDelete(), audit(), probe],
  },
  { roles: 'all' },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const someone = async (name: string) => withPasskey(await person(name));
const count = async (table: string, { id }: { id: string }): Promise<number> =>
  (await database.query(`select count(*)::int as n from ${table} where user_id = $1`, [id])).rows[0].n;
const revoke = (revocation: Revocation) => host.transaction((tx) => host.accounts!.revoke(revocation, tx));

/** Confirms with the passkey of a user, and opens a challenge of every kind that belongs to the user. */
async function openChallenges(one: PasskeyUser): Promise<void> {
  await confirm(one, one.passkey);
  await one.call('POST', '/api/auth/passkeys/options');
  await one.call('POST', '/api/auth/passkeys/confirm/options');
  await call('POST', '/api/auth/login', { email: one.email, password: PASSWORD });
}

test.each([
  ['password_reset', 1, 0],
  ['password_change', 1, 0],
  ['logout_all', 1, 0],
  ['email_change', 1, 0],
  ['user_deleted', 0, 0],
  ['account_claimed', 0, 0],
  ['key_revoked', 1, 4],
] as const)(
  'after the revocation %s, a user has %i passkeys and %i open challenges',
  async (cause, passkeysLeft, open) => {
    const [ann, bob] = [await someone('Ann'), await someone('Bob')];
    for (const one of [ann, bob]) await openChallenges(one);
    await revoke({ cause, userIds: [ann.id], keyIds: [] });
    expect([await count('passkeys', ann), await count('passkey_challenges', ann)]).toEqual([passkeysLeft, open]);
    expect([await count('passkeys', bob), await count('passkey_challenges', bob)]).toEqual([1, 4]);
    expect((await signIn(call, ann.passkey)).status).toBe(passkeysLeft === 1 ? 200 : 401);
  },
);

test('undoing a change of the e-mail address removes the passkeys that were added since the change', async () => {
  const cy = await someone('Cy');
  const [{ now }] = (await database.query('select clock_timestamp() as now')).rows;
  await database.query(`update passkeys set created_at = created_at - interval '1 hour' where user_id = $1`, [cy.id]);
  const later = createPasskey();
  await confirm(cy, cy.passkey);
  await register(cy, later);
  await openChallenges(cy);
  await revoke({ cause: 'email_change_undone', userIds: [cy.id], since: now.toISOString() });
  expect(await count('passkey_challenges', cy)).toBe(0);
  expect([(await signIn(call, cy.passkey)).status, (await signIn(call, later)).status]).toEqual([200, 401]);
});

test('a revocation that runs at the same time as a registration leaves no passkey behind', async () => {
  for (let i = 0; i < 5; i++) {
    const dee = await person('Dee');
    const { body } = await dee.call('POST', '/api/auth/passkeys/options');
    const [registered] = await Promise.all([
      dee.call('POST', '/api/auth/passkeys', { response: createPasskey().create(body.data) }),
      revoke({ cause: 'account_claimed', userIds: [dee.id] }),
    ]);
    expect([201, 400, 401, 403]).toContain(registered.status);
    expect(await count('passkeys', dee)).toBe(0);
  }
});

test('a deleted user cannot sign in with a passkey, and a restored user has none', async () => {
  const eve = await someone('Eve');
  await app.service(user).delete(eve.id);
  expect((await signIn(call, eve.passkey)).status).toBe(401);
  await app.service(user).restore(eve.id);
  expect((await signIn(call, eve.passkey)).status).toBe(401);
  expect([await count('passkeys', eve), await count('passkey_challenges', eve)]).toEqual([0, 0]);
});

test('a session that ended while a passkey was created cannot register it', async () => {
  const fay = await person('Fay');
  const { body } = await fay.call('POST', '/api/auth/passkeys/options');
  await fay.call('POST', '/api/auth/logout');
  const response = createPasskey().create(body.data);
  expect((await fay.call('POST', '/api/auth/passkeys', { response })).status).toBe(401);
});

test('exports contain the passkeys without their keys, and erasures remove them together with open challenges', async () => {
  const gus = await someone('Gus');
  await openChallenges(gus);
  const data = host.userData().find(({ name }) => name === 'passkeys')!;
  expect(data.tables).toEqual(['passkeys', 'passkey_challenges']);
  expect(await Array.fromAsync(data.rows(gus.id))).toEqual([
    {
      id: gus.passkeyId,
      name: 'Passkey',
      createdAt: expect.any(String),
      lastUsedAt: expect.any(String),
      backedUp: true,
      deviceType: 'multiDevice',
      transports: ['internal', 'hybrid'],
    },
  ]);
  expect(await data.erase(gus.id)).toBe(1);
  expect([await count('passkeys', gus), await count('passkey_challenges', gus)]).toEqual([0, 0]);
  expect(await data.erase(gus.id)).toBe(0);
});

test('the sweep removes expired challenges, and no others', async () => {
  const { challengeId, options } = await signInOptions(call);
  await expireChallenges(database);
  const hal = await someone('Hal');
  const open = await signInOptions(call);
  expect(await createPasskeyRowParts(host.database, host.users!).sweeps[0]!.run()).toBeGreaterThan(0);
  expect((await database.query('select 1 from passkey_challenges where expires_at <= now()')).rowCount).toBe(0);
  const attempt = async (token: string, request: typeof options) =>
    (await call('POST', '/api/auth/passkeys/sign-in', { challengeId: token, response: hal.passkey.use(request) }))
      .status;
  expect([await attempt(challengeId, options), await attempt(open.challengeId, open.options)]).toEqual([401, 200]);
});

test('the audit trail records added, removed and copied passkeys, without an actor for a copy', async () => {
  const hal = await withPasskey(await person('Hal'), createPasskey({ counts: true, synced: false }));
  const copy = hal.passkey.clone();
  await signIn(call, hal.passkey);
  await signIn(call, copy);
  await confirm(hal, hal.passkey);
  await hal.call('DELETE', `/api/auth/passkeys/${hal.passkeyId}`);
  const admin = await person('Root', ['admin']);
  const recorded = async () => {
    const { body } = await admin.call('GET', `/api/admin/audit?record=${hal.id}&limit=100`);
    const entries = body.data.filter(({ action }: { action: string }) => action.startsWith('security.passkey'));
    return entries.map(({ action, user: actor, details }: Record<string, unknown>) => [action, actor, details]);
  };
  const details = { passkeyId: hal.passkeyId, name: 'Passkey' };
  await expect.poll(recorded).toEqual([
    ['security.passkey_removed', hal.id, details],
    ['security.passkey_clone_suspected', null, details],
    ['security.passkey_added', hal.id, details],
  ]);
});

test('a passkey neither renews the session of another user nor ends any session', async () => {
  const [ida, jan] = [await someone('Ida'), await someone('Jan')];
  const before = await countSessions(jan, database);
  await ageSessions(jan, database);
  const asked = (await jan.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  const response = jan.passkey.use(asked);
  expect((await ida.call('POST', '/api/auth/passkeys/confirm', { response })).status).toBe(400);
  expect((await jan.call('POST', '/api/auth/passkeys/options')).status).toBe(403);
  expect(await countSessions(jan, database)).toBe(before);
});
