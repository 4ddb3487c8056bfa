import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { receiver, seedWebhooks, webhookApp } from './console-webhooks-app.ts';
import { checkScreens } from './screens.ts';
import './console-webhooks-headers.ts';
import './console-webhooks-organisations.ts';
import './console-webhooks-polled.ts';

const { url, person } = webhookApp;
const HOME = `${url}/console/webhooks`;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'an administrator sees the state of all webhooks, and follows a failure to its delivery and its explanation',
  240_000,
  async () => {
    await seedWebhooks();
    const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor();
    await page.getByRole('figure').waitFor();
    await checkScreens(page, 'console-webhooks-overview', [360, 1280]);

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: 'Last 14 days' }).click();
    await expect.poll(() => page.url()).toContain('range=twoWeeks');
    await page.getByRole('link', { name: /Failing endpoints/ }).click();
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(3);
    expect(await page.locator('tbody .status').allTextContents()).not.toContain('active');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('URL contains').fill('globex');
    await page.getByLabel('URL contains').press('Enter');
    await expect.poll(() => page.getByRole('row').count()).toBe(7);
    await page.reload();
    await expect.poll(() => page.getByRole('row').count()).toBe(7);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('button', { name: 'Show more' }).waitFor();
    await checkScreens(page, 'console-webhooks-endpoints', [360, 1280]);

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('navigation', { name: 'Webhooks' }).getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('heading', { name: 'Deliveries', level: 1 }).waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await expect.poll(() => page.locator('tbody .status.good').count()).toBe(0);
    await page.getByRole('row').nth(1).waitFor();
    expect(page.url()).toContain('status=failed');
    await checkScreens(page, 'console-webhooks-deliveries', [390, 1920]);
    await page.setViewportSize({ width: 1280, height: 900 });
    const [, first] = (await page.getByRole('row').nth(1).getByRole('link').nth(1).getAttribute('href'))!.split(
      'endpoints/',
    );
    await page.getByLabel('Endpoint').fill(first!);
    await expect.poll(() => page.getByRole('columnheader', { name: 'Endpoint' }).count()).toBe(0);
    expect(page.url()).toContain(`endpoint=${first}`);
    await page.getByRole('row').nth(1).getByRole('link').first().click();
    await page.getByText('Event id').waitFor();
    await page.getByRole('link', { name: 'Explain', exact: true }).last().click();
    await page.getByText('It was tried, and failed after 1 attempt: status 503.').waitFor();
    await checkScreens(page, 'console-webhooks-explain', [360, 1280]);
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'an administrator creates an endpoint, tests it, sends a delivery again, rotates the secret and deletes it',
  240_000,
  async () => {
    const ada = await person('Ada');
    const { page, pageErrors } = await openConsole(browser, `${HOME}/endpoints/new`);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('Choose at least one event.').waitFor();
    await page.getByLabel('Owner').click();
    await page.getByLabel('Owner').fill('Ada');
    await page.getByRole('option', { name: /Ada/ }).click();
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Description').fill('Orders of <script>Ada</script>');
    await page.getByText('order.*').click();
    await checkScreens(page, 'console-webhooks-new', [360]);
    await page.getByRole('button', { name: 'Create' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain('whsec_');
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByRole('heading', { name: 'Orders of <script>Ada</script>' }).waitFor();

    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test: status 204').waitFor();
    receiver.answer((_request, res) => {
      res.writeHead(500);
      res.end('<img src=x onerror=alert(1)>');
    });
    await ada.call('POST', '/api/orders', { title: 'Ten chairs', total: 90 });
    const [{ id }] = (await ada.call('GET', '/api/webhooks')).body.data;
    const newest = async () => (await ada.call('GET', `/api/webhooks/${id}/deliveries`)).body.data[0];
    await expect.poll(async () => (await newest()).status, { timeout: 60_000 }).toBe('failed');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.locator('tbody .status.bad').waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
    await checkScreens(page, 'console-webhooks-endpoint', [390, 1280]);

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'order.created' }).click();
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    await page.getByText('webhook-signature: v1,').waitFor();
    await checkScreens(page, 'console-webhooks-delivery', [360, 1920]);
    receiver.answer(204);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('.facts .status.good').waitFor();

    await page.getByRole('link', { name: '← Endpoint' }).click();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await page.getByText('whsec_').first().waitFor();
    await dialog.getByRole('button', { name: 'I have stored it' }).click();
    await page.getByText('The old secret also signs until').waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await dialog.getByRole('button', { name: 'Disable' }).click();
    await page.getByText('The endpoint is disabled: a user disabled it.').waitFor();
    await page.getByRole('button', { name: 'Enable' }).click();
    await page.getByRole('button', { name: 'Disable' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText(/Finished: 0 of 0/).waitFor();
    expect(page.url()).toContain('recovery=');

    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('URL').fill('nonsense');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Must be a valid URL').waitFor();
    await page.getByLabel('URL').fill(`${receiver.url}/new`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`${receiver.url}/new`).first().waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor();
    expect((await ada.call('GET', '/api/webhooks')).body.data).toEqual([]);
    expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
  },
);

browserTest(
  'events have samples, schemas and code, and the receiver shows what arrives, with the check of its signature',
  240_000,
  async () => {
    const eve = await person('Eve');
    const { page, pageErrors } = await openConsole(browser, `${HOME}/events`);
    await page.getByLabel('Name or description').fill('invoice');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Python' }).click();
    await page.getByText('hmac.compare_digest').waitFor();
    await checkScreens(page, 'console-webhooks-events', [390]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'invoice.paid' }).click();
    await page.getByText('"amount"').first().waitFor();
    await checkScreens(page, 'console-webhooks-event', [1280]);

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('link', { name: 'Receiver' }).click();
    await page.getByText('Nothing arrived yet').waitFor();
    await page.getByText('Create an endpoint for the receiver', { exact: true }).click();
    await page.getByLabel('Owner').click();
    await page.getByLabel('Owner').fill('Eve');
    await page.getByRole('option', { name: /Eve/ }).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: /Send a test/ }).click();
    await page.locator('.webhooks-requests').getByText('webhook.test').waitFor();
    const answered = page.waitForResponse('**/webhooks/receiver/answer');
    await page.getByLabel('Response').selectOption('fail');
    await answered;
    await eve.call('POST', '/api/orders', { title: 'Lamp' });
    await page.locator('.webhooks-requests').getByText('responded 500').waitFor();
    await page.locator('.webhooks-summary').first().click();
    await page.getByText('The signature is valid').waitFor();
    await checkScreens(page, 'console-webhooks-receiver', [360, 1280]);
    expect(pageErrors).toEqual([]);
  },
);

