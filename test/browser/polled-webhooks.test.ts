import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { webhookApp } from './console-webhooks-app.ts';
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

browserTest(
  'an administrator creates an endpoint that is polled for a user, tests it and edits it',
  180_000,
  async () => {
    const { url, person: consolePerson } = webhookApp;
    const ada = await consolePerson('Ada');
    const { page, pageErrors } = await openConsole(browser, `${url}/console/webhooks/endpoints/new?owner=${ada.id}`);
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
    const [endpoint] = (await ada.call('GET', '/api/webhooks')).body.data;
    const { body } = await ada.call('GET', `/api/webhooks/${endpoint.id}/poll`);
    expect(body.data).toHaveLength(1);
    await page.getByRole('link', { name: 'Open the delivery' }).click();
    await page.getByText('Event id').waitFor();
    await page.goto(`${url}/console/webhooks/endpoints`);
    await page.getByText('Polled').first().waitFor();
    expect(pageErrors).toEqual([]);
  },
);
