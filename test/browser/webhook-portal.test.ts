import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';
import { checkScreens, findEnglish } from './screens.ts';
import { allowed, createLinkUrl, frameOf, openPage, portalApp, receiver, refused } from './webhook-portal-app.ts';
import './webhook-portal-filters.ts';
import './webhook-portal-headers.ts';
import './webhook-portal-polled.ts';

const { person, app } = portalApp;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** A portal is shown in the narrow frame of a page as well as on its own. */
const WIDTHS = [360, 390, 1280];

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });

browserTest(
  'a customer creates an endpoint with the events that they see described, stores its secret, and receives a test',
  180_000,
  async () => {
    const ann = await person('Ann');
    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    await heading(page, 'Webhooks').waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await checkScreens(page, 'webhook-portal-empty', WIDTHS);
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByLabel('URL').fill('nothing');
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    await page.getByText('Must be a valid URL').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('endpoint-url');
    await page.getByLabel('URL').fill(receiver.url);
    await page.getByLabel('Description').fill('Our <i>shop</i>');
    await page.getByRole('button', { name: 'Show data of invoice.paid' }).click();
    await page.getByText('"invoice": "text"').waitFor();
    await page.getByRole('checkbox', { name: 'order.created' }).check();
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    await checkScreens(page, 'webhook-portal-new', WIDTHS);
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    await page.getByRole('heading', { name: 'Store this secret now' }).waitFor();
    const { data } = (await ann.call('GET', '/api/webhooks')).body;
    expect(data).toMatchObject([
      { url: receiver.url, description: 'Our <i>shop</i>', events: ['order.created', 'invoice.paid'] },
    ]);
    const secret = await page.locator('.secret code').textContent();
    expect(secret).toMatch(/^whsec_/);
    expect(await page.locator('.block code').textContent()).toContain(secret);
    await checkScreens(page, 'webhook-portal-verify', WIDTHS);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    expect(await page.getByText(secret!).count()).toBe(0);
    await page.getByRole('link', { name: 'Test and repair' }).click();
    receiver.answer((_request, res) => res.writeHead(200).end('<img src=x onerror="document.title=1">'));
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('<img src=x onerror="document.title=1">').waitFor();
    await page
      .getByText(/^Status 200 · \d+\sms$/)
      .first()
      .waitFor();
    await checkScreens(page, 'webhook-portal-test', WIDTHS);
    expect(await page.title()).toBe('Webhooks · Acme');
    expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
  },
);

browserTest(
  'a customer filters the log, reads the body and the response of a failed delivery, and sends it again',
  180_000,
  async () => {
    const ann = await person('Ann');
    const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
    const { id } = body.data;
    receiver.answer((_request, res) => res.writeHead(500).end('</pre><script>document.title=2</script>'));
    await app.webhooks.publish('invoice.paid', { invoice: '<b>7</b>', amount: 5 }, { owner: ann.id });
    await expect
      .poll(async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data[0]?.attempts, {
        timeout: 60_000,
      })
      .toBe(1);
    const long = `${receiver.url}?${'long'.repeat(40)}`;
    const other = await ann.call('POST', '/api/webhooks', { url: long, events: ['order.*'] });
    await ann.call('PATCH', `/api/webhooks/${other.body.data.id}`, { enabled: false });
    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    await page.getByText('Disabled because you disabled it.').waitFor();
    await checkScreens(page, 'webhook-portal-list', WIDTHS);
    await page.getByRole('link', { name: receiver.url, exact: true }).click();
    await page.getByRole('button', { name: /invoice\.paid/ }).click();
    await page.getByText('</pre><script>document.title=2</script>').waitFor();
    await page.getByText('"invoice": "<b>7</b>"').waitFor();
    await checkScreens(page, 'webhook-portal-delivery', WIDTHS);
    receiver.answer(204);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('.deliveries').getByText('Succeeded').waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await page.getByText('No delivery matches the filter.').waitFor();
    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Event').selectOption('invoice.paid');
    await page.locator('.deliveries li').first().waitFor();
    expect(await page.title()).toBe('Webhooks · Acme');
    expect(pageErrors).toEqual([]);
  },
);

