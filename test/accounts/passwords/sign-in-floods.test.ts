import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createPasswordHasher } from '../../../src/accounts/passwords/password-hash.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const note = defineResource('note', { fields: { text: f.string() }, policies: { list: 'public' } });
// Hashes have the cost of production.
const { call } = await startTestApp({
  resources: [defineUser(), note],
  settings: { auth: { password: { logN: 15, r: 8, p: 3 } } },
});

/** While set, every password check waits for it. */
let gate: Promise<void> | undefined;
const held = await startTestApp({
  resources: [defineUser()],
  settings: {
    auth: {
      async legacyPassword() {
        await gate;
        return false;
      },
    },
  },
});

test('a flood of logins does not block other routes, file reads or DNS look-ups', {
  timeout: 240_000,
}, async () => {
  let answered = 0;
  const flood = Array.from({ length: 8 }, async (_, i) => {
    const { status } = await call('POST', '/api/auth/login', { email: `n${i}@example.com`, password: 'wrong horse' });
    answered += 1;
    return status;
  });
  await Promise.race(flood);
  let rounds = 0;
  while (answered < flood.length && rounds < 10) {
    expect((await call('GET', '/api/notes')).status).toBe(200);
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
  const login = async (email: string) => {
    const response = await held.call('POST', '/api/auth/login', { email, password: 'wrong horse' });
    if (response.status === 503) refused.push(response.status);
    return response;
  };
  // Once an imported hash was seen, every login calls the project's verifier, which costs nothing but can wait.
  const ada = await held.person('Ada');
  const client = new Client({ connectionString: held.env.DATABASE_URL! });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`update users set password = 'of another system'`);
  expect((await login(ada.email)).status).toBe(401);

  const { promise, resolve: open } = Promise.withResolvers<void>();
  gate = promise;
  const logins = Promise.all(Array.from({ length: 400 }, (_, i) => login(`m${i}@example.com`)));
  await vi.waitUntil(() => refused.length > 0, { timeout: 120_000, interval: 20 });
  open();
  const busy = await logins;
  expect(busy.find(({ status }) => status === 503)).toMatchObject({
    body: { error: { code: 'UNAVAILABLE', message: 'The service is temporarily unavailable' } },
  });
  expect(busy.find(({ status }) => status === 503)!.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(new Set(busy.map(({ status }) => status))).toEqual(new Set([401, 503]));
});
