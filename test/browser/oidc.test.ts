import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { defineUser, oidc, simulatedProvider } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';

/** Returns a port that is free now: the address of the app must be known before the app starts. */
async function findFreePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'users', 'sign-in', 'oidc.md'), 'utf8');
const documented = /```js\n([\s\S]*?)```/.exec(docs)![1]!;

/** Returns the script of docs/users/sign-in/oidc.md, for the addresses of this test. */
const scriptFor = (api: string, front: string) =>
  documented.replaceAll('https://api.example.com', api).replaceAll('https://app.example.com', front);

const PAGE = `<!doctype html><title>App</title><button id="sign-in">Sign in</button><p id="result"></p>
<script type="module">
import { finishSignIn, signIn } from '/sign-in.js';
const show = (text) => { document.querySelector('#result').textContent = text; };
document.querySelector('#sign-in').onclick = () => signIn('simulated');
if (location.search !== '')
  finishSignIn().then(({ user }) => show('Hello ' + user.name), (error) => show(error.message));
</script>`;

const port = await findFreePort();
const api = `http://localhost:${port}`;
const front = createServer((req, res) => {
  const isScript = req.url === '/sign-in.js';
  res.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
  res.end(isScript ? scriptFor(api, frontUrl) : PAGE);
});
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
  { env: () => ({ APP_URL: api, CORS_ORIGINS: frontUrl }), port },
);
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'a person signs in with the documented front end on another origin, through the simulated provider',
  60_000,
  async () => {
    const tab = await browser.newPage();
    const returned: string[] = [];
    tab.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith(`${frontUrl}/auth/`)) returned.push(request.url());
    });
    await tab.goto(frontUrl);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.getByRole('heading', { name: 'Who do you want to be?' }).waitFor();
    await keepScreenshot(tab, 'oidc-simulated-provider');
    await tab.getByRole('button', { name: /Grace Hopper/ }).click();
    await expect.poll(() => tab.locator('#result').textContent()).toBe('Hello Grace Hopper');
    expect(tab.url()).toBe(`${frontUrl}/auth/callback`);
    expect(returned.map((url) => url.replace(/code=[\w-]{43}$/, 'code'))).toEqual([`${frontUrl}/auth/callback?code`]);
    await tab.goto(returned[0]!);
    await expect.poll(() => tab.locator('#result').textContent()).toContain('no longer valid');
  },
);

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
