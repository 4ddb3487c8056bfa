// The test of polled endpoints in the portal, in the file of the portal's tests, because it uses its app.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens } from './screens.ts';
import { createLinkUrl, openPage, portalApp } from './webhook-portal-app.ts';

const { person } = portalApp;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'a customer without a public address creates an endpoint that is polled, and sees how to fetch its messages',
  180_000,
  async () => {
    const ann = await person('Ann');
    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByRole('combobox', { name: 'Delivery' }).selectOption('poll');
    expect(await page.getByLabel('URL').count()).toBe(0);
    await page.getByRole('checkbox', { name: 'order.created' }).check();
    await checkScreens(page, 'webhook-portal-new-polled', [360, 390, 1280]);
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    await page.getByRole('heading', { name: 'Fetch messages' }).waitFor();
    const { data } = (await ann.call('GET', '/api/webhooks')).body;
    expect(data).toMatchObject([{ url: null, delivery: 'poll', events: ['order.created'] }]);
    await page.getByText(`--endpoint ${data[0].id}`).waitFor();
    await checkScreens(page, 'webhook-portal-polled', [360, 390, 1280]);
    await page.getByRole('link', { name: 'Test and repair' }).click();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('Waiting', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Description').fill('CI');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved').waitFor();
    expect((await ann.call('GET', `/api/webhooks/${data[0].id}`)).body.data).toMatchObject({ description: 'CI' });
    expect(pageErrors).toEqual([]);
  },
);
