// A real Chromium with a virtual authenticator, which runs the example of docs/users/sign-in/passkeys.md for pages.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished, vi } from 'vitest';
import { defineExtension, defineUser, passkeys } from '../../src/index.ts';
import { type Person, startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** The client of docs/users/sign-in/passkeys.md. */
function readExample(): string {
  const page = readFileSync(new URL('../../docs/users/sign-in/passkeys.md', import.meta.url), 'utf8');
  return /```js\n(\/\/ passkeys\.js\n[\s\S]*?)```/.exec(page)![1]!;
}

/** Returns a port that is free, because the origin of the pages must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const socket = createSocket().listen(0);
  await vi.waitUntil(() => socket.listening);
  const { port } = socket.address() as AddressInfo;
  await new Promise((resolve) => socket.close(resolve));
  return port;
}

const port = await findFreePort();
const origin = `http://localhost:${port}`;
const files: [path: string, type: string, text: string][] = [
  ['/shop', 'html', '<!doctype html><title>Shop</title><input autocomplete="username webauthn" autofocus>'],
  ['/passkeys.js', 'js', readExample()],
];
const shop = defineExtension({
  name: 'shop',
  setup: () => ({
    pages: files.map(([path, type, text]) => ({
      method: 'GET',
      path,
      policy: 'public',
      handler: ({ res }) => void res.type(type).end(text),
    })),
  }),
});
const { app, call, person } = await startTestApp(
  { resources: [defineUser()], extensions: [passkeys({ secondFactor: true }), shop] },
  { env: () => ({ PORT: String(port) }), roles: 'all', port },
);
const reported: unknown[] = [];
app.on('security.passkey_clone_suspected', (payload) => void reported.push(payload));

const PHONE = {
  protocol: 'ctap2',
  ctap2Version: 'ctap2_1',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
  defaultBackupEligibility: true,
  defaultBackupState: true,
} as const;

interface Device {
  page: Page;
  cdp: CDPSession;
  authenticatorId: string;
}

/** Opens a page in a browser with an authenticator of its own. */
async function startDevice(address = `${origin}/shop`, options: Partial<Record<keyof typeof PHONE, unknown>> = {}) {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(address);
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const added = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...PHONE, ...options } as typeof PHONE,
  });
  return { page, cdp, authenticatorId: added.authenticatorId } satisfies Device;
}

/** Calls a function of the client in the page. Returns its result, or the name and message of its error. */
const inPage = <T>({ page }: Device, name: string, ...given: unknown[]): Promise<T> =>
  page.evaluate(
    `import('/passkeys.js').then((client) => client.${name}(...${JSON.stringify(given)})).catch(({ name, message }) => ({ failed: name + ': ' + message }))`,
  );

/** Serves a page on another port of the same host. Returns its address. */
async function startTrap(html: string): Promise<string> {
  const server = createServer((_, res) => res.setHeader('content-type', 'text/html').end(html)).listen(0);
  onTestFinished(() => void server.close());
  await vi.waitUntil(() => server.listening);
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}

interface Signed {
  user: { id: string };
  token: string;
}

