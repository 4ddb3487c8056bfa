import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { Accounts, CheckedLogin } from '../../../src/declare/accounts.ts';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { apiKeys, defineExtension, defineResource, defineUser, f, twoFactor } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const password = 'correct horse battery';
let host: ExtensionHost | undefined;
const events: [name: string, payload: Record<string, unknown>][] = [];

/** An extension that trusts its caller, to reach the account functions over HTTP. */
const trust = defineExtension({
  name: 'trust',
  setup(given) {
    host = given;
    const accounts = given.accounts as Accounts;
    return {
      routes: [
        {
          method: 'POST',
          path: '/auth/trust',
          policy: 'public',
          body: 'json',
          async handler({ body, req }) {
            const { userId, ...signIn } = body as { userId: string; method: string; proof?: string };
            return accounts.startSession(userId, { ...signIn, request: req });
          },
        },
        {
          method: 'POST',
          path: '/sensitive',
          recentSignIn: true,
          status: 204,
          handler: () => undefined,
        },
        {
          method: 'POST',
          path: '/open-sensitive',
          policy: 'public',
          recentSignIn: true,
          status: 204,
          handler: () => undefined,
        },
      ],
    };
  },
});
const stepCalls: [string, CheckedLogin][] = [];

/** An extension with a sign-in step that applies to users with this name. */
const step = (name: string) =>
  defineExtension({
    name: name.toLowerCase(),
    setup: ({ accounts }) => ({
      routes: [
        {
          method: 'POST',
          path: `/auth/${name.toLowerCase()}`,
          policy: 'public',
          body: 'json',
          handler: (ctx) => accounts!.resumeLogin(ctx.body as never, ctx),
        },
      ],
      signInStep: {
        output: z.object({ wanted: z.literal(name) }),
        async ask(login) {
          stepCalls.push([name, login]);
          return login.user.name === name ? { wanted: name } : undefined;
        },
      },
    }),
  });
const payout = defineResource('payout', {
  fields: { amount: f.number(), owner: f.ref('user').owner() },
  policies: { create: 'authenticated' },
  routes: (route) => [
    route.post('/:id/send', { policy: 'owner', recentSignIn: true }, () => ({ sent: true })),
    route.post('/:id/consume', { policy: 'owner', recentSignIn: true }, async ({ doc, service }) => {
      await service('payout').delete(doc.id);
      return { sent: true };
    }),
  ],
});
const { app, call, url, person, env } = await startTestApp({
  resources: [defineUser(), payout],
  extensions: [step('Ann'), step('Bob'), trust, twoFactor(), apiKeys()],
  settings: { auth: { recentSignIn: '10m' } },
  listeners(app) {
    for (const name of ['auth.login', 'security.login_failed', 'security.locked_login_attempt'])
      app.on(name, (payload: Record<string, unknown>) => void events.push([name, payload]));
  },
});
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const login = (email: string, given = password) => call('POST', '/api/auth/login', { email, password: given });
const trusted = (body: object) => call('POST', '/api/auth/trust', body);
const ageSessions = (userId: string, minutes: number) =>
  sql.query(`update sessions set created_at = now() - $2 * interval '1 minute' where user_id = $1`, [userId, minutes]);

test('an extension starts a session like a login: with its method in the list of sessions and in the event', async () => {
  const ada = await person('Ada');
  events.length = 0;
  const { status, body, headers } = await trusted({ userId: ada.id, method: 'ticket' });
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(events).toEqual([['auth.login', expect.objectContaining({ method: 'ticket', ip: expect.any(String) })]]);
  const sessions = (await createClient(url, body.data.token)('GET', '/api/auth/sessions')).body.data;
  expect(sessions.map(({ method }: { method: string }) => method)).toEqual(['ticket', 'password']);
});

const guess = async (email: string, times: number) => {
  for (let attempt = 0; attempt < times; attempt++) await login(email, 'wrong horse battery');
};

test('a lock after wrong passwords does not keep a user from signing in with a secret that cannot be guessed, and stays', async () => {
  const ada = await person('Ada');
  await guess(ada.email, 5);
  events.length = 0;
  expect((await trusted({ userId: ada.id, method: 'ticket' })).status).toBe(200);
  expect(events.map(([name]) => name)).toEqual(['auth.login']);
  expect((await login(ada.email)).status).toBe(429);
});

