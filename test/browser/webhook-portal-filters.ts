// The tests of filters in the portal, in the file of the portal's tests, because they use its app.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens } from './screens.ts';
import { createLinkUrl, openPage, portalApp, receiver } from './webhook-portal-app.ts';

const { person } = portalApp;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'a customer adds conditions, sees the error of one next to it, tests them with the last events, and removes them',
  180_000,
  async () => {
    const ann = await person('Ann');
    receiver.answer(204);
    const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['order.*'] });
    const path = `/api/webhooks/${body.data.id}`;
    for (const [title, total] of [
      ['Cheap', 5],
      ['Dear', 500],
    ] as const)
      await ann.call('POST', '/api/orders', { title, total });
    const log = async () => (await ann.call('GET', `${path}/deliveries`)).body.data as { status: string }[];
    await expect
      .poll(async () => (await log()).map(({ status }) => status), { timeout: 60_000 })
      .toEqual(['succeeded', 'succeeded']);

    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    await page.getByRole('link', { name: receiver.url, exact: true }).click();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Every event is sent.').waitFor();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const first = page.getByRole('group', { name: 'Condition 1' });
    await first.getByRole('combobox', { name: 'Event' }).selectOption('order.*');
    await first.getByLabel('Field').fill('total');
    await first.getByLabel('Comparison').selectOption('gte');
    await first.getByRole('textbox', { name: 'Value' }).fill('much');
    await page.getByRole('button', { name: 'Add a condition' }).click();
    const second = page.getByRole('group', { name: 'Condition 2' });
    await second.getByRole('combobox', { name: 'Event' }).selectOption('order.updated');
    await second.getByLabel('Field').fill('state');
    await second.getByLabel('Comparison').selectOption('changed');
    expect(await second.getByRole('textbox', { name: 'Value' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Save' }).click();
    await first.getByText('has a value of the wrong type').waitFor();
    expect(await first.getByLabel('Field').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => page.evaluate('document.activeElement.value')).toBe('total');
    expect(await second.locator('.field-error').textContent()).toBe('');
    await checkScreens(page, 'webhook-portal-filter', [360, 390, 1280]);

    await first.getByRole('textbox', { name: 'Value' }).fill('100');
    await page.getByRole('button', { name: 'Test with the last events' }).click();
    await page.getByText('1 of the last 2 events would be sent.').waitFor();
    await page.getByText('order.*: total[gte]').waitFor();
    await checkScreens(page, 'webhook-portal-filter-test', [360, 1280]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The changes are saved.').waitFor();
    const filter = { 'order.*': { 'total[gte]': '100' }, 'order.updated': { changed: ['state'] } };
    expect((await ann.call('GET', path)).body.data.filter).toEqual(filter);

    await page.getByRole('button', { name: 'Remove the condition order.updated changed' }).click();
    await page.getByRole('button', { name: 'Remove the condition order.* total[gte]' }).click();
    await page.getByText('Every event is sent.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(async () => (await ann.call('GET', path)).body.data.filter).toBeNull();
    expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
  },
);