const credentialsOf = async ({ cdp, authenticatorId }: Device) =>
  (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials;

const listOf = async (one: Person) => (await one.call('GET', '/api/auth/passkeys')).body.data;

browserTest(
  'a page adds a passkey, signs in with it, and confirms a sensitive action, by the example of the docs',
  90_000,
  async () => {
    const ada = await person('Ada');
    const phone = await startDevice();
    const added = await inPage(phone, 'addPasskey', ada.token, 'Phone');
    expect(added).toMatchObject({ name: 'Phone', deviceType: 'multiDevice', backedUp: true, transports: ['internal'] });
    const [credential] = await credentialsOf(phone);
    expect(credential).toMatchObject({ rpId: 'localhost', isResidentCredential: true });
    expect(Buffer.from(credential!.userHandle!, 'base64').toString()).toBe(ada.id);

    const signedIn = await inPage<Signed>(phone, 'signInWithPasskey');
    expect(signedIn).toEqual({
      user: expect.objectContaining({ id: ada.id }),
      token: expect.stringMatching(/^svc_/),
      expiresAt: expect.any(String),
    });
    expect((await listOf(ada))[0].lastUsedAt).toEqual(expect.any(String));
    const sessions = await call('GET', '/api/auth/sessions', undefined, { authorization: `Bearer ${signedIn.token}` });
    expect(sessions.body.data[0]).toMatchObject({ current: true, method: 'passkey' });

    expect(await inPage(phone, 'confirmWithPasskey', signedIn.token)).toBeUndefined();
    expect(await inPage(phone, 'addPasskey', signedIn.token)).toEqual({
      failed: expect.stringContaining('InvalidStateError'),
    });
    expect(await listOf(ada)).toHaveLength(1);
  },
);

browserTest('after the password, a page finishes the login with the passkey', 90_000, async () => {
  const bob = await person('Bob');
  const phone = await startDevice();
  await inPage(phone, 'addPasskey', bob.token);
  const login = await call('POST', '/api/auth/login', { email: bob.email, password: 'correct horse battery' });
  const signedIn = await inPage<Signed>(phone, 'finishLogin', login.body.data);
  expect(signedIn.user.id).toBe(bob.id);
  const again = await inPage(phone, 'finishLogin', login.body.data);
  expect(again).toEqual({ failed: 'Error: This sign-in is no longer valid; try again' });
});

browserTest('among the passkeys of several users, the chosen one decides who is signed in', 90_000, async () => {
  const [cy, dee] = [await person('Cy'), await person('Dee')];
  const phone = await startDevice();
  for (const one of [cy, dee]) await inPage(phone, 'addPasskey', one.token);
  const all = await credentialsOf(phone);
  for (const one of [cy, dee]) {
    // Chromium without a user takes any passkey, so leave only one.
    for (const { credentialId } of await credentialsOf(phone))
      await phone.cdp.send('WebAuthn.removeCredential', { authenticatorId: phone.authenticatorId, credentialId });
    const own = all.find(({ userHandle }) => Buffer.from(userHandle!, 'base64').toString() === one.id)!;
    await phone.cdp.send('WebAuthn.addCredential', { authenticatorId: phone.authenticatorId, credential: own });
    expect((await inPage<Signed>(phone, 'signInWithPasskey')).user.id).toBe(one.id);
  }
});

browserTest(
  'a security key that counts its uses is recognized as copied when an old count comes back',
  90_000,
  async () => {
    const eve = await person('Eve');
    const key = await startDevice(undefined, {
      transport: 'usb',
      defaultBackupEligibility: false,
      defaultBackupState: false,
    });
    const added = await inPage<{ id: string }>(key, 'addPasskey', eve.token, 'Key');
    expect(added).toMatchObject({ deviceType: 'singleDevice', backedUp: false, transports: ['usb'] });
    const [copied] = await credentialsOf(key);
    for (let i = 0; i < 3; i++) expect((await inPage<Signed>(key, 'signInWithPasskey')).user.id).toBe(eve.id);
    const copy = await startDevice(undefined, {
      transport: 'usb',
      defaultBackupEligibility: false,
      defaultBackupState: false,
    });
    await copy.cdp.send('WebAuthn.addCredential', { authenticatorId: copy.authenticatorId, credential: copied! });
    expect(await inPage(copy, 'signInWithPasskey')).toEqual({ failed: expect.stringContaining('There may be a copy') });
    expect(reported).toEqual([{ userId: eve.id, passkeyId: added.id, name: 'Key', ip: expect.any(String) }]);
    expect((await inPage<Signed>(key, 'signInWithPasskey')).user.id).toBe(eve.id);
  },
);

browserTest(
  'a response without user verification is refused, even if a page asks the browser for one',
  90_000,
  async () => {
    const fay = await person('Fay');
    const phone = await startDevice();
    await inPage(phone, 'addPasskey', fay.token);
    await phone.cdp.send('WebAuthn.setUserVerified', { authenticatorId: phone.authenticatorId, isUserVerified: false });
    const { challengeId, options } = (await call('POST', '/api/auth/passkeys/sign-in/options')).body.data;
    const weak = { ...options, userVerification: 'discouraged' };
    const response = await phone.page.evaluate(
      `navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(weak)}) }).then((one) => one.toJSON())`,
    );
    const { status, body } = await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
    expect([status, body.error.details]).toEqual([401, { response: expect.stringContaining('user verification') }]);
  },
);

browserTest('a page on another port of the same host cannot use a passkey of the app', 90_000, async () => {
  const gus = await person('Gus');
  const phone = await startDevice();
  await inPage(phone, 'addPasskey', gus.token);
  const [credential] = await credentialsOf(phone);
  const trap = await startDevice(await startTrap('Trap'));
  await trap.cdp.send('WebAuthn.addCredential', { authenticatorId: trap.authenticatorId, credential: credential! });
  const { challengeId, options } = (await call('POST', '/api/auth/passkeys/sign-in/options')).body.data;
  const response = await trap.page.evaluate(
    `navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(${JSON.stringify(options)}) }).then((one) => one.toJSON())`,
  );
  const { status, body } = await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
  expect([status, body.error.details]).toEqual([401, { response: expect.stringContaining('origins') }]);
});

browserTest('the browser offers the passkey in a form field', 90_000, async () => {
  const hal = await person('Hal');
  const phone = await startDevice();
  await inPage(phone, 'addPasskey', hal.token);
  expect((await inPage<Signed>(phone, 'signInWithPasskey', { mediation: 'conditional' })).user.id).toBe(hal.id);
});

browserTest('a page of another origin that frames the app cannot use a passkey of the app', 90_000, async () => {
  const ida = await person('Ida');
  const phone = await startDevice();
  await inPage(phone, 'addPasskey', ida.token);
  const [credential] = await credentialsOf(phone);
  const frame = `<iframe src="${origin}/shop" allow="publickey-credentials-get *"></iframe>`;
  const trap = await startDevice(await startTrap(frame));
  await trap.cdp.send('WebAuthn.addCredential', { authenticatorId: trap.authenticatorId, credential: credential! });
  const framed = trap.page.frames().find((one) => one.url() === `${origin}/shop`)!;
  const failed = await framed.evaluate(
    `import('/passkeys.js').then((client) => client.signInWithPasskey()).catch(({ details }) => details)`,
  );
  expect(failed).toEqual({ response: expect.stringContaining('frame') });
});
