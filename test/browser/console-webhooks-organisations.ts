// The tests of endpoints of organisations in the console, in the file of the tab's tests, because they use its app.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { receiver, webhookApp } from './console-webhooks-app.ts';
import { checkScreens } from './screens.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest('an administrator creates an endpoint of an organisation, and changes its role', 240_000, async () => {
  const { url, person } = webhookApp;
  const olga = await person('Olga');
  const { body } = await olga.call('POST', '/api/organisations', { name: 'Rowing club', slug: 'rowing' });
  expect(body.error).toBeUndefined();
  const home = `${url}/console/webhooks/endpoints`;
  const { page, pageErrors } = await openConsole(browser, `${home}/new`);
  await page.getByText('order.*').click();
  await page.getByText('invoice.paid').click();
  await page.getByLabel('Belongs to').selectOption('organisation');
  await page.getByLabel('Owner', { exact: true }).click();
  await page.getByLabel('Owner', { exact: true }).fill('Row');
  await page.getByRole('option', { name: /Rowing club/ }).click();
  expect(await page.getByLabel('Role').inputValue()).toBe('org:admin');
  await page.getByLabel('Role').selectOption('org:member');
  await page.getByLabel('URL').fill(`${receiver.url}/club`);
  // Organisations have no orders.
  await page.getByText('membership.*').waitFor();
  expect(await page.getByText('order.*').count()).toBe(0);
  await checkScreens(page, 'console-webhooks-organisation', [360, 1280]);
  await page.getByRole('button', { name: 'Create' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText('org:member').waitFor();

  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('Role').selectOption('org:owner');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('org:owner').waitFor();
  await page.goto(home);
  await page.getByRole('combobox', { name: 'Organisation' }).click();
  await page.getByRole('combobox', { name: 'Organisation' }).fill('Row');
  await page.getByRole('option', { name: /Rowing club/ }).click();
  await expect.poll(() => page.getByRole('row').count()).toBe(2);
  expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
});
