// What a browser loads for the first view of each page, and for the next one.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, defineResource, defineUser, f, signInPages, webhooks } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';

const MAX_FIRST_REQUESTS = 12;
const MAX_FIRST_BYTES = 100_000;

const note = defineResource('note', { fields: { text: f.string().searchable() }, policies: { list: 'public' } });
const { url } = await startTestApp({
  resources: [note, defineUser()],
  extensions: [webhooks({ portal: {} }), signInPages(), adminConsole()],
});
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

interface Loaded {
  url: string;
  /** The bytes from the network; 0 from the cache. */
  bytes: number;
}

/** Opens a page, and returns what the browser loads until the page shows its heading. */
async function open(page: Page, path: string): Promise<Loaded[]> {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const loaded = new Map<string, Loaded>();
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.url.startsWith('http')) loaded.set(requestId, { url: response.url, bytes: 0 });
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const one = loaded.get(requestId);
    if (one !== undefined) one.bytes = encodedDataLength;
  });
  session.on('Network.requestServedFromCache', ({ requestId }) => loaded.delete(requestId));
  await page.goto(url + path);
  await page.locator('h1').first().waitFor();
  await page.waitForLoadState('load');
  await session.detach();
  return [...loaded.values()];
}

/** Whether it belongs to the page itself, not to the data that it shows. */
const isFile = ({ url: each }: Loaded) => !/\/api\/(?!docs)/.test(each);

for (const [path, locale] of [
  ['/console/data/note', 'en'],
  ['/webhooks/portal', 'en'],
  ['/webhooks/portal', 'de'],
  ['/auth/sign-in', 'en'],
  ['/auth/sign-in', 'de'],
  ['/api/docs', 'en'],
  ['/api/docs', 'de'],
] as const)
  browserTest(
    `${path} is small in the language "${locale}", loads nothing from elsewhere, and asks for no file a second time`,
    60_000,
    async () => {
      const context = await browser.newContext({ locale });
      const page = await context.newPage();
      const first = await open(page, path);
      expect(first.filter((one) => new URL(one.url).origin !== url)).toEqual([]);
      expect(first.length).toBeLessThanOrEqual(MAX_FIRST_REQUESTS);
      expect(first.filter(isFile).reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(MAX_FIRST_BYTES);
      const second = (await open(page, path)).filter((one) => isFile(one) && one.bytes > 0);
      expect(second.map((one) => one.url)).toEqual([url + path]);
      await context.close();
    },
  );

browserTest('the texts of all parts of a page in German are loaded at the same time', 60_000, async () => {
  const path = '/webhooks/portal';
  const html = await (await fetch(url + path)).text();
  const files = [...html.matchAll(/<meta name="texts-de" content="([^"]+)"/g)].map(([, file]) => file!);
  expect(files.length).toBe(3);
  const context = await browser.newContext({ locale: 'de' });
  // None is answered before all are requested.
  const held: (() => void)[] = [];
  await context.route(
    ({ pathname }) => files.includes(pathname),
    async (route) => {
      await new Promise<void>((resolve) => {
        held.push(resolve);
        if (held.length === files.length) for (const release of held) release();
      });
      await route.continue();
    },
  );
  await open(await context.newPage(), path);
  expect(held.length).toBe(3);
  await context.close();
});

browserTest('a page loads again while a deployment answers with files of another version', 60_000, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  let missing = 4;
  await page.route(/\/assets\/\w+-\w+\.js$/, async (route) => {
    if (missing > 0) await route.fulfill({ status: 404, body: '' });
    else await route.continue();
  });
  page.on('framenavigated', () => {
    missing -= 2;
  });
  await page.goto(`${url}/auth/sign-in`);
  await page.getByRole('heading', { name: 'Sign in', level: 1, exact: true }).waitFor();
  expect(await page.evaluate(() => sessionStorage.getItem('belfry.reloads'))).toBeNull();
  await context.close();
});

browserTest('the console of another version than the server says so, and is reloaded', 60_000, async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route('**/console/api/app', async (route) => {
    const response = await route.fetch();
    const { data } = await response.json();
    await route.fulfill({ response, json: { data: { ...data, script: '/console/assets/app-OTHER.js' } } });
  });
  await page.goto(`${url}/console/data/note`);
  await page.getByRole('heading', { name: 'This console has been updated' }).waitFor();
  await page.unroute('**/console/api/app');
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.getByRole('heading', { name: 'Notes', level: 1, exact: true }).waitFor();
  await context.close();
});
