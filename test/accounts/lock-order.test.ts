// Two requests that change accounts at the same time must lock rows in the same order: otherwise Postgres ends one of them as a deadlock.
import { createHash, randomBytes } from 'node:crypto';
import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import {
  apiKeys,
  defineUser,
  emailSignIn,
  emailVerification,
  invitations,
  twoFactor,
  webhooks,
} from '../../src/index.ts';
import { generateToken } from '../../src/platform/data/crypto/token.ts';
import { newId } from '../../src/platform/helpers/ids.ts';
import { type ApiResponse, type Person, startTestApp } from '../support/app.ts';

const password = 'correct horse battery';
const { call, env, person } = await startTestApp({
  resources: [defineUser()],
  extensions: [emailVerification(), emailSignIn(), invitations(), apiKeys(), webhooks(), twoFactor()],
  settings: { auth: { lockout: { maxAttempts: 0 } } },
});
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const hash = (secret: string) => createHash('sha256').update(secret).digest('hex');
const newToken = () => randomBytes(32).toString('base64url');

/** Stores a proof as if its e-mail had been sent. Returns its token and the secret of its client. */
async function addProof(purpose: string, email: string, userId: string | null, createdAt = 'now()') {
  const [token, client] = [newToken(), newToken()];
  const data = { emailVerifiedAt: new Date().toISOString() };
  await sql.query(
    `insert into email_proofs (id, purpose, email, user_id, client_hash, token_hash, data, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, ${createdAt}, now() + interval '1 hour')`,
    [newId(), purpose, email, userId, purpose === 'sign-in' ? hash(client) : null, hash(token), JSON.stringify(data)],
  );
  return { token, client };
}

async function addInvitation(email: string, invitedBy: string) {
  const token = generateToken();
  await sql.query(
    `insert into invitations (id, email, roles, invited_by, token_hash, expires_at)
     values ($1, $2, '{}', $3, $4, now() + interval '1 day') on conflict do nothing`,
    [newId(), email, invitedBy, hash(token)],
  );
  return token;
}

/** The users of a pair of requests, and an address that both want. */
interface Scene {
  me: Person;
  other: Person;
  wanted: string;
}

/** Prepares a request, which is then sent at the same time as another one. */
type Prepare = (scene: Scene) => Promise<() => Promise<ApiResponse>>;

const ROUTES: Record<string, Prepare> = {
  'POST /auth/password': async ({ me }) => {
    return () => me.call('POST', '/api/auth/password', { currentPassword: password, newPassword: `${password}!` });
  },
  'POST /auth/password/reset': async ({ me }) => {
    const random = newToken();
    const token = random + createHash('sha256').update(`${random}.${me.email}`).digest('base64url').slice(0, 22);
    await sql.query(
      `insert into password_resets (user_id, token_hash, requested_at, expires_at)
       values ($1, $2, now(), now() + interval '1 hour') on conflict (user_id) do update set token_hash = excluded.token_hash`,
      [me.id, hash(token)],
    );
    return () => call('POST', '/api/auth/password/reset', { token, password: `${password}?` });
  },
  'POST /auth/email/confirm': async ({ me, wanted }) => {
    const { token } = await addProof('change', wanted, me.id);
    return () => me.call('POST', '/api/auth/email/confirm', { token });
  },
  // Restores the address that the other user has now, who is displaced.
  'POST /auth/email/undo': async ({ me, other }) => {
    const { token } = await addProof('undo', other.email, me.id, `now() - interval '1 minute'`);
    return () => call('POST', '/api/auth/email/undo', { token });
  },
  'POST /auth/email-sign-in/verify': async ({ wanted }) => {
    const { token, client } = await addProof('sign-in', wanted, null);
    return () => call('POST', '/api/auth/email-sign-in/verify', { token, signInToken: client });
  },
  'POST /auth/invitations/accept': async ({ me, other }) => {
    const token = await addInvitation(me.email, other.id);
    return () => call('POST', '/api/auth/invitations/accept', { token });
  },
  'POST /auth/register': async ({ wanted }) => {
    return () => call('POST', '/api/auth/register', { name: 'New', email: wanted, password });
  },
  'POST /auth/2fa/verify': async ({ me }) => {
    await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [me.id]);
    const { body } = await call('POST', '/api/auth/login', { email: me.email, password });
    const { mfaToken = `svc_mfa_${'0'.repeat(64)}` } = body.data ?? {};
    return () => call('POST', '/api/auth/2fa/verify', { mfaToken, method: 'totp', code: '000000' });
  },
  'POST /auth/logout-all': async ({ me }) => {
    return () => me.call('POST', '/api/auth/logout-all', { disableWebhooks: true });
  },
  'POST /auth/devices': async ({ me }) => {
    return () => me.call('POST', '/api/auth/devices', { token: newToken(), platform: 'ios' });
  },
  'POST /auth/api-keys': async ({ me }) => {
    return () => me.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  },
};
const NAMES = Object.keys(ROUTES);

