import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { adminConsole, audit, defineJob, defineResource, defineUser, f, softDelete } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

const LONG = 'An away game against a club with a name that is much too long for any card of the overview';
const policies = { list: 'public', read: 'public' } as const;
const fixture = defineResource('fixture', {
  title: 'opponent',
  icon: 'trophy',
  labels: { one: 'Match day', many: 'Match days' },
  fields: { opponent: f.string().required() },
  policies,
  softDelete: true,
});
const invoice = defineResource('invoice', { icon: 'invoice', fields: { number: f.string().required() }, policies });
const order = defineResource('order', { icon: 'cart', fields: { name: f.string().required() }, policies });
const venue = defineResource('venue', { icon: 'pin', fields: { name: f.string().required() }, policies });
const note = defineResource('note', { fields: { text: f.text() }, policies });
const fails = defineJob('fails', {
  retry: { attempts: 1 },
  run() {
    throw new Error('It fails');
  },
});
const { app, url, call, person } = await startTestApp(
  {
    resources: [fixture, invoice, order, venue, note, defineUser()],
    jobs: [fails],
    extensions: [softDelete(), audit(), adminConsole()],
  },
  { roles: 'all' },
);
let browser: Browser;
beforeAll(async () => {
  for (const opponent of ['Reds', 'Blues', 'Greens', 'Whites', LONG]) await app.service('fixture').create({ opponent });
  for (const number of ['2030-001', '2030-002']) await app.service('invoice').create({ number });
  for (let count = 0; count < 12; count++) await app.service('order').create({ name: `Order ${count + 1}` });
  const { email } = await person('Ada');
  await call('POST', '/api/auth/login', { email, password: 'correct horse battery' });
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const card = (page: Page, name: string) => page.locator('.resource-card', { hasText: name });
/** The overview is read again as soon as its browser tab is visible. */
const showTab = (page: Page) => page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
/** It shows the response to the last request alone, so that each needs the time to arrive. */
const RARELY = { interval: 1000 };
const failedJobs = async () => (await app.jobs.list({ status: 'failed' })).data;

browserTest('the console opens with the overview of all resources, which leads to their records', 120_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console`);
  await expect.poll(() => page.url()).toBe(`${url}/console/overview`);
  await expect.poll(() => page.title()).toContain('Overview');
  await expect.poll(() => card(page, 'Match days').locator('.count').innerText()).toContain('5');
  expect(await card(page, 'Match days').locator('.newest a').allInnerTexts()).toEqual([
    LONG,
    'Whites',
    'Greens',
    'Blues',
  ]);
  const newestTimes = await card(page, 'Match days').locator('.newest time').allInnerTexts();
  // No longer than a date, for which the cards have room anyway.
  expect(newestTimes.every((text) => text.length <= '24 Sept 2027'.length)).toBe(true);
  await card(page, 'Venues').getByText('No venues yet.').waitFor();
  await page.getByText('Everything works.').waitFor();
  await page.getByRole('region', { name: 'Recent sign-ins' }).getByRole('link', { name: 'Ada' }).waitFor();
  await checkScreens(page, 'console-overview');
  await card(page, 'Match days').getByRole('link', { name: 'Whites' }).click();
  await page.getByRole('heading', { level: 1, name: 'Whites' }).waitFor();
  await page.goBack();
  await card(page, 'Venues').getByRole('link', { name: 'New venue' }).click();
  await page.getByRole('heading', { level: 1, name: 'New venue' }).waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest('what fails is a sentence that leads to the page where one deals with it', 120_000, async () => {
  await app.jobs.enqueue(fails);
  await expect.poll(failedJobs, { timeout: 30_000 }).toHaveLength(1);
  const { page, pageErrors } = await openConsole(browser, `${url}/console/overview`);
  const link = page.getByRole('link', { name: '1 job has failed and can be retried.' });
  // Another page may have read the overview within the last second.
  await expect
    .poll(async () => {
      await showTab(page);
      return link.isVisible();
    }, RARELY)
    .toBe(true);
  await checkScreens(page, 'console-overview-concerns', [390, 1280]);
  await link.click();
  await expect.poll(() => page.url()).toBe(`${url}/console/jobs/failed`);
  expect(pageErrors).toEqual([]);
});

browserTest('the overview is read again as soon as its browser tab is visible', 60_000, async () => {
  const { page } = await openConsole(browser, `${url}/console/overview`);
  await expect.poll(() => card(page, 'Venues').locator('.count').innerText()).toContain('0');
  const created = await app.service('venue').create({ name: 'Old Ground' });
  onTestFinished(async () => {
    await app.service('venue').delete(created.id);
  });
  await expect
    .poll(async () => {
      await showTab(page);
      return card(page, 'Venues').locator('.newest a').allInnerTexts();
    }, RARELY)
    .toEqual(['Old Ground']);
});

browserTest('a part that cannot be read says so, and the rest is shown', 60_000, async () => {
  const prepare = (page: Page) =>
    page.route('**/console/api/overview', async (route) => {
      const response = await route.fetch();
      const { data } = await response.json();
      const resources = data.resources.map((one: object, index: number) =>
        index === 0
          ? { ...one, records: null, newest: null }
          : index === 1
            ? { ...one, records: { count: 10_000, isMore: true } }
            : one,
      );
      await route.fulfill({ response, json: { data: { ...data, resources, unread: ['Jobs'], signIns: null } } });
    });
  const { page } = await openConsole(browser, `${url}/console/overview`, { prepare });
  await card(page, 'Match days').getByText('The newest match days could not be read.').waitFor();
  expect(await card(page, 'Invoices').locator('.count').innerText()).toMatch(/more than\s10,000/);
  await page.getByText('“Jobs” could not be read.').waitFor();
  await page.getByText('The sign-ins could not be read.').waitFor();
  await checkScreens(page, 'console-overview-parts', [390, 1280]);
});

browserTest('icons are in the navigation and in the headings of lists and records', 60_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console/data/fixture`);
  const iconIn = (selector: string) => page.locator(selector).first().getAttribute('d');
  const trophy = await iconIn('.resources a[aria-current] path');
  expect(await iconIn('main h1 path')).toBe(trophy);
  expect(await iconIn('.resources li:nth-child(2) path')).not.toBe(trophy);
  await checkScreens(page, 'console-overview-list', [390, 1280]);
  await page.getByRole('link', { name: 'Whites' }).click();
  await page.getByRole('heading', { level: 1, name: 'Whites' }).waitFor();
  await checkScreens(page, 'console-overview-record', [390, 1280]);
  expect(await iconIn('nav[aria-label="Breadcrumb"] path')).toBe(trophy);
  expect(pageErrors).toEqual([]);
});
