import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

const customer = defineResource('customer', {
  title: '{firstName} {lastName} ({city})',
  fields: {
    firstName: f.string(),
    lastName: f.string().required().visibleTo('admin'),
    city: f.string(),
    state: f.enum(['new', 'known']).default('new'),
  },
  policies: { list: 'public', read: 'public' },
  audit: true,
});
const order = defineResource('order', {
  title: 'No. {number}',
  fields: { number: f.integer(), customer: f.ref('customer') },
  policies: { list: 'public', read: 'public' },
});
const { app, url } = await startTestApp(
  { resources: [defineUser(), customer, order], extensions: [audit(), adminConsole()] },
  { roles: 'all' },
);
const DATA = `${url}/console/data`;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest('a template of fields names records in lists, pages, pickers, references and views', 120_000, async () => {
  const ada = await app.service('customer').create({ firstName: 'Ada', lastName: 'Lovelace', city: 'London' });
  await app.service('customer').create({ lastName: 'Turing' });
  const { page, pageErrors } = await openConsole(browser, `${DATA}/customer?sort=id`);
  const names = page.locator('tbody tr[data-id] .row-link');
  await expect.poll(() => names.allTextContents(), { timeout: 30_000 }).toEqual(['Ada Lovelace (London)', 'Turing']);
  expect(await page.getByRole('columnheader').nth(1).textContent()).toBe('Customer');
  await page.getByRole('checkbox', { name: 'Select Turing' }).waitFor();
  await checkScreens(page, 'console-titles', [390, 1280]);
  await page.getByRole('link', { name: 'Open Ada Lovelace (London)' }).click();
  await page.getByRole('heading', { name: 'Ada Lovelace (London)', level: 1 }).waitFor();
  expect(await page.title()).toContain('Ada Lovelace (London)');
  await page.getByRole('textbox', { name: 'City' }).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Ada Lovelace', level: 1, exact: true }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog', { name: 'Delete “Ada Lovelace”?' }).waitFor();

  await page.goto(`${DATA}/order/new`);
  await page.getByRole('textbox', { name: 'Number' }).fill('12');
  const picker = page.getByRole('combobox', { name: 'Customer' });
  await picker.fill('lovelace ada');
  await page.getByRole('option', { name: 'Ada Lovelace' }).click();
  await expect.poll(() => picker.inputValue()).toBe('Ada Lovelace');
  await page.getByRole('button', { name: 'Create order' }).click();
  await page.getByRole('heading', { name: 'No. 12', level: 1 }).waitFor();
  await page.goto(`${DATA}/order`);
  await page.getByRole('link', { name: 'Ada Lovelace', exact: true }).waitFor();

  await page.goto(`${DATA}/customer/${ada.id}?as=visitor`);
  await page.getByRole('heading', { name: 'Ada', level: 1, exact: true }).waitFor();
  await page.goto(`${DATA}/customer?as=visitor`);
  await expect.poll(async () => (await names.allTextContents()).at(-1), { timeout: 30_000 }).toBe('Ada');
  expect(await page.locator('main').textContent()).not.toContain('Lovelace');
  await page.goto(`${DATA}/customer?columns=city,state`);
  await page.getByRole('link', { name: 'Open Ada Lovelace' }).waitFor();
  expect(pageErrors).toEqual([]);
});