browserTest('an administrator sets conditions of an endpoint, and sees them on its page', 180_000, async () => {
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['order.*'] });
  const { page, pageErrors } = await openConsole(browser, `${HOME}/endpoints/${body.data.id}/edit`);
  await page.getByRole('button', { name: 'Add a condition' }).click();
  const row = page.getByRole('group', { name: 'Condition 1' });
  await row.getByRole('combobox', { name: 'Event' }).selectOption('order.created');
  await row.getByLabel('Field').fill('colour');
  await row.getByRole('textbox', { name: 'Value' }).fill('100');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('Unknown query parameter "colour"').waitFor();
  await checkScreens(page, 'console-webhooks-filter', [360, 390, 1280]);
  await row.getByLabel('Field').fill('total');
  await row.getByLabel('Comparison').selectOption('gte');
  await page.getByRole('button', { name: 'Test with the last events' }).click();
  await page.getByText('Nothing has been sent to this endpoint yet.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('order.created: total[gte] = 100').waitFor();
  const { filter } = (await ann.call('GET', `/api/webhooks/${body.data.id}`)).body.data;
  expect(filter).toEqual({ 'order.created': { 'total[gte]': '100' } });
  expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
});

browserTest('an administrator backfills an endpoint, pauses the backfill and cancels it', 240_000, async () => {
  const ada = await person('Ada');
  const client = new Client({ connectionString: webhookApp.env.DATABASE_URL });
  await client.connect();
  await client.query(
    `insert into webhook_event_log (id, position, name, owner_id, data, bytes, created_at)
     select lpad(to_hex(i), 24, '0'), i, 'invoice.paid', $1, '{"invoice":"x","amount":1}', 30, now() - interval '1 minute'
     from generate_series(1, 1200) i`,
    [ada.id],
  );
  await client.end();
  // Responses are held, so that only the first page is sent.
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver.answer(async (_request, res) => {
    await held;
    res.writeHead(204).end();
  });
  const events = ['invoice.paid', 'order.*'];
  const { body } = await ada.call('POST', '/api/webhooks', { url: receiver.url, events });
  const { page, pageErrors } = await openConsole(browser, `${HOME}/endpoints/${body.data.id}`);
  await page.getByRole('button', { name: 'Backfill', exact: true }).click();
  await page.getByText(/^Running\. Deliveries created: 500, up to/).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText(/^Paused\. Deliveries created: 500/).waitFor();
  await checkScreens(page, 'console-webhooks-backfill', [390, 1280]);
  await page.getByRole('button', { name: 'Cancel the backfill' }).click();
  await page.getByText(/^Cancelled\. Deliveries created: 500/).waitFor();
  release();
  receiver.answer(204);
  expect(pageErrors).toEqual([]);
});
