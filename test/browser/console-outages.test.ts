import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { startAppBehindProxies } from '../extensions/console/operations/outage-app.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens } from './screens.ts';

const { url, admin, noteId, postgres, redis } = await startAppBehindProxies();
const web = await startTcpProxy(new URL(url));
afterAll(() => web.close());
const NOTE = `${url}/console/data/note/${noteId}`;

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** Opens a page of the console, signed in as the administrator. */
async function openSignedIn(address: string): Promise<Page> {
  const page = await browser.newPage({ reducedMotion: 'reduce' });
  onTestFinished(() => page.close());
  await page.addInitScript(`localStorage.setItem('belfry.token', '${admin.token}')`);
  await page.goto(address);
  return page;
}

const alerts = (page: Page) => page.locator('[role=alert]:visible');

browserTest('an open console says that the database is down, keeps what is typed, and continues', 180_000, async () => {
  const page = await openSignedIn(NOTE);
  await page.getByRole('textbox', { name: 'Title' }).fill('Typed before the outage');
  postgres.shut();
  onTestFinished(() => postgres.reopen());
  await page.getByText(/^The database cannot be reached(, at least)? since \d/).waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The service is temporarily unavailable').first().waitFor();
  await page.getByRole('textbox', { name: 'Title' }).fill('Typed before the outage and during it');
  await checkScreens(page, 'console-outage-banner', [390, 1280]);

  const list = await openSignedIn(`${url}/console/data/note`);
  postgres.reopen();
  await page.getByText('The database is back').waitFor();
  await expect.poll(() => page.getByText('cannot be reached').count()).toBe(0);
  expect(await page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Typed before the outage and during it');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  await list.getByText('Typed before the outage and during it').first().waitFor();
});

browserTest('all parts of an open page wait for the database, and are read again', 180_000, async () => {
  const page = await openSignedIn(`${url}/console/operations/queues`);
  await page.getByText('Nothing waits').or(page.getByText('rows wait')).first().waitFor();
  postgres.shut();
  onTestFinished(() => postgres.reopen());
  await page.getByText(/^The database cannot be reached(, at least)? since \d/).waitFor();
  await page.getByRole('link', { name: 'Limits and locks' }).click();
  await page.getByRole('heading', { name: 'Limits and locks' }).waitFor();
  await page.getByRole('progressbar').first().waitFor();
  expect(await alerts(page).count()).toBe(0);
  postgres.reopen();
  await page.getByRole('table', { name: 'Configured limits' }).waitFor();
  expect(await alerts(page).count()).toBe(0);
});

browserTest(
  'a console that is opened during an outage says so, and then shows the page of its address',
  180_000,
  async () => {
    postgres.shut();
    onTestFinished(() => postgres.reopen());
    const page = await openSignedIn(`${url}/console/operations/limits?q=root%40example.com`);
    const heading = page.getByRole('heading', { name: /^The database cannot be reached(, at least)? since \d/ });
    await heading.waitFor();
    const text = await heading.innerText();
    await checkScreens(page, 'console-outage-page', [390, 1280]);
    await page.reload();
    await heading.waitFor();
    expect(await heading.innerText()).toBe(text);
    const visitor = await browser.newPage();
    onTestFinished(() => visitor.close());
    await visitor.goto(`${url}/console/operations/limits`);
    await visitor.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    postgres.reopen();
    await page.getByRole('heading', { name: 'Limits and locks' }).waitFor();
    expect(page.url()).toBe(`${url}/console/operations/limits?q=root%40example.com`);
  },
);

browserTest('a database that does not respond is noticed before a request fails', 180_000, async () => {
  const page = await openSignedIn(NOTE);
  await page.getByRole('textbox', { name: 'Title' }).waitFor();
  postgres.hang();
  onTestFinished(() => postgres.reopen());
  await page.getByText(/^The database cannot be reached(, at least)? since \d/).waitFor();
  const other = await openSignedIn(NOTE);
  await other.getByRole('heading', { name: /^The database cannot be reached/ }).waitFor();
  postgres.reopen();
  await other.getByRole('textbox', { name: 'Title' }).waitFor({ timeout: 60_000 });
});

browserTest(
  'without Redis, the console works, says what waits, and shows the rest when it is back',
  180_000,
  async () => {
    const page = await openSignedIn(NOTE);
    await page.getByRole('textbox', { name: 'Title' }).waitFor();
    redis.shut();
    onTestFinished(() => redis.reopen());
    await page.getByText(/^Redis cannot be reached(, at least)? since \d/).waitFor();
    await page.getByText('none of them is lost').waitFor();
    await page.getByRole('textbox', { name: 'Title' }).fill('Saved without Redis');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByRole('link', { name: 'Limits and locks' }).click();
    await page.getByRole('table', { name: 'Configured limits' }).waitFor();
    await checkScreens(page, 'console-outage-redis', [390, 1280]);
    expect(await alerts(page).count()).toBe(0);
    redis.reopen();
    await page.getByText('Redis is back').waitFor();
    await page.getByText('No failed sign-in').waitFor();
  },
);

browserTest('a console whose server does not answer says so, and continues', 180_000, async () => {
  const page = await openSignedIn(`${web.url}console/operations/slow`);
  await page.getByRole('heading', { name: 'Slow requests' }).waitFor();
  web.shut();
  onTestFinished(() => web.reopen());
  await page.getByText(/^The server cannot be reached(, at least)? since \d/).waitFor();
  await page.getByRole('link', { name: 'Processes', exact: true }).click();
  await page.getByRole('heading', { name: 'Processes' }).waitFor();
  // The tab with the records is part of the page; the files of another tab are not loaded yet.
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  web.reopen();
  await page.getByText('The server is back').waitFor();
  await page.getByRole('heading', { name: 'Jobs', exact: true }).waitFor();
  expect(await alerts(page).count()).toBe(0);
});