browserTest('a customer sees how many deliveries succeeded and how long their server took', 180_000, async () => {
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['invoice.paid'] });
  const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
  await page.getByRole('link', { name: receiver.url }).click();
  await page.getByRole('link', { name: 'Statistics' }).click();
  await page.getByText('Nothing was sent in this period.').waitFor();
  receiver.answer(204, 204, 204, 500);
  for (let i = 0; i < 4; i++) await ann.call('POST', `/api/webhooks/${body.data.id}/test`);
  await page.reload();
  await page.getByRole('figure').waitFor();
  expect(await page.getByText('75%').count()).toBe(1);
  await page.getByText('Succeeded: 3').waitFor();
  await checkScreens(page, 'webhook-portal-statistics', WIDTHS);
  await page.getByRole('button', { name: 'Last 14 days' }).press('Enter');
  await page.getByRole('table', { name: 'Deliveries by result, last 14 days' }).waitFor();
  expect(await page.getByRole('row').count()).toBe(14);
  await page.getByText('Failed: 1').waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest(
  'the error of a field disappears when its value changes, and the errors of other fields stay',
  120_000,
  async () => {
    const ann = await person('Ann');
    const { page } = await openPage(browser, await createLinkUrl(ann.id));
    await page.getByRole('link', { name: 'Add an endpoint' }).click();
    await page.getByText('Advanced').click();
    await page.getByLabel('Maximum number of requests').fill('0');
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    const errors = async () =>
      (await page.locator('form .field-error').allTextContents()).filter((text) => text !== '');
    const limit = 'Must be a whole number from 1 to 10000';
    await expect.poll(errors).toEqual(['Must be a valid URL', 'Choose at least one event.', limit]);
    await page.getByLabel('URL').fill(receiver.url);
    await expect.poll(errors).toEqual(['Choose at least one event.', limit]);
    await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
    await expect.poll(errors).toEqual([limit]);
    await page.getByText('Check the marked fields.').waitFor();
    await page.getByLabel('Maximum number of requests').fill('5');
    await expect.poll(errors).toEqual([]);
    expect(await page.getByText('Check the marked fields.').count()).toBe(0);
    expect(await page.getByLabel('Maximum number of requests').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Add the endpoint' }).click();
    await page.getByRole('heading', { name: 'Store this secret now' }).waitFor();
  },
);

browserTest('a customer pages through a long log', 120_000, async () => {
  const ann = await person('Ann');
  receiver.answer(204);
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['invoice.paid'] });
  for (let i = 0; i < 25; i++)
    await app.webhooks.publish('invoice.paid', { invoice: String(i), amount: 1 }, { owner: ann.id });
  const { page } = await openPage(browser, await createLinkUrl(ann.id));
  await page.getByRole('link', { name: receiver.url }).click();
  const rows = page.locator('.deliveries > li');
  await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(20);
  await page.getByRole('button', { name: 'Show older deliveries' }).click();
  await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(25);
  expect(await page.getByRole('button', { name: 'Show older deliveries' }).count()).toBe(0);
});

