import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createPasswordHasher, NO_PASSWORD } from '../../../src/accounts/passwords/password-hash.ts';
import { defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const secret = 'correct horse battery';
const fresh = 'a staple that is new';
/** Returns the hash of the other system. */
const old = (password: string) => `md5$${createHash('md5').update(password).digest('hex')}`;
const verifierCalls: string[] = [];
const { call, person, env } = await startTestApp({
  resources: [defineUser()],
  settings: {
    auth: {
      password: { logN: 4, r: 8, p: 1 },
      async legacyPassword(hash, password) {
        verifierCalls.push(hash);
        if (hash === 'broken') throw new Error('no such algorithm');
        return hash === old(password);
      },
    },
  },
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

test('without a verifier, a foreign hash matches no password', async () => {
  const hasher = createPasswordHasher({ logN: 4, r: 8, p: 1 });
  expect(await hasher.verify(secret, old(secret))).toBe(false);
  expect(hasher.needsRehash(old(secret))).toBe(true);
});

test('a verifier that hangs counts as a wrong password after ten seconds and does not block other sign-ins', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const failures: unknown[] = [];
  let startedChecks = 0;
  const verify = () => {
    startedChecks += 1;
    return new Promise<boolean>(() => undefined);
  };
  const failed = (error: unknown) => void failures.push(error);
  const hasher = createPasswordHasher({ logN: 4, r: 8, p: 1 }, { legacy: { verify, failed } });
  const own = await hasher.hash(secret);
  const hanging = Promise.all([hasher.verify(secret, 'a'), hasher.verify(secret, 'b')]);
  await vi.waitUntil(() => startedChecks === 2, { timeout: 60_000, interval: 20 });
  const other = createPasswordHasher({ logN: 4, r: 8, p: 1 });
  const next = hasher.hash(secret);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await hanging).toEqual([false, false]);
  expect(failures).toEqual([expect.any(Error), expect.any(Error)]);
  expect(await other.verify(secret, await next)).toBe(true);
  expect(await other.verify(secret, own)).toBe(true);
});

test('any verifier result other than true is a wrong password', async () => {
  const legacy = { verify: () => 'yes' as unknown as boolean, failed: () => undefined };
  const hasher = createPasswordHasher({ logN: 4, r: 8, p: 1 }, { legacy });
  expect(await hasher.verify(secret, 'anything')).toBe(false);
});

test('a password with NUL is wrong even if the verifier accepts it', async () => {
  const hasher = createPasswordHasher(
    { logN: 4, r: 8, p: 1 },
    { legacy: { verify: () => true, failed: () => undefined } },
  );
  expect(await hasher.verify('a\0b', 'anything')).toBe(false);
  expect(await hasher.verify('ab', 'anything')).toBe(true);
});
