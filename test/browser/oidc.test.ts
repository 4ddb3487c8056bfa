import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { defineUser, oidc, simulatedProvider } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';

/** Returns a port that is free now: the address of the app must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

// The page of docs/oidc.md on an origin of its own, as a front end would be.
const page = (api: string) => `<!doctype html><title>App</title><button id="sign-in">Sign in</button><p id="result"></p>
<script type="module">
const API = ${JSON.stringify(api)};
const encode = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
document.querySelector('#sign-in').onclick = async () => {
  const codeVerifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  sessionStorage.setItem('codeVerifier', codeVerifier);
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  const query = new URLSearchParams({ codeChallenge: encode(new Uint8Array(digest)), redirectUrl: location.origin + '/auth/callback' });
  location.href = API + '/api/auth/oidc/simulated/start?' + query;
};
const query = new URLSearchParams(location.search);
if (query.has('error')) document.querySelector('#result').textContent = query.get('error');
if (query.has('code')) {
  const body = JSON.stringify({ code: query.get('code'), codeVerifier: sessionStorage.getItem('codeVerifier') });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(API + '/api/auth/oidc/exchange', { method: 'POST', headers, body });
  const { data, error } = await response.json();
  document.querySelector('#result').textContent = data ? 'Hello ' + data.user.name : error.message;
}
</script>`;

const port = await findFreePort();
const api = `http://localhost:${port}`;
const front = createServer((_req, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end(page(api)));
front.listen(0, '127.0.0.1');
await once(front, 'listening');
const frontUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
afterAll(() => {
  front.closeAllConnections();
  front.close();
});

await startTestApp(
  {
    resources: [defineUser()],
    extensions: [oidc({ providers: { simulated: simulatedProvider() }, redirectUrls: [`${frontUrl}/auth/callback`] })],
  },
  { env: () => ({ APP_URL: api, CORS_ORIGINS: frontUrl }), start: { port, roles: ['web'] } },
);
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

browserTest('a person signs in on a page of another origin, through the simulated provider', 60_000, async () => {
  const tab = await browser.newPage();
  await tab.goto(frontUrl);
  await tab.getByRole('button', { name: 'Sign in' }).click();
  await tab.getByRole('heading', { name: 'Who do you want to be?' }).waitFor();
  await keepScreenshot(tab, 'oidc-simulated-provider');
  await tab.getByRole('button', { name: /Grace Hopper/ }).click();
  await expect.poll(() => tab.locator('#result').textContent()).toBe('Hello Grace Hopper');
  expect(tab.url()).toMatch(/\/auth\/callback\?code=[\w-]{43}$/);
  await tab.reload();
  await expect.poll(() => tab.locator('#result').textContent()).toContain('no longer valid');
});

browserTest('a person types another name, in a second tab at the same time, or cancels', 60_000, async () => {
  const context = await browser.newContext();
  const tabs = [await context.newPage(), await context.newPage()] as const;
  for (const tab of tabs) {
    await tab.goto(frontUrl);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.getByRole('heading', { name: 'Who do you want to be?' }).waitFor();
  }
  await tabs[0].getByLabel('Name').fill('Ada');
  await tabs[0].getByLabel('E-mail address').fill('ada@example.org');
  await tabs[0].getByRole('button', { name: 'Sign in' }).click();
  await tabs[1].getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(() => tabs[0].locator('#result').textContent()).toBe('Hello Ada');
  await expect.poll(() => tabs[1].locator('#result').textContent()).toBe('access_denied');
  await context.close();
});