test('a session that an extension starts clears failed sign-ins, but one that waits for a second factor does not', async () => {
  const ada = await person('Ada');
  await guess(ada.email, 4);
  await trusted({ userId: ada.id, method: 'ticket' });
  await guess(ada.email, 4);
  expect((await login(ada.email)).status).toBe(200);

  const cy = await person('Cy');
  await cy.call('POST', '/api/auth/2fa/enrol', { password });
  await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [cy.id]);
  await guess(cy.email, 4);
  expect((await trusted({ userId: cy.id, method: 'ticket' })).body.data).toMatchObject({ mfaRequired: true });
  await guess(cy.email, 1);
  expect((await login(cy.email)).status).toBe(429);
});

test('a session of an extension follows the rules of a login: disabled, missing and two-factor accounts', async () => {
  const ben = await person('Ben');
  await app.service('user').update(ben.id, { status: 'disabled' });
  events.length = 0;
  expect((await trusted({ userId: ben.id, method: 'ticket' })).status).toBe(403);
  expect(events).toEqual([['security.login_failed', expect.objectContaining({ reason: 'user_disabled' })]]);
  expect((await trusted({ userId: 'f'.repeat(24), method: 'ticket' })).status).toBe(401);

  const cy = await person('Cy');
  await cy.call('POST', '/api/auth/2fa/enrol', { password });
  await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [cy.id]);
  expect((await trusted({ userId: cy.id, method: 'ticket' })).body.data).toMatchObject({ mfaRequired: true });
  expect((await trusted({ userId: cy.id, method: 'passkey', multiFactor: true })).body.data.token).toMatch(/^svc_/);
});

test('a credential that was used up before the password changed starts no session', async () => {
  const ada = await person('Ada');
  const locked = await host!.transaction(({ database }) => host!.accounts!.lockUser(ada.id, database));
  expect(locked).toMatchObject({ hasPassword: true, user: { id: ada.id } });
  const signIn = { userId: ada.id, method: 'ticket', proof: locked!.proof };
  expect((await trusted(signIn)).status).toBe(200);
  await ada.call('POST', '/api/auth/password', { currentPassword: password, newPassword: 'a staple that is new' });
  expect((await trusted(signIn)).status).toBe(401);
});

test('a method must be a short name', async () => {
  const ada = await person('Ada');
  for (const method of ['', 'a b', 'x'.repeat(65), 'a~1', "'; drop table sessions"])
    expect((await trusted({ userId: ada.id, method })).status).toBe(500);
});

