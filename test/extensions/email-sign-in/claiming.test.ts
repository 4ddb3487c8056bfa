import { expect, test } from 'vitest';
import { apiKeys, audit, defineResource, defineUser, emailSignIn, f, twoFactor, webhooks } from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { guard, PASSWORD } from '../two-factor/two-factor-user.ts';
import { openMailbox, statuses, until } from './mailbox.ts';

const note = defineResource('note', { fields: { text: f.string() }, policies: { create: 'authenticated' } });
const events: Record<string, unknown>[] = [];
const started = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [emailSignIn(), twoFactor(), apiKeys(), webhooks(), audit()],
    settings: { relay: { sweepMs: 50 } },
    listeners: (app) => app.on('auth.email_verified', (payload: Record<string, unknown>) => void events.push(payload)),
  },
  { roles: 'all' },
);
const { call, url, person } = started;
const { sql, request, withLink, withCode, ask, allComposed, sessionsOf } = await openMailbox(started);

const login = (email: string) => call('POST', '/api/auth/login', { email, password: PASSWORD });
const count = async (table: string, column: string, id: string) =>
  (await sql.query(`select 1 from ${table} where ${column} = $1`, [id])).rowCount;

/** Gives a person every kind of credential, as an attacker does who registered with the address of another person. */
async function withCredentials(name: string): Promise<{ attacker: Person; key: string }> {
  const attacker = await person(name);
  const key = (await attacker.call('POST', '/api/auth/api-keys', { name: 'backdoor', scopes: ['*'] })).body.data.key;
  const endpoint = { url: 'https://hooks.example.com/', events: ['note.created'] };
  expect((await attacker.call('POST', '/api/webhooks', endpoint)).status).toBe(201);
  const device = { token: `device-${attacker.id}-0123456789`, platform: 'ios' };
  expect((await attacker.call('POST', '/api/auth/devices', device)).status).toBe(201);
  await guard(attacker, sql);
  return { attacker, key };
}

test.each([
  ['link', withLink],
  ['code', withCode],
] as const)(
  'the first sign-in by %s ends every credential of a person who registered the address in advance',
  async (_what, signIn) => {
    const { attacker, key } = await withCredentials('Victim');
    const withKey = createClient(url, key);
    expect((await withKey('GET', '/api/auth/me')).status).toBe(200);
    const asked = await request(attacker.email);
    const { status, body } = await signIn(asked);
    // Without the second factor of the attacker.
    expect([status, body.data.user.id]).toEqual([200, attacker.id]);
    expect((await attacker.call('GET', '/api/auth/me')).status).toBe(401);
    expect((await withKey('GET', '/api/auth/me')).status).toBe(401);
    expect((await login(attacker.email)).status).toBe(401);
    expect(await sessionsOf(attacker.id)).toHaveLength(1);
    for (const [table, column] of [
      ['devices', 'user_id'],
      ['two_factors', 'user_id'],
      ['email_proofs', 'user_id'],
    ] as const)
      expect([table, await count(table, column, attacker.id)]).toEqual([table, 0]);
    const own = createClient(url, body.data.token);
    expect((await own('GET', '/api/webhooks')).body.data).toEqual([]);
    const removed = 'select 1 from webhook_endpoints where owner_id = $1 and removed_at is null';
    expect((await sql.query(removed, [attacker.id])).rowCount).toBe(0);
    expect(events.filter(({ user }) => (user as { id: string }).id === attacker.id)).toEqual([
      { user: expect.objectContaining({ emailVerifiedAt: expect.any(String) }), ip: expect.any(String), claimed: true },
    ]);
    const entry = () =>
      sql.query(
        `select e::text as text from audit_entries e where action = 'auth.email_verified' and e::text like $1`,
        [`%${attacker.id}%`],
      );
    await until(async () => (await entry()).rowCount === 1);
    expect((await own('GET', '/api/auth/me')).status).toBe(200);
  },
);

test('a reset link that the attacker requested in advance does not work after the first sign-in', async () => {
  const attacker = await person('Reset');
  await call('POST', '/api/auth/password/forgot', { email: attacker.email });
  await allComposed();
  const mails = await started.app.captured.mails();
  const mail = mails.find(({ to, text }) => to === attacker.email && text.includes('/reset-password'));
  const token = /token=([\w-]+)/.exec(mail!.text)![1];
  expect((await withLink(await request(attacker.email))).status).toBe(200);
  const reset = await call('POST', '/api/auth/password/reset', { token, password: 'a staple that is new' });
  expect(reset.status).toBe(400);
});

test('later sign-ins end nothing', async () => {
  const ann = await person('Ann');
  const first = (await withLink(await request(ann.email))).body.data.token;
  const client = createClient(url, first);
  const key = (await client('POST', '/api/auth/api-keys', { name: 'script', scopes: ['*'] })).body.data.key;
  expect((await withCode(await request(ann.email))).status).toBe(200);
  expect((await client('GET', '/api/auth/me')).status).toBe(200);
  expect((await createClient(url, key)('GET', '/api/auth/me')).status).toBe(200);
  expect(events.filter(({ user }) => (user as { id: string }).id === ann.id)).toHaveLength(1);
});

test('no session that the attacker starts while the owner signs in survives', async () => {
  for (let round = 0; round < 10; round++) {
    const attacker = await person('Race');
    const asked = await request(attacker.email);
    const [signedIn, ...logins] = await Promise.all([
      withLink(asked),
      ...Array.from({ length: 3 }, () => login(attacker.email)),
    ]);
    expect(signedIn.status).toBe(200);
    for (const { body } of logins)
      if (body.data !== undefined)
        expect((await createClient(url, body.data.token)('GET', '/api/auth/me')).status).toBe(401);
    expect(await sessionsOf(attacker.id)).toHaveLength(1);
  }
});

test('a registration at the same time as a first sign-in creates one account, which belongs to the owner of the mailbox', async () => {
  for (let round = 0; round < 10; round++) {
    const email = `together-${round}@example.com`;
    const asked = await request(email);
    const registration = { name: 'Mallory', email, password: PASSWORD };
    const [signedIn, registered] = await Promise.all([
      withLink(asked),
      call('POST', '/api/auth/register', registration),
    ]);
    // 401: the account has been created and claimed before its session could start.
    expect([201, 401, 409]).toContain(registered.status);
    expect(signedIn.status).toBe(200);
    expect((await login(email)).status).toBe(401);
    if (registered.status === 201)
      expect((await createClient(url, registered.body.data.token)('GET', '/api/auth/me')).status).toBe(401);
    const { rows } = await sql.query('select email_verified_at is not null as verified from users where email = $1', [
      email,
    ]);
    expect(rows).toEqual([{ verified: true }]);
  }
});

test('a concurrent sign-in by two people with links to one mailbox claims the account once', async () => {
  const attacker = await person('Twice');
  const tabs = [await request(attacker.email), await request(attacker.email)];
  const responses = await Promise.all(tabs.map(withLink));
  expect(statuses(responses)).toEqual([200, 400]);
  expect(events.filter(({ user }) => (user as { id: string }).id === attacker.id)).toHaveLength(1);
  expect((await ask(attacker.email)).status).toBe(202);
});
