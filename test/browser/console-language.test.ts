// The tabs of the console in German.
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f, webhooks } from '../../src/index.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { checkScreens, findEnglish } from './screens.ts';

const order = defineResource('order', {
  fields: { title: f.string().required(), price: f.decimal(), buyer: f.ref('user').owner() },
  policies: { read: 'owner', create: 'authenticated' },
  audit: true,
});
const part = defineResource('part', { fields: { order: f.ref('order').required() } });
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser(), order, part],
    extensions: [webhooks({ retrySchedule: [], pollMs: 100 }), audit(), adminConsole()],
  },
  { roles: 'all' },
);
const receiver = await startReceiver();
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return () => receiver.close();
  browser = await startBrowser();
  return async () => {
    await closePages(browser);
    receiver.close();
  };
});

/** Texts of the app and of the document, which are the same in every language. */
const FROM_APP = `.brand, .reference-tag, .reference-text, .reference-summary, .reference-member > .soft, .reference-control,
  .page-head h1`;

/** Opens a tab in a German browser. */
async function openTab(): Promise<Page> {
  const context = await browser.newContext({ locale: 'de-DE', reducedMotion: 'reduce' });
  onTestFinished(() => context.close());
  return context.newPage();
}

/** The narrow layout, in which German words are most likely too long. */
const NARROW = [390];

/** Opens a page of a tab by its heading, and checks that its content is German. `screens`: also its layout. */
async function check(page: Page, path: string, heading: string | RegExp, screens?: string): Promise<void> {
  await page.goto(`${url}/console${path}`);
  await page.getByRole('heading', { name: heading, level: 1, exact: true }).waitFor();
  await expect.poll(() => page.locator('main [aria-busy="true"]').count()).toBe(0);
  expect([path, await findEnglish(page, FROM_APP)]).toEqual([path, []]);
  if (screens !== undefined) await checkScreens(page, `console-german-${screens}`, NARROW);
}

browserTest('the frame, the overview and the data of the console are in German', 240_000, async () => {
  const dora = await person('Dora');
  await dora.call('POST', '/api/orders', { title: 'Teapot' });
  const { body } = await dora.call('POST', '/api/orders', { title: 'Cup' });
  const page = await openTab();
  await check(page, '', 'Übersicht', 'overview');
  expect(await page.getByRole('navigation', { name: 'Konsole' }).getByRole('link').allInnerTexts()).toContain('Daten');
  await page.goto(`${url}/console/data/order`);
  await page.getByRole('link', { name: 'Cup öffnen' }).waitFor();
  expect(await findEnglish(page, FROM_APP)).toEqual([]);
  await checkScreens(page, 'console-german-list', NARROW);
  await page.goto(`${url}/console/data/order/${body.data.id}`);
  await page.getByRole('button', { name: 'Löschen' }).waitFor();
  await page.locator('#field-title').fill('');
  await page.getByRole('button', { name: 'Speichern' }).click();
  await page.getByRole('alert').getByText('Ist erforderlich').waitFor();
  expect(await findEnglish(page, FROM_APP)).toEqual([]);
  await checkScreens(page, 'console-german-record', NARROW);
  await page.locator('#field-title').fill('Cup');
  await page.locator('#field-price').fill('1.234,50');
  await page.getByRole('button', { name: 'Speichern' }).click();
  await expect.poll(async () => (await dora.call('GET', `/api/orders/${body.data.id}`)).body.data.price).toBe('1234.5');
  await expect.poll(() => page.locator('#field-price').inputValue()).toBe('1234,5');
  await app.service('part').create({ order: body.data.id });
  await page.reload();
  await page.getByRole('button', { name: 'Löschen' }).click();
  await page.getByRole('dialog').getByText('Darauf verweisen: 1 Part.').waitFor();
  await check(page, '/jobs', 'Jobs');
  await check(page, '/mails', /\S/);
  await check(page, '/operations', 'Betrieb', 'operations');
});

browserTest('administrators choose the language of the console in its header', 60_000, async () => {
  const page = await openTab();
  await page.goto(`${url}/console/jobs`);
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('link', { name: 'Operations' }).waitFor();
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await page.getByRole('link', { name: 'Betrieb' }).waitFor();
});

browserTest('the webhooks of the console are in German', 240_000, async () => {
  const ann = await person('Ann');
  receiver.answer(500);
  const { body } = await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['order.*'] });
  const { id } = body.data;
  await ann.call('POST', '/api/orders', { title: 'Kettle' });
  const log = async () => (await ann.call('GET', `/api/webhooks/${id}/deliveries`)).body.data;
  await expect.poll(async () => (await log())[0]?.status, { timeout: 60_000 }).toBe('failed');
  const [delivery] = await log();
  const page = await openTab();
  await check(page, '/webhooks', 'Webhooks');
  await check(page, '/webhooks/endpoints', 'Endpunkte');
  await check(page, `/webhooks/endpoints/${id}`, new URL(receiver.url).host, 'endpoint');
  await page.getByText('1 Zustellung ist in Folge fehlgeschlagen, die letzte mit: Status 500.').waitFor();
  await check(page, '/webhooks/endpoints/new', 'Endpunkt erstellen');
  await check(page, '/webhooks/deliveries', 'Zustellungen');
  await check(page, `/webhooks/deliveries/${delivery.id}`, 'order.created');
  await check(page, `/webhooks/explain?endpoint=${id}&event=${delivery.id}`, 'Erklären');
  await check(page, '/webhooks/events', 'Ereignisse');
  await check(page, '/webhooks/receiver', 'Empfänger');
});

browserTest('the reference, the accounts and the audit trail of the console are in German', 240_000, async () => {
  const bob = await person('Bob');
  await bob.call('POST', '/api/orders', { title: 'Lamp' });
  const page = await openTab();
  await check(page, '/reference/createOrder', /Create an? order/);
  await check(page, '/reference/map/resources?resource=order', 'Karte');
  await check(page, '/reference/map/access?viewer=signed-in', 'Zugriff');
  await page.getByText(/^Jeder angemeldete Benutzer, von 3 Ressourcen: auflisten: \d/).waitFor();
  await check(page, '/accounts', 'Benutzer');
  await check(page, `/accounts/users/${bob.id}`, 'Bob', 'account');
  await check(page, '/audit', 'Audit-Protokoll');
  await page.locator('.audit-head').getByText('Registriert').first().waitFor();
});

browserTest('the push messages of the console are in German', 240_000, async () => {
  const cleo = await person('Cleo');
  const { id } = await app.simulated!.create({ user: cleo.id, platform: 'ios', name: 'iPhone' });
  await app.push.send({ to: cleo.id, title: 'Hallo', body: 'Unterwegs' });
  const page = await openTab();
  await check(page, '/push', 'Push');
  await check(page, '/push/sends', 'Sendungen');
  await page.getByRole('link', { name: 'Hallo' }).click();
  await page.getByText('Vom Anbieter angenommen').waitFor();
  await check(page, new URL(page.url()).pathname.replace('/console', ''), 'Hallo');
  await check(page, '/push/devices', 'Geräte');
  await check(page, `/push/devices/${id}`, 'iPhone');
  await check(page, '/push/removed', 'Entfernte Geräte');
});
