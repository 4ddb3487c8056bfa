import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { createPasswordHasher, NO_PASSWORD } from '../../../src/accounts/passwords/password-hash.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const secret = 'correct horse battery';
const fresh = 'a staple that is new';
/** Returns the hash of the other system. */
const old = (password: string) => `md5$${createHash('md5').update(password).digest('hex')}`;
const verifierCalls: string[] = [];
/** While set, every password check waits for it. */
let gate: Promise<void> | undefined;
const { app, url, call, person, env } = await startTestApp(
  {
    resources: [defineUser({ fields: { password: f.password() } })],
    settings: {
      auth: {
        password: { logN: 4, r: 8, p: 1 },
        async legacyPassword(hash, password) {
          verifierCalls.push(hash);
          await gate;
          if (hash === 'broken') throw new Error('no such algorithm');
          return hash === old(password);
        },
      },
    },
  },
  { roles: 'all' },
);
const note = defineResource('note', { fields: { text: f.string() }, policies: { list: 'public' } });
// Hashes have the cost of production.
const costly = await startTestApp({
  resources: [defineUser(), note],
  settings: { auth: { password: { logN: 15, r: 8, p: 3 } } },
});
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
beforeEach(() => void verifierCalls.splice(0));

const login = (email: string, password = secret) => call('POST', '/api/auth/login', { email, password });
const hashOf = async (id: string) =>
  (await sql.query<{ password: string }>('select password from users where id = $1', [id])).rows[0]!.password;

/** Creates a user whose hash was imported from the other system. */
async function moved(hash = old(secret)) {
  const one = await person('Ann');
  await sql.query('update users set password = $2 where id = $1', [one.id, hash]);
  return one;
}

test('the first login with an imported hash replaces it with an scrypt hash, which later logins use', async () => {
  const ann = await moved();
  expect((await login(ann.email)).status).toBe(200);
  expect(await hashOf(ann.id)).toMatch(/^\$scrypt\$/);
  expect((await login(ann.email)).status).toBe(200);
  expect((await login(ann.email, 'wrong horse battery')).status).toBe(401);
});

test('a wrong password does not change an imported hash and counts as a failed sign-in', async () => {
  const ann = await moved();
  for (let i = 0; i < 5; i++) expect((await login(ann.email, 'wrong horse battery')).status).toBe(401);
  expect(await hashOf(ann.id)).toBe(old(secret));
  expect((await login(ann.email)).status).toBe(429);
});

