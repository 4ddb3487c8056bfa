// The client in a real Chromium: several tabs, the ready-made sign-in pages, sign-in at a provider, and cookies.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { cookieSession } from '../../../packages/client/src/index.ts';
import { defineUser, oidc, signInPages, simulatedProvider } from '../../../src/index.ts';
import { browserTest, closePages, startBrowser } from '../../browser/browser.ts';
import { openPage, press, signIn } from '../../browser/sign-in-pages-app.ts';
import { startTestApp } from '../../support/app.ts';
import { clientFiles, clientPages, newProfile, openShop, run, userOf } from './client-pages.ts';

const PASSWORD = 'correct horse battery';

/** Returns a port that is free now: the address of the app must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const port = await findFreePort();
const origin = `http://localhost:${port}`;

// The server of a front end, whose pages keep their session in a cookie.
const files = clientFiles('{ storage: belfry.cookieStorage() }');
const front = createServer(async (req, res) => {
  const file = files.get(req.url!.split('?', 1)[0]!);
  if (file !== undefined) {
    res.writeHead(200, { 'content-type': file.type }).end(file.text);
    return;
  }
  const headers = new Headers(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
  const body = req.method === 'GET' ? {} : { body: Readable.toWeb(req), duplex: 'half' };
  const request = new Request(frontUrl + req.url, { method: req.method!, headers, ...(body as object) });
  const response = await cookies.handle(request);
  res.writeHead(response.status, [...response.headers].flat());
  res.end(Buffer.from(await response.arrayBuffer()));
}).listen(0, '127.0.0.1');
await once(front, 'listening');
const frontUrl = `http://localhost:${(front.address() as AddressInfo).port}`;
const cookies = cookieSession({ url: origin, origin: frontUrl });
afterAll(() => {
  front.closeAllConnections();
  front.close();
});

const { person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      oidc({ providers: { simulated: simulatedProvider() }, redirectUrls: [`${origin}/shop`, `${frontUrl}/shop`] }),
      signInPages({ title: 'Acme', afterSignIn: '/shop' }),
      clientPages(),
    ],
  },
  { env: () => ({ APP_URL: origin, PORT: String(port) }), port },
);

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const SIGN_IN = 'client.auth.signIn(given)';
const credentialsOf = ({ email }: { email: string }) => ({ email, password: PASSWORD });

browserTest(
  'a sign-in, another user and a sign-out in one tab reach the other tabs, and outlive a reload',
  60_000,
  async () => {
    const [ada, bob] = [await person('Ada'), await person('Bob')];
    const context = await newProfile(browser);
    const [one, two] = [await openShop(context, origin), await openShop(context, origin)];
    await two.evaluate('window.heard = []; client.auth.subscribe((session) => heard.push(session?.user.id ?? null))');
    await run(one, SIGN_IN, credentialsOf(ada));
    await expect.poll(() => userOf(two)).toBe(ada.id);
    await run(two, SIGN_IN, credentialsOf(bob));
    await expect.poll(() => userOf(one)).toBe(bob.id);
    await one.reload();
    await one.locator('body[data-ready]').waitFor();
    expect(await userOf(one)).toBe(bob.id);
    await run(one, 'client.auth.signOut()');
    await expect.poll(() => userOf(two)).toBeNull();
    expect(await two.evaluate('heard')).toEqual([ada.id, bob.id, null]);
  },
);

browserTest('the sign-in pages sign the client in, and the client signs them out', 60_000, async () => {
  const ada = await person('Ada');
  const context = await newProfile(browser);
  const other = await openShop(context, origin);
  const tab = await context.newPage();
  await openPage(tab, `${origin}/auth/sign-in`);
  await signIn(tab, ada.email);
  await tab.waitForURL(`${origin}/shop`);
  await tab.locator('body[data-ready]').waitFor();
  expect(await run(tab, 'client.auth.ready()')).toMatchObject({ user: { id: ada.id } });
  await expect.poll(() => userOf(other)).toBe(ada.id);

  await openPage(tab, `${origin}/auth/account`);
  await run(other, 'client.auth.signOut()');
  await tab.reload();
  await tab.waitForURL(/\/auth\/sign-in/);
  const page = await openShop(context, origin);
  await run(page, SIGN_IN, credentialsOf(ada));
  await openPage(tab, `${origin}/auth/account`);
  await press(tab, 'Sign out');
  await expect.poll(() => userOf(page)).toBeNull();
});

browserTest('a page that the browser brings back from its history shows the current session', 60_000, async () => {
  const ada = await person('Ada');
  const context = await newProfile(browser);
  const tab = await openShop(context, origin);
  await run(tab, SIGN_IN, credentialsOf(ada));
  await tab.goto(`${origin}/auth/forgot`);
  await tab.evaluate(`localStorage.removeItem('belfry.token')`);
  await tab.goBack();
  await tab.locator('body[data-ready]').waitFor();
  await expect.poll(() => userOf(tab)).toBeNull();
});

browserTest(
  'a storage that is full or blocked does not prevent a sign-in, and keeps no former user',
  60_000,
  async () => {
    const [ada, bob] = [await person('Ada'), await person('Bob')];
    const tab = await openShop(await newProfile(browser), origin);
    await run(tab, SIGN_IN, credentialsOf(ada));
    await tab.evaluate(`Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }`);
    expect(await run(tab, SIGN_IN, credentialsOf(bob))).toMatchObject({ status: 'signedIn' });
    expect(await userOf(tab)).toBe(bob.id);
    expect(await tab.evaluate('Object.keys(localStorage)')).toEqual([]);
    await tab.reload();
    await tab.locator('body[data-ready]').waitFor();
    expect(await run(tab, 'client.auth.ready()')).toBeNull();

    await tab
      .context()
      .addInitScript(
        `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('blocked', 'SecurityError'); } })`,
      );
    await tab.reload();
    await tab.locator('body[data-ready]').waitFor();
    expect(await run(tab, SIGN_IN, credentialsOf(ada))).toMatchObject({ status: 'signedIn' });
    expect(await userOf(tab)).toBe(ada.id);
  },
);

browserTest('a person signs in at a provider, and the code leaves the address bar', 60_000, async () => {
  const tab = await openShop(await newProfile(browser), origin);
  await tab.evaluate(`void client.auth.oidc.signIn('simulated')`);
  await tab.getByRole('button', { name: /Grace Hopper/ }).click();
  await tab.waitForURL(/\/shop\?code=/);
  await tab.locator('body[data-ready]').waitFor();
  expect(await run(tab, 'client.auth.oidc.complete()')).toMatchObject({ user: { name: 'Grace Hopper' } });
  expect(tab.url()).toBe(`${origin}/shop`);
  expect(await run(tab, 'client.auth.oidc.complete()')).toEqual({ failed: 'PROVIDER_REFUSED' });
});

browserTest('a person signs in at a provider on pages that keep their session in a cookie', 60_000, async () => {
  const context = await newProfile(browser);
  const tab = await openShop(context, frontUrl);
  await tab.evaluate(`void client.auth.oidc.signIn('simulated', { redirectUrl: location.href })`);
  await tab.getByRole('button', { name: /Alan Turing/ }).click();
  await tab.waitForURL(/\/shop\?code=/);
  await tab.locator('body[data-ready]').waitFor();
  expect(await run(tab, 'client.auth.oidc.complete()')).toMatchObject({ user: { name: 'Alan Turing' } });
  expect([tab.url(), await run(tab, 'client.auth.session.token')]).toEqual([`${frontUrl}/shop`, null]);
  expect(await run(tab, 'client.auth.methods()')).toEqual(['oidc:simulated']);
});

browserTest('with a cookie, no script sees the token, and all tabs follow sign-ins and sign-outs', 60_000, async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const context = await newProfile(browser);
  const [one, two] = [await openShop(context, frontUrl), await openShop(context, frontUrl)];
  expect(await run(two, 'client.auth.ready()')).toBeNull();
  await run(one, SIGN_IN, credentialsOf(ada));
  await expect.poll(() => userOf(two)).toBe(ada.id);
  expect(await run(two, `client.request({ method: 'GET', path: '/auth/me' })`)).toMatchObject({ data: { id: ada.id } });
  const [cookie] = await context.cookies(frontUrl);
  expect(cookie).toMatchObject({ name: 'belfry', httpOnly: true, sameSite: 'Lax', path: '/' });
  expect(cookie!.expires - Date.now() / 1000).toBeGreaterThan(29 * 86_400);
  const visible = await one.evaluate<string>(
    'document.cookie + JSON.stringify([{ ...localStorage }, { ...sessionStorage }, client.auth.session])',
  );
  expect(visible).not.toContain('svc_');

  await run(two, SIGN_IN, credentialsOf(bob));
  await expect.poll(() => userOf(one)).toBe(bob.id);
  await one.reload();
  await one.locator('body[data-ready]').waitFor();
  expect(await run(one, 'client.auth.ready()')).toMatchObject({ user: { id: bob.id } });
  await run(one, 'client.auth.signOut()');
  await expect.poll(() => userOf(two)).toBeNull();
  expect(await context.cookies(frontUrl)).toEqual([]);
});

browserTest('a page of another origin cannot use the cookie of the front end', 60_000, async () => {
  const ada = await person('Ada');
  const context = await newProfile(browser);
  const tab = await openShop(context, frontUrl);
  await run(tab, SIGN_IN, credentialsOf(ada));
  const trap = await openShop(context, origin);
  const attempt = (init: object) =>
    run(trap, 'fetch(given.url, given.init).then(({ status }) => status)', {
      url: `${frontUrl}/api/auth/logout-all`,
      init,
    });
  const withId = { method: 'POST', credentials: 'include', headers: { authorization: 'Bearer sid_current' } };
  expect(await attempt(withId)).toEqual({ failed: 'Failed to fetch' });
  await attempt({ method: 'POST', credentials: 'include', mode: 'no-cors' });
  expect(await run(tab, 'client.auth.sessions.list()')).toHaveLength(2);
});