/** Creates a user with rows in the tables that revocations change. */
async function someone(name: string): Promise<Person> {
  const me = await person(name);
  await me.call('POST', '/api/auth/devices', { token: newToken(), platform: 'ios' });
  await me.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  await me.call('POST', '/api/auth/2fa/enrol', { password });
  return me;
}

let pairs = 0;

/** Sends both requests at the same time: of one user, and of two users who want something of each other. */
async function runPair(first: string, second: string): Promise<ApiResponse[]> {
  const answers: ApiResponse[] = [];
  const [ada, eve] = await Promise.all([someone('Ada'), someone('Eve')]);
  for (const scene of [
    { me: ada, other: eve },
    { me: eve, other: ada },
  ]) {
    const wanted = `wanted-${++pairs}@example.com`;
    const requests = [
      await ROUTES[first]!({ me: ada, other: eve, wanted }),
      await ROUTES[second]!({ ...scene, wanted }),
    ];
    answers.push(...(await Promise.all(requests.map((send) => send()))));
  }
  return answers;
}

test.each(NAMES)('%s and any other change of an account at the same time do not deadlock', async (first) => {
  for (const second of NAMES.slice(NAMES.indexOf(first))) {
    const failed = (await runPair(first, second)).filter(({ status }) => status >= 500);
    expect([first, second, failed.map(({ status, body }) => [status, body.error])]).toEqual([first, second, []]);
  }
});

test('of users who confirm one new address at the same time, one gets it and the others get 409', async () => {
  for (let round = 0; round < 4; round++) {
    const users = await Promise.all(['Ada', 'Bob', 'Cy', 'Dot'].map((name) => person(name)));
    const wanted = `confirmed-${round}@example.com`;
    const tokens = await Promise.all(users.map(async ({ id }) => (await addProof('change', wanted, id)).token));
    const answers = await Promise.all(
      users.map((user, i) => user.call('POST', '/api/auth/email/confirm', { token: tokens[i] })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const { rows } = await sql.query('select count(*)::int as users from users where email = $1', [wanted]);
    expect(rows).toEqual([{ users: 1 }]);
  }
});

test('two undos that restore the addresses of each other’s accounts end, and one of them displaces the other account', async () => {
  for (let round = 0; round < 4; round++) {
    const [ada, eve] = await Promise.all([person('Ada'), person('Eve')]);
    const undos = [
      await ROUTES['POST /auth/email/undo']!({ me: ada, other: eve, wanted: '' }),
      await ROUTES['POST /auth/email/undo']!({ me: eve, other: ada, wanted: '' }),
    ];
    const answers = await Promise.all(undos.map((undo) => undo()));
    // Displacing an account ends everything that it could use, its undo included.
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 400]);
  }
});

test('two accounts that invited each other are claimed at the same time', async () => {
  for (let round = 0; round < 4; round++) {
    const [ada, eve] = await Promise.all([person('Ada', ['user', 'admin']), person('Eve', ['user', 'admin'])]);
    const accept = [
      await ROUTES['POST /auth/invitations/accept']!({ me: ada, other: eve, wanted: '' }),
      await ROUTES['POST /auth/invitations/accept']!({ me: eve, other: ada, wanted: '' }),
    ];
    const answers = await Promise.all(accept.map((send) => send()));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
  }
});
