// The test of polled endpoints in the console, in the file of the tab's tests, because it uses its app.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { webhookApp } from './console-webhooks-app.ts';
import { checkScreens } from './screens.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'an administrator creates an endpoint that is polled for a user, tests it and edits it',
  180_000,
  async () => {
    const { url, person: consolePerson } = webhookApp;
    const mona = await consolePerson('Mona');
    const { page, pageErrors } = await openConsole(browser, `${url}/console/webhooks/endpoints/new?owner=${mona.id}`);
    await page.getByRole('combobox', { name: 'Delivery' }).selectOption('poll');
    expect(await page.getByLabel('URL').count()).toBe(0);
    await page.getByLabel('Description').fill('CI server');
    await page.getByRole('checkbox', { name: 'All events, including future ones' }).check();
    await checkScreens(page, 'console-webhooks-new-polled', [390, 1280]);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('heading', { name: 'CI server' }).waitFor();
    await page.getByRole('heading', { name: 'Fetch messages' }).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test waits until the receiver polls.').waitFor();
    await page.getByRole('link', { name: 'Open the delivery' }).waitFor();
    await checkScreens(page, 'console-webhooks-polled', [390, 1280]);
    const [endpoint] = (await mona.call('GET', '/api/webhooks')).body.data;
    const { body } = await mona.call('GET', `/api/webhooks/${endpoint.id}/poll`);
    expect(body.data).toHaveLength(1);
    await page.getByRole('link', { name: 'Open the delivery' }).click();
    await page.getByText('Event id').waitFor();
    await page.goto(`${url}/console/webhooks/endpoints`);
    await page.getByText('Polled').first().waitFor();
    expect(pageErrors).toEqual([]);
  },
);
