// Passkeys of the client, in a real Chromium with a virtual authenticator.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Client as PostgresClient } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { defineUser, passkeys } from '../../../src/index.ts';
import { browserTest, closePages, startBrowser } from '../../browser/browser.ts';
import { ageSessions } from '../../extensions/passkeys/passkey-user.ts';
import { startTestApp } from '../../support/app.ts';
import { clientPages, newProfile, openShop, run, userOf } from './client-pages.ts';

const PASSWORD = 'correct horse battery';

/** Returns a port that is free now: the origin of the pages must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const port = await findFreePort();
const origin = `http://localhost:${port}`;
const { env, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      passkeys({ secondFactor: true }),
      clientPages(
        `{ onRecentSignInRequired: async () => { await client.auth.confirm({ passkey: true }); return true; } }`,
      ),
    ],
  },
  { env: () => ({ PORT: String(port) }), port },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** Opens a page in a browser with an authenticator of its own. @param options `touches`: whether its user touches it when it asks */
async function startDevice({ isUserVerified = true, touches = true } = {}): Promise<Page> {
  const page = await openShop(await newProfile(browser), origin);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: touches,
    },
  });
  return page;
}

/** Opens a device on which a new user is signed in and has a passkey. */
async function withPasskey(name: string) {
  const user = await person(name);
  const page = await startDevice();
  const credentials = { email: user.email, password: PASSWORD };
  await run(page, 'client.auth.signIn(given)', credentials);
  const passkey = await run<{ id: string }>(page, 'client.auth.passkeys.add({ name: "Phone" })');
  return { ...user, page, passkey, credentials };
}

browserTest('a user adds a passkey, sees it, renames it, signs in with it, and removes it', 60_000, async () => {
  const { id, page, passkey } = await withPasskey('Ada');
  expect(passkey).toMatchObject({ name: 'Phone', transports: ['internal'] });
  expect(await run(page, 'client.auth.passkeys.add()')).toEqual({ failed: 'PASSKEY_EXISTS' });
  expect(await run(page, 'client.auth.passkeys.rename(given.id, "Laptop")', passkey)).toMatchObject({ name: 'Laptop' });
  expect(await run(page, 'client.auth.passkeys.list()')).toMatchObject([{ id: passkey.id, name: 'Laptop' }]);
  await run(page, 'client.auth.signOut()');
  expect(await run(page, 'client.auth.passkeys.signIn()')).toMatchObject({ status: 'signedIn', user: { id } });
  expect(await run(page, 'client.auth.methods()')).toEqual(['password', 'passkey']);
  await run(page, 'client.auth.passkeys.delete(given.id)', passkey);
  expect(await run(page, 'client.auth.passkeys.list()')).toEqual([]);
});

browserTest('after the password, the sign-in goes on with the passkey', 60_000, async () => {
  const { id, page, credentials } = await withPasskey('Bob');
  await run(page, 'client.auth.signOut()');
  const result = await run(
    page,
    'client.auth.signIn(given).then(async (result) => ({ methods: result.methods, end: await result.verifyPasskey() }))',
    credentials,
  );
  expect(result).toMatchObject({ methods: ['passkey'], end: { status: 'signedIn', user: { id } } });
  expect(await userOf(page)).toBe(id);
});

browserTest('a request that needs a recent sign-in waits for the passkey, and is sent again', 60_000, async () => {
  const { page, id, passkey } = await withPasskey('Cy');
  await ageSessions({ id }, sql);
  expect(await run(page, 'client.auth.passkeys.delete(given.id)', passkey)).toBeNull();
});

browserTest(
  'a form field offers passkeys until the user takes one, or asks for one in another way',
  60_000,
  async () => {
    const { id, page } = await withPasskey('Dee');
    await run(page, 'client.auth.signOut()');
    expect(await run(page, 'client.auth.passkeys.isSupported({ autofill: true })')).toBe(true);
    expect(await run(page, 'client.auth.passkeys.signIn({ autofill: true })')).toMatchObject({ user: { id } });

    const waiting = await startDevice({ touches: false });
    const options = waiting.waitForResponse(/passkeys\/sign-in\/options$/);
    await waiting.evaluate(
      'window.offered = client.auth.passkeys.signIn({ autofill: true }).catch(({ code, message }) => code ?? message); 0',
    );
    await options;
    await waiting.evaluate(`
      const stop = new AbortController();
      window.stop = () => stop.abort(new Error('left the page'));
      window.aborted = client.auth.passkeys.signIn({ autofill: true, signal: stop.signal }).catch(({ message }) => message);
      0`);
    expect(await waiting.evaluate('offered')).toBe('PASSKEY_CANCELLED');
    await waiting.evaluate('window.stop()');
    expect(await waiting.evaluate('aborted')).toBe('left the page');
  },
);

browserTest(
  'browsers without the conversions of the platform work, and those without passkeys say so',
  60_000,
  async () => {
    const user = await person('Eve');
    const page = await startDevice();
    await page.evaluate(`
    delete PublicKeyCredential.parseCreationOptionsFromJSON;
    delete PublicKeyCredential.parseRequestOptionsFromJSON;
    delete PublicKeyCredential.prototype.toJSON;`);
    await run(page, 'client.auth.signIn(given)', { email: user.email, password: PASSWORD });
    expect(await run(page, 'client.auth.passkeys.add()')).toMatchObject({ transports: ['internal'] });
    expect(await run(page, 'client.auth.passkeys.signIn()')).toMatchObject({ user: { id: user.id } });

    const old = await openShop(await newProfile(browser), origin);
    await old.evaluate('delete window.PublicKeyCredential');
    expect(await run(old, 'client.auth.passkeys.isSupported()')).toBe(false);
    expect(await run(old, 'client.auth.passkeys.signIn()')).toEqual({ failed: 'PASSKEYS_UNSUPPORTED' });
  },
);

browserTest('a user who does not confirm with the device gets an error with a code', 60_000, async () => {
  const user = await person('Fay');
  const page = await startDevice({ isUserVerified: false });
  await run(page, 'client.auth.signIn(given)', { email: user.email, password: PASSWORD });
  expect(await run(page, 'client.auth.passkeys.add()')).toEqual({ failed: 'PASSKEY_CANCELLED' });
});
