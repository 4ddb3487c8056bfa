// The tests of headers in the portal, in the file of the portal's tests, because they use its app.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens, findEnglish } from './screens.ts';
import { createLinkUrl, openPage, portalApp, receiver } from './webhook-portal-app.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const KEY = 'key-3f1c9b6a20d84e57';
const MASK = '••••4e57';
const focused = (page: Page) => page.evaluate(`document.activeElement.getAttribute('aria-label')`);

browserTest(
  'a customer adds, changes and removes headers in the portal, and never sees a value again',
  240_000,
  async () => {
    const ann = await portalApp.person('Ann');
    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByRole('checkbox', { name: 'order.created' }).check();
    await page.getByText('Advanced').click();
    // With the keyboard only.
    await page.getByRole('button', { name: 'Add a header' }).press('Enter');
    await expect.poll(() => focused(page)).toBe('Name of header 1');
    await page.keyboard.type('cookie');
    await page.keyboard.press('Tab');
    await page.keyboard.type(KEY);
    await page.keyboard.press('Enter');
    await page.getByText(/^cookie: Is reserved/).waitFor();
    await expect.poll(() => focused(page)).toBe('Name of header 1');
    await checkScreens(page, 'webhook-portal-header-error', [360, 390, 1280]);
    await page.getByLabel('Name of header 1').fill('X-Api-Key');
    expect(await page.getByText(/Is reserved/).count()).toBe(0);
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const endpoint = async () => (await ann.call('GET', '/api/webhooks')).body.data[0];
    expect((await endpoint()).headers).toEqual({ 'X-Api-Key': MASK });

    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Advanced').click();
    expect(await page.getByLabel('Value of header X-Api-Key').getAttribute('placeholder')).toBe(`${MASK} (stays)`);
    for (const [name, value] of [
      ['Authorization', 'Bearer abc'],
      ['x-api-key', 'other'],
    ] as const) {
      await page.getByRole('button', { name: 'Add a header' }).click();
      await page
        .getByLabel(/^Name of header/)
        .last()
        .fill(name);
      await page
        .getByLabel(/^Value of header/)
        .last()
        .fill(value);
    }
    await page.getByText('Use each name once.').waitFor();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('button', { name: 'Remove header x-api-key', exact: true }).click();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Add a header');
    await checkScreens(page, 'webhook-portal-headers', [360, 390, 1280]);
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('The changes are saved.').waitFor();
    expect((await endpoint()).headers).toEqual({ 'X-Api-Key': MASK, Authorization: '••••' });

    await page.getByText('Advanced').click();
    await page.getByLabel('URL').fill(receiver.url.replace('127.0.0.1', 'localhost'));
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText(/^Send the values of these headers again, or remove them/).waitFor();
    await page.getByLabel('Value of header X-Api-Key').fill('new');
    await page.getByRole('button', { name: 'Remove header Authorization' }).click();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('The changes are saved.').waitFor();
    expect(await endpoint()).toMatchObject({
      url: expect.stringContaining('localhost'),
      headers: { 'X-Api-Key': '••••' },
    });
    expect(await page.content()).not.toContain(KEY);
    expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
  },
);

browserTest('the editor of headers is in German, too', 120_000, async () => {
  const ann = await portalApp.person('Ann');
  const body = { url: receiver.url, events: ['*'], headers: { 'X-Api-Key': KEY } };
  await ann.call('POST', '/api/webhooks', body);
  const { page } = await openPage(browser, await createLinkUrl(ann.id), { locale: 'de-DE' });
  await page.getByRole('link', { name: receiver.url, exact: true }).click();
  await page.getByRole('link', { name: 'Einstellungen' }).click();
  await page.getByText('Erweitert').click();
  await page.getByRole('button', { name: 'Header hinzufügen' }).click();
  await page.getByLabel('Name von Header 2').fill('Host');
  await page.getByLabel('Wert von Header Host').fill('x');
  await page.getByRole('button', { name: 'Änderungen speichern' }).click();
  await page.getByText(/^Host: Ist dem Sender von Webhooks/).waitFor();
  expect(await findEnglish(page)).toEqual([]);
  await checkScreens(page, 'webhook-portal-german-headers', [390, 1280]);
});