test('ten concurrent first logins all succeed', async () => {
  const ann = await moved();
  const responses = await Promise.all(Array.from({ length: 10 }, () => login(ann.email)));
  expect(responses.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect((await login(ann.email)).status).toBe(200);
});

test('after the first imported hash, accounts with an scrypt hash and unknown e-mails cost the same work', async () => {
  const [ann, ben] = [await moved(), await person('Ben')];
  await login(ann.email, 'wrong horse battery');
  verifierCalls.length = 0;
  for (const email of [ann.email, ben.email, 'nobody@example.com']) await login(email, 'wrong horse battery');
  expect(verifierCalls).toEqual([old(secret), old(secret), old(secret)]);
});

test('the result of the verifier does not matter for accounts with an scrypt hash', async () => {
  const [ann, ben] = [await moved(old(fresh)), await person('Ben')];
  await login(ann.email, 'wrong horse battery');
  expect((await login(ben.email, fresh)).status).toBe(401);
  expect((await login('nobody@example.com', fresh)).status).toBe(401);
  expect((await login(ben.email)).status).toBe(200);
});

test('a verifier that throws counts as a wrong password', async () => {
  const ann = await moved('broken');
  expect((await login(ann.email)).status).toBe(401);
});

test('a user without a password cannot sign in, and the verifier does not run for them', async () => {
  const ann = await moved(NO_PASSWORD);
  expect((await login(ann.email, NO_PASSWORD)).status).toBe(401);
  expect(verifierCalls).not.toContain(NO_PASSWORD);
});

const register = (email: string) => call('POST', '/api/auth/register', { name: 'Ann', email });

test('with an optional password, a user who registers without one is signed in and can set one only by a reset', async () => {
  const { status, body } = await register('ann@example.com');
  expect(status).toBe(201);
  const ann = createClient(url, body.data.token);
  expect((await ann('GET', '/api/auth/me')).body.data.email).toBe('ann@example.com');
  for (const password of ['', '!', secret]) expect((await login('ann@example.com', password)).status).toBe(401);
  const change = await ann('POST', '/api/auth/password', { currentPassword: '', newPassword: secret });
  expect([change.status, change.body.error.details]).toEqual([
    422,
    { currentPassword: 'Must be your current password' },
  ]);

  await call('POST', '/api/auth/password/forgot', { email: 'ann@example.com' });
  const mail = await vi.waitUntil(async () => (await app.captured.mails())[0], { timeout: 60_000 });
  const token = new URL(/http\S+/.exec(mail.text)![0]).searchParams.get('token');
  expect((await call('POST', '/api/auth/password/reset', { token, password: secret })).status).toBe(204);
  expect((await ann('GET', '/api/auth/me')).status).toBe(401);
  expect((await login('ann@example.com')).status).toBe(200);
});

test('a user without a password cannot sign in with the imported hash of another user', async () => {
  await register('bob@example.com');
  async function* rows() {
    yield JSON.stringify({ email: 'cy@example.com', name: 'Cy', passwordHash: old(secret) });
  }
  await app.accounts!.importUsers(rows());
  expect((await login('cy@example.com', 'not the secret')).status).toBe(401);
  expect((await login('bob@example.com')).status).toBe(401);
  expect((await login('cy@example.com')).status).toBe(200);
});

test('a flood of logins does not block other routes, file reads or DNS look-ups', {
  timeout: 240_000,
}, async () => {
  let answered = 0;
  const flood = Array.from({ length: 8 }, async (_, i) => {
    const { status } = await costly.call('POST', '/api/auth/login', {
      email: `n${i}@example.com`,
      password: 'wrong horse',
    });
    answered += 1;
    return status;
  });
  await Promise.race(flood);
  let rounds = 0;
  while (answered < flood.length && rounds < 10) {
    expect((await costly.call('GET', '/api/notes')).status).toBe(200);
    await Promise.all([readFile(import.meta.filename), lookup('localhost')]);
    if (answered < flood.length) rounds += 1;
  }
  // Works on a slow machine too: a round that had waited for the hashes would have ended after them.
  expect(rounds).toBeGreaterThan(0);
  expect(await Promise.all(flood)).toEqual(Array(flood.length).fill(401));
});

test('calls over the queue limit are refused at once, and later calls are served', async () => {
  const hasher = createPasswordHasher({ logN: 4, r: 8, p: 1 }, { concurrency: 1, maxQueue: 2 });
  const all = await Promise.allSettled(Array.from({ length: 6 }, () => hasher.verifyAgainstNothing('x')));
  expect(all.map(({ status }) => status)).toEqual([...Array(3).fill('fulfilled'), ...Array(3).fill('rejected')]);
  expect(await hasher.verifyAgainstNothing('x')).toBe(false);
});

test('a login over the queue limit responds 503 with Retry-After in the standard error envelope', {
  timeout: 240_000,
}, async () => {
  const refused: number[] = [];
  const attempt = async (email: string) => {
    const response = await login(email, 'wrong horse battery');
    if (response.status === 503) refused.push(response.status);
    return response;
  };
  // Once an imported hash was seen, every login calls the project's verifier, which costs nothing but can wait.
  const ada = await moved('of another system');
  expect((await attempt(ada.email)).status).toBe(401);

  const { promise, resolve: open } = Promise.withResolvers<void>();
  gate = promise;
  const logins = Promise.all(Array.from({ length: 400 }, (_, i) => attempt(`m${i}@example.com`)));
  await vi.waitUntil(() => refused.length > 0, { timeout: 120_000, interval: 20 });
  open();
  const busy = await logins;
  expect(busy.find(({ status }) => status === 503)).toMatchObject({
    body: { error: { code: 'UNAVAILABLE', message: 'The service is temporarily unavailable' } },
  });
  expect(busy.find(({ status }) => status === 503)!.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(new Set(busy.map(({ status }) => status))).toEqual(new Set([401, 503]));
});
