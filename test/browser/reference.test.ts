// The API reference at /api/docs in a browser.
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { apiKeys, defineResource, defineUser, f, webhooks } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens, findEnglish } from './screens.ts';

const declarations = {
  resources: [
    defineUser(),
    defineResource('post', {
      fields: { title: f.string().required().max(80), author: f.ref('user').owner() },
      policies: { list: 'public', create: 'authenticated' },
    }),
  ],
  extensions: [apiKeys(), webhooks()],
  settings: { openapi: { title: 'Blog', description: 'Articles and `comments`.' } },
};
const production = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  LOG_LEVEL: 'silent',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: `${'A'.repeat(43)}=`,
};
const app = await startTestApp(declarations, { roles: 'all' });
const { url } = app;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** Opens a page of the reference. Also returns its errors; the browser logs violations of its content security policy there. */
async function openReference(target: Browser | BrowserContext, address: string) {
  const page = await target.newPage();
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    const text = message.text();
    // The browser reports each response with an error status.
    if (message.type() === 'error' && !text.includes('the server responded with a status of')) pageErrors.push(text);
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await page.goto(address);
  await page.locator('main h1').waitFor();
  return { page, pageErrors };
}

/** Texts of the OpenAPI document, and what the server sent. */
const FROM_DOCUMENT =
  '.reference-tag, .reference-text, .reference-summary, .reference-json, .reference-member > .soft, .reference-control, .page-head h1, pre';

const routes = (page: Page) => page.getByRole('navigation', { name: 'Routes' });
const response = (page: Page) => page.getByRole('region', { name: 'Response', exact: true });

async function send(page: Page, status: RegExp): Promise<void> {
  await page.getByRole('button', { name: 'Send request' }).click();
  await response(page).locator('.status').getByText(status).waitFor();
}

async function useToken(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: /Choose another caller/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Token', { exact: true }).fill(token);
  await dialog.getByRole('button', { name: 'Use token' }).click();
  await dialog.waitFor({ state: 'detached' });
}

browserTest(
  'the API reference shows a lock only on protected operations, and the form asks for a sign-in until a token is entered',
  60_000,
  async () => {
    const ada = await app.person('Ada');
    const { page, pageErrors } = await openReference(browser, `${url}/api/docs`);
    await page.getByRole('heading', { name: 'Blog reference' }).waitFor();
    await routes(page)
      .locator('summary', { hasText: /^post\d/ })
      .click();
    const lockOf = (name: string) => routes(page).getByRole('link', { name }).locator('.icon');
    await lockOf('Create a post').waitFor();
    expect(await lockOf('List posts').count()).toBe(0);
    await routes(page).getByRole('link', { name: 'List posts' }).click();
    await page.getByRole('heading', { name: 'List posts' }).waitFor();
    expect(await page.getByText('Needs a sign-in').count()).toBe(0);

    await routes(page).getByRole('link', { name: 'Create a post' }).click();
    await page.getByRole('heading', { name: 'Create a post' }).waitFor();
    expect(page.url()).toBe(`${url}/api/docs/createPost`);
    await page.getByText('Needs a sign-in').waitFor();
    await send(page, /401/);
    await useToken(page, ada.token);
    expect(await page.getByText('Needs a sign-in').count()).toBe(0);
    await page.getByLabel('title').fill('From the reference');
    await send(page, /201/);
    await page.getByRole('button', { name: /Choose another caller/ }).click();
    await checkScreens(page, 'reference-caller', [360, 1280]);
    await page.keyboard.press('Escape');
    await checkScreens(page, 'reference-response', [360]);
    const { data } = await app.app.service('post').list();
    expect(data).toMatchObject([{ title: 'From the reference', author: ada.id }]);

    expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain(ada.token);
    await page.reload();
    await page.getByRole('button', { name: 'Send as Visitor.' }).waitFor();
    expect(pageErrors).toEqual([]);
  },
);

browserTest('the reference is searched with the keyboard, and every operation has a link', 120_000, async () => {
  const { page, pageErrors } = await openReference(browser, `${url}/api/docs`);
  await checkScreens(page, 'reference', [360, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.locator('main h1').press('/');
  await page.keyboard.type('delete posts');
  await expect.poll(() => routes(page).getByRole('link').count()).toBe(1);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Delete a post' }).waitFor();
  expect(page.url()).toBe(`${url}/api/docs/deletePost?q=delete+posts`);
  await page.goBack();
  await page.getByRole('heading', { name: 'Blog reference' }).waitFor();
  await page.getByText('post.created').click();
  expect(await page.getByRole('region', { name: 'Example of post.created' }).textContent()).toContain(
    '"title": "A title"',
  );

  await page.goto(`${url}/api/docs/createPost`);
  await page.getByRole('heading', { name: 'Create a post' }).waitFor();
  expect(await page.title()).toBe('Create a post · Blog');
  await page.getByText('VALIDATION_ERROR').first().click();
  await page.getByRole('region', { name: 'Example of 422' }).waitFor();
  await checkScreens(page, 'reference-operation', [360, 1280]);
  await page.goto(`${url}/api/docs/no/such operation`);
  await page.getByRole('heading', { name: 'There is no operation “no/such operation”' }).waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest('in production, the reference works and sends requests with a token', 60_000, async () => {
  const inProduction = await startTestApp(declarations, { roles: 'all', env: () => production });
  const bob = await inProduction.person('Bob');
  const { page, pageErrors } = await openReference(browser, `${inProduction.url}/api/docs/createPost`);
  await useToken(page, bob.token);
  await page.getByLabel('title').fill('In production');
  await send(page, /201/);
  expect((await inProduction.app.service('post').list()).data).toMatchObject([{ title: 'In production' }]);
  expect(pageErrors).toEqual([]);
});

browserTest(
  'a German browser sees the reference in German, with the texts of the document as they are',
  120_000,
  async () => {
    const context = await browser.newContext({ locale: 'de-DE' });
    const { page, pageErrors } = await openReference(context, `${url}/api/docs`);
    const check = async (name: string) => {
      expect(await findEnglish(page, FROM_DOCUMENT)).toEqual([]);
      await checkScreens(page, `reference-german-${name}`, [390, 1280]);
    };
    await page.getByRole('heading', { name: 'Blog-Referenz' }).waitFor();
    await page.getByRole('searchbox', { name: 'Routen suchen' }).fill('post');
    await page.getByText(/^\d+ von \d+ Routen$/).waitFor();
    await page.getByRole('searchbox', { name: 'Routen suchen' }).fill('');
    await check('overview');
    await page.goto(`${url}/api/docs/createPost`);
    await page.getByText('Erfordert eine Anmeldung').waitFor();
    await page.getByText('Alle angemeldeten Benutzer').waitFor();
    await page.getByText('höchstens 80 Zeichen').waitFor();
    await page.getByRole('button', { name: 'Anfrage senden' }).click();
    await page.getByRole('region', { name: 'Antwort', exact: true }).locator('.status').waitFor();
    await page.getByText('Zuvor gesendet').click();
    await check('operation');
    await page.getByRole('button', { name: /Anderen Aufrufer wählen/ }).click();
    await check('callers');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'English' }).click();
    await page.getByText('Needs a sign-in').waitFor();
    expect(pageErrors).toEqual([]);
    await context.close();
  },
);