test('a route with recentSignIn refuses old sessions until the user proves again who they are, and API keys and visitors always', async () => {
  const ada = await person('Ada');
  const sensitive = async (client = ada.call) => (await client('POST', '/api/sensitive')).status;
  const key = (await ada.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['*'] })).body.data.key;
  expect(await sensitive()).toBe(204);
  await ageSessions(ada.id, 11);
  const refused = await ada.call('POST', '/api/sensitive');
  expect([refused.status, refused.body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  expect(await sensitive(createClient(url, key))).toBe(403);
  expect(await sensitive(call)).toBe(401);
  expect((await call('POST', '/api/open-sensitive')).status).toBe(401);
  expect((await ada.call('POST', '/api/auth/api-keys', { name: 'k' })).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  expect((await ada.call('POST', '/api/auth/reauthenticate', { password: 'wrong horse' })).status).toBe(422);
  expect(await sensitive()).toBe(403);
  expect((await ada.call('POST', '/api/auth/reauthenticate', { password })).status).toBe(204);
  expect(await sensitive()).toBe(204);
  const [session] = (await ada.call('GET', '/api/auth/sessions')).body.data;
  expect(Date.parse(session.authenticatedAt)).toBeGreaterThan(Date.parse(session.createdAt) + 10 * 60_000);
});

test("recentSignIn on a resource's own route is enforced, also for a repeated request", async () => {
  const ada = await person('Ada');
  const create = async () => (await ada.call('POST', '/api/payouts', { amount: 1 })).body.data.id;
  const [sent, consumed] = [`/api/payouts/${await create()}/send`, `/api/payouts/${await create()}/consume`];
  const headers = { 'idempotency-key': 'once' };
  expect((await ada.call('POST', sent, undefined, headers)).status).toBe(200);
  expect((await ada.call('POST', consumed, undefined, headers)).status).toBe(200);
  await ageSessions(ada.id, 11);
  for (const path of [sent, consumed]) {
    const { status, body } = await ada.call('POST', path, undefined, headers);
    expect([status, body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  }
  await ada.call('POST', '/api/auth/reauthenticate', { password });
  const { status, headers: replayed } = await ada.call('POST', consumed, undefined, headers);
  expect([status, replayed.get('idempotency-replayed')]).toEqual([200, 'true']);
});

test('confirming the password of one session does not renew the others', async () => {
  const ada = await person('Ada');
  const other = createClient(url, (await trusted({ userId: ada.id, method: 'ticket' })).body.data.token);
  await ageSessions(ada.id, 11);
  await ada.call('POST', '/api/auth/reauthenticate', { password });
  expect((await other('POST', '/api/sensitive')).status).toBe(403);
});

test('a user without a password sets one, and uses two-factor, after a recent sign-in instead of with the password', async () => {
  const user = await host!.accounts!.createUser({ name: 'Dot', email: 'dot@example.com' }, {
    headers: {},
    socket: {},
  } as never);
  const { token } = (await trusted({ userId: user.id, method: 'ticket' })).body.data;
  const dot = createClient(url, token);
  expect((await dot('GET', '/api/auth/sign-in-methods')).body.data).toEqual([]);
  await ageSessions(user.id, 11);
  const set = () => dot('POST', '/api/auth/password', { newPassword: 'a staple that is new' });
  expect((await set()).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  expect((await dot('POST', '/api/auth/2fa/enrol', {})).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  await sql.query('update sessions set authenticated_at = now() where user_id = $1', [user.id]);
  expect((await dot('POST', '/api/auth/2fa/enrol', {})).status).toBe(200);
  expect((await set()).status).toBe(204);
  expect((await dot('GET', '/api/auth/sign-in-methods')).body.data).toEqual(['password']);
  expect((await set()).body.error.details).toEqual({ currentPassword: 'Is required' });
  expect((await login('dot@example.com', 'a staple that is new')).status).toBe(200);
});

test('sign-in steps run in order until one requires something from the user; its response replaces the session and is not cached', async () => {
  events.length = 0;
  for (const [name, steps] of [
    ['Ann', ['Ann']],
    ['Bob', ['Ann', 'Bob']],
    ['Cy', ['Ann', 'Bob']],
  ] as const) {
    const { email } = await person(name);
    stepCalls.length = 0;
    const response = await login(email);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(stepCalls.map(([one]) => one)).toEqual(steps);
    if (name === 'Cy') expect(response.body.data.token).toMatch(/^svc_/);
    else expect(response.body).toEqual({ data: { wanted: name } });
  }
  expect(events.map(([name]) => name)).toEqual(['auth.login']);
});

test('no sign-in step runs for a wrong password or a disabled account', async () => {
  const { id, email } = await person('Ann');
  stepCalls.length = 0;
  expect((await login(email, 'wrong horse battery')).status).toBe(401);
  await app.service('user').update(id, { status: 'disabled' });
  expect((await login(email)).status).toBe(403);
  expect(stepCalls).toEqual([]);
});

test('a login can be resumed until its password changes, and the stored proof is not the password hash', async () => {
  const ann = await person('Ann');
  await login(ann.email);
  const { passwordProof } = stepCalls.at(-1)![1];
  expect(passwordProof).toMatch(/^[0-9a-f]{64}~1$/);
  const resume = (body: object) => call('POST', '/api/auth/ann', { userId: ann.id, passwordProof, ...body });
  const resumed = await resume({});
  expect(resumed.body.data).toMatchObject({ user: { id: ann.id }, token: expect.stringMatching(/^svc_/) });
  for (const wrong of [{ passwordProof: '' }, { userId: 'f'.repeat(24) }])
    expect((await resume(wrong)).status).toBe(401);
  const changed = { currentPassword: password, newPassword: 'another staple entirely' };
  expect((await ann.call('POST', '/api/auth/password', changed)).status).toBe(204);
  expect((await resume({})).status).toBe(401);
});