browserTest(
  'a customer edits an endpoint, disables and enables it, rotates its secret, recovers, and deletes it, with the keyboard alone',
  180_000,
  async () => {
    const ann = await person('Ann');
    const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
    const { id } = body.data;
    const read = async () => (await ann.call('GET', `/api/webhooks/${id}`)).body.data;
    const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
    const press = async (role: 'button' | 'link', name: string) => {
      await page.getByRole(role, { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    await press('link', receiver.url);
    await press('link', 'Settings');
    await page.getByLabel('Description').fill('Shop');
    await press('button', 'Save changes');
    await page.getByText('The changes are saved.').waitFor();
    expect(await read()).toMatchObject({ description: 'Shop', events: ['*'], rateLimit: null });
    await checkScreens(page, 'webhook-portal-settings', WIDTHS);
    const isAsking = () => page.evaluate(`document.activeElement.closest('.confirm') !== null`);
    const ask = async (name: string) => {
      await press('button', name);
      await expect.poll(isAsking).toBe(true);
    };
    await ask('Disable');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Disable');
    expect([await isAsking(), (await read()).enabled]).toEqual([false, true]);
    await page.getByLabel('Description').fill('Not saved yet');
    await ask('Disable');
    await page.keyboard.press('Enter');
    await page.getByText('Disabled because you disabled it.').waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('Not saved yet');
    expect((await read()).enabled).toBe(false);
    await press('button', 'Enable the endpoint');
    await page.getByText('Active', { exact: true }).waitFor();
    await ask('Rotate the secret');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Store this secret now' }).waitFor();
    await press('link', 'Test and repair');
    await press('button', 'Send again');
    await page.getByText('0 of 0 deliveries').waitFor();
    await page.getByLabel('Id of the event').fill('65f0c1d2e3a4b5c6d7e8f901');
    await page.keyboard.press('Enter');
    await page.getByText('The event is older than the retention period.').waitFor();
    await press('link', 'Settings');
    await ask('Delete');
    await page.keyboard.press('Enter');
    await page.getByText('Receive events as they happen').waitFor();
    expect((await ann.call('GET', '/api/webhooks')).body.data).toEqual([]);
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'the page of a named origin embeds the portal and learns its height; the page of another origin cannot',
  120_000,
  async () => {
    const ann = await person('Ann');
    const link = await createLinkUrl(ann.id, {}, '?theme=dark');
    allowed.show(link);
    refused.show(link);
    const { page, pageErrors } = await openPage(browser, allowed.origin);
    await page.frameLocator('iframe').getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    expect(new URL(frameOf(page).url()).hash).toBe('');
    expect(await frameOf(page).evaluate('document.documentElement.dataset.theme')).toBe('dark');
    expect(await frameOf(page).evaluate('document.cookie')).toBe('');
    const heights = () => page.evaluate<{ data: { type: string; height: number }; origin: string }[]>('messages');
    await expect.poll(async () => (await heights()).length).toBeGreaterThan(0);
    for (const { data, origin } of await heights()) {
      expect(origin).toBe(portalApp.url);
      expect(data).toEqual({ type: 'belfry-webhook-portal', height: expect.any(Number) });
    }
    await keepScreenshot(page, 'webhook-portal-embedded');
    expect(pageErrors).toEqual([]);
    const other = await openPage(browser, refused.origin);
    await expect.poll(() => other.pageErrors.join()).toContain('frame-ancestors');
    expect(await other.page.evaluate('messages')).toEqual([]);
  },
);

browserTest(
  'a link that ends while the page is open shows a friendly page, and a new link in the address continues',
  120_000,
  async () => {
    const ann = await person('Ann');
    const { page } = await openPage(browser, await createLinkUrl(ann.id, { expiresIn: '3s' }));
    await heading(page, 'This link has expired').waitFor({ timeout: 30_000 });
    await checkScreens(page, 'webhook-portal-ended', WIDTHS);
    const { hash } = new URL(await createLinkUrl(ann.id));
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await heading(page, 'Webhooks').waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await page.reload();
    await heading(page, 'Webhooks').waitFor();
    const add = page.getByRole('link', { name: 'Add an endpoint' });
    await add.waitFor();
    await app.service('user').update(ann.id, { status: 'disabled' });
    await add.click();
    await heading(page, 'This link has expired').waitFor();
    const { page: bare } = await openPage(browser, `${portalApp.url}/webhooks/portal`);
    await heading(bare, 'Open this page from your app').waitFor();
  },
);

browserTest('a link for one endpoint opens that endpoint, without a way to others', 120_000, async () => {
  const ann = await person('Ann');
  const urls = [`${receiver.url}/alpha`, `${receiver.url}/beta`];
  const created = [];
  for (const url of urls) created.push((await ann.call('POST', '/api/webhooks', { url, events: ['*'] })).body.data);
  const { page } = await openPage(browser, await createLinkUrl(ann.id, { endpointId: created[0].id }));
  await heading(page, /alpha$/).waitFor();
  expect(await page.getByText('All endpoints').count()).toBe(0);
  await page.evaluate(`location.hash = '#/${created[1].id}'`);
  await page.getByRole('link', { name: 'Settings' }).click();
  await heading(page, /alpha$/).waitFor();
  expect(await page.getByText('beta').count()).toBe(0);
});

browserTest('a German browser sees the portal in German, and the user can choose English', 240_000, async () => {
  const ann = await person('Ann');
  const options = { locale: 'de-DE' };
  const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id), options);
  const check = async (name: string) => {
    expect(await findEnglish(page)).toEqual([]);
    await checkScreens(page, `webhook-portal-german-${name}`, [390, 1280]);
  };
  await page.getByRole('heading', { name: 'Ereignisse sofort empfangen' }).waitFor();
  await check('empty');
  await page.getByRole('link', { name: 'Endpunkt hinzufügen' }).click();
  await page.getByText('Erweitert').click();
  await page.getByRole('button', { name: 'Daten anzeigen von invoice.paid' }).click();
  await page.getByText('Beispielinhalt').waitFor();
  await check('new');
  receiver.answer(500);
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  await app.webhooks.publish('invoice.paid', { invoice: '7', amount: 5 }, { owner: ann.id });
  const log = async () => (await ann.call('GET', `/api/webhooks/${body.data.id}/deliveries`)).body.data;
  await expect.poll(async () => (await log())[0]?.attempts, { timeout: 60_000 }).toBe(1);
  await page.getByRole('link', { name: '← Alle Endpunkte' }).click();
  await page.getByText(/^Letzter Fehler: .+ \(Status 500\)\.$/).waitFor();
  await check('list');
  await page.getByRole('link', { name: receiver.url, exact: true }).click();
  await page.getByRole('button', { name: /invoice\.paid/ }).click();
  await page.getByRole('heading', { name: 'Versuche' }).waitFor();
  await check('delivery');
  await page.getByRole('link', { name: 'Testen und beheben' }).click();
  await page.getByLabel('ID des Ereignisses').fill((await log())[0].id);
  await page.getByRole('button', { name: 'Erklären' }).click();
  await page.getByText('Es gibt eine Zustellung dieses Ereignisses an diesen Endpunkt.').waitFor();
  await page.getByRole('button', { name: 'Erneut senden' }).click();
  await page.getByText(/^Fertig: 0 von 0 Zustellungen/).waitFor();
  await check('tools');
  await page.getByRole('link', { name: 'Signaturen prüfen' }).click();
  await page.getByRole('heading', { name: 'Jede Anfrage prüfen' }).waitFor();
  await check('verify');
  await page.getByRole('link', { name: 'Einstellungen' }).click();
  await page.getByRole('button', { name: 'Secret wechseln' }).click();
  await page.getByRole('button', { name: 'Wechseln', exact: true }).click();
  await page.getByRole('heading', { name: 'Speichern Sie dieses Secret jetzt' }).waitFor();
  expect(await page.getByRole('button', { name: 'English' }).isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Ich habe es gespeichert' }).click();
  await check('settings');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('button', { name: 'Rotate the secret' }).waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest('a frame that may store nothing offers no language, because its link would be lost', 60_000, async () => {
  const ann = await person('Ann');
  const page = await browser.newPage();
  await page.addInitScript(`Object.defineProperty(window, 'sessionStorage', {
    get() { throw new DOMException('Denied', 'SecurityError'); },
  })`);
  await page.goto(await createLinkUrl(ann.id, {}, '?lang=de'));
  await page.getByRole('heading', { name: 'Ereignisse sofort empfangen' }).waitFor();
  expect(await page.getByRole('button', { name: 'English' }).count()).toBe(0);
  await page.close();
});

browserTest('a customer backfills the events that a new endpoint has missed', 180_000, async () => {
  const ann = await person('Ann');
  await app.webhooks.publish('invoice.paid', { invoice: 'missed', amount: 5 }, { owner: ann.id });
  receiver.answer(204);
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['invoice.paid', 'order.*'] });
  const { page, pageErrors } = await openPage(browser, await createLinkUrl(ann.id));
  await page.getByRole('link', { name: receiver.url, exact: true }).click();
  await page.getByRole('link', { name: 'Test and repair' }).click();
  for (const box of ['invoice.paid', 'order.*']) await page.getByRole('checkbox', { name: box }).uncheck();
  await page.getByRole('button', { name: 'Backfill', exact: true }).click();
  await page.locator('fieldset .field-error').waitFor();
  await page.getByRole('checkbox', { name: 'invoice.paid' }).check();
  await page.getByRole('button', { name: 'Backfill', exact: true }).click();
  await page.getByText('Finished. Events on their way: 1.').waitFor();
  await checkScreens(page, 'webhook-portal-backfill', WIDTHS);
  const { data } = (await ann.call('GET', `/api/webhooks/${body.data.id}/backfills`)).body;
  expect(data).toMatchObject([{ status: 'finished', events: ['invoice.paid'], sent: 1 }]);
  expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
});
