import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { startReferenceApp } from './console-reference-app.ts';
import { checkScreens } from './screens.ts';

const { url, app, person } = await startReferenceApp();
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const REFERENCE = `${url}/console/reference`;
const response = (page: Page) => page.getByRole('region', { name: 'Response', exact: true });
const code = (page: Page) => page.getByRole('region', { name: /^Code: / });

async function send(page: Page, status: RegExp): Promise<void> {
  await page.getByRole('button', { name: 'Send request' }).click();
  // Ids in the response may contain the digits of a status.
  await response(page).locator('.status').getByText(status).waitFor();
}

/** The browser reports each response with an error status; everything else is a fault of the page. */
const faultsIn = (pageErrors: string[]) =>
  pageErrors.filter((text) => !text.includes('the server responded with a status of'));

browserTest(
  'the reference finds a route, sends requests as a visitor and as a user, and shows their responses and code',
  240_000,
  async () => {
    const ada = await person('Ada');
    const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'Helpdesk reference' }).waitFor();
    expect(await page.locator('main').textContent()).toContain('Tickets, customers and <i>invoices</i>.');
    await checkScreens(page, 'console-reference', [360, 1920]);

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.locator('main h1').press('/');
    await page.keyboard.type('post tickets close');
    await expect.poll(() => page.getByRole('navigation', { name: 'Routes' }).getByRole('link').count()).toBe(1);
    await page.getByRole('link', { name: 'Close a ticket' }).click();
    await page.getByRole('heading', { name: 'Close a ticket' }).waitFor();
    expect(page.url()).toBe(`${REFERENCE}/closeTicket?q=post+tickets+close`);
    expect(await page.locator('main').textContent()).toContain('Sends <b>no</b> mail.');
    expect(await page.locator('main').textContent()).toContain('5 requests per minute');

    await page.goto(`${REFERENCE}/createTicket`);
    await page.getByRole('heading', { name: 'Create a ticket' }).waitFor();
    await send(page, /401/);
    expect(await response(page).textContent()).toContain('UNAUTHORIZED');

    await page.getByRole('button', { name: /Choose another caller/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('combobox', { name: 'As a user' }).click();
    await dialog.getByRole('option', { name: 'Ada' }).click();
    await checkScreens(page, 'console-reference-caller', [360, 1280]);
    await dialog.getByRole('button', { name: 'Start session' }).click();
    await page.getByRole('button', { name: 'Send as Ada.' }).waitFor();

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByLabel('subject').fill('The printer prints "only" in pink');
    await page.getByText('optional fields').click();
    await page.getByLabel('status', { exact: true }).selectOption('open');
    await page.getByLabel('priority').fill('nine');
    await page.getByLabel('answers').fill('["One", "Two"]');
    await send(page, /422/);
    expect(await response(page).textContent()).toContain('priority');
    await page.getByLabel('priority').fill('4');
    await page.getByText('Headers', { exact: true }).last().click();
    await page.getByRole('button', { name: 'Generate' }).click();
    await send(page, /201/);
    await page.getByRole('button', { name: 'Send request' }).click();
    await response(page)
      .getByRole('button', { name: /Headers/ })
      .click();
    await expect.poll(() => response(page).textContent()).toContain('idempotency-replayed');
    await response(page).getByRole('button', { name: 'JSON' }).click();
    expect((await app.service('ticket').list()).data).toHaveLength(1);
    expect(await response(page).textContent()).toContain(ada.id);
    const [stored] = (await app.service('ticket').list()).data;
    expect(stored).toMatchObject({ status: 'open', priority: 4, answers: ['One', 'Two'], author: ada.id });

    await page.getByRole('button', { name: 'Typed client' }).click();
    expect(await code(page).textContent()).toContain('client.tickets.create({');
    await page.getByRole('button', { name: 'curl' }).click();
    expect(await code(page).textContent()).not.toContain('svc_');
    await page.getByRole('group', { name: 'View of the body' }).getByRole('button', { name: 'JSON' }).click();
    expect(JSON.parse(await page.getByLabel('Body, as JSON').inputValue())).toMatchObject({ priority: 4 });
    await page.getByLabel('Body, as JSON').fill('{');
    await page.getByRole('button', { name: 'Send request' }).click();
    await page.getByText('The body is not valid JSON:').waitFor();
    await page.getByText('Sent before').click();
    await page.getByRole('button', { name: '422' }).click();
    await expect.poll(() => page.getByLabel('priority').inputValue()).toBe('nine');
    await checkScreens(page, 'console-reference-operation');

    await page.setViewportSize({ width: 1280, height: 900 });
    await page.reload();
    await page.getByRole('button', { name: 'Send as Ada.' }).waitFor();
    await page.getByRole('button', { name: /Choose another caller/ }).click();
    await dialog.getByRole('button', { name: /Visitor/ }).click();
    await page.getByRole('button', { name: 'Send as Visitor.' }).waitFor();
    const sessions = async () => (await ada.call('GET', '/api/auth/sessions')).body.data.length;
    await expect.poll(sessions).toBe(1);
    const history = await page.evaluate(() => sessionStorage.getItem('belfry.console.reference.history'));
    expect(history).not.toContain('svc_');
    expect(faultsIn(pageErrors)).toEqual([]);
  },
);

browserTest('the reference sends files, follows pages, and reads a token that was pasted', 120_000, async () => {
  const bea = await person('Bea', ['user', 'support']);
  for (let index = 0; index < 5; index++)
    await app.service('ticket').create({ subject: `Paged ${index}`, author: bea.id });
  const { page, pageErrors } = await openConsole(browser, `${REFERENCE}/listTickets`);
  await page.getByRole('button', { name: /Choose another caller/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Token', { exact: true }).fill(bea.token);
  await dialog.getByRole('button', { name: 'Use token' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('9 parameters').click();
  await page.getByLabel('limit').fill('2');
  await page.getByText('38 filters').click();
  await page.getByLabel('subject', { exact: true }).fill('Paged 3');
  await send(page, /200/);
  expect(await response(page).textContent()).toContain('Paged 3');
  await page.getByLabel('subject', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Typed client' }).click();
  expect(await code(page).textContent()).toContain('client.tickets.list({ limit: 2 })');
  await send(page, /200/);
  await page.getByRole('button', { name: 'Next page' }).click();
  await expect.poll(() => code(page).textContent()).toContain('after:');
  await response(page)
    .getByRole('button', { name: /Headers/ })
    .click();
  expect(await response(page).textContent()).toContain('x-request-id');

  await page.goto(`${REFERENCE}/createTicket`);
  await page.getByLabel('Format').selectOption('multipart/form-data');
  await page.getByLabel('subject').fill('With a picture');
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  await page.getByLabel('cover').setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: png });
  await send(page, /201/);
  expect(await response(page).textContent()).toContain('dot.png');
  await page.goto(`${REFERENCE}/noSuchOperation`);
  await page.getByRole('heading', { name: 'There is no operation “noSuchOperation”' }).waitFor();
  expect(faultsIn(pageErrors)).toEqual([]);
});

browserTest('the map shows resources with their references, by mouse, keyboard, and as a list', 240_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${REFERENCE}/map/resources`);
  const frame = page.getByRole('group', { name: /Drawing of the map/ });
  await frame.waitFor();
  await checkScreens(page, 'console-reference-map');

  await page.setViewportSize({ width: 1280, height: 900 });
  await page.locator('.reference-box', { hasText: /^contract/ }).click();
  const details = page.getByRole('complementary', { name: 'Resource contract' });
  await details.waitFor();
  expect(page.url()).toContain('resource=contract');
  expect(await details.textContent()).toContain('customer + -startsAt');
  expect(await details.textContent()).toContain('Users with the role billing');
  await details.getByRole('link', { name: 'invoice' }).click();
  await page.getByRole('complementary', { name: 'Resource invoice' }).waitFor();
  await page.goBack();
  await details.waitFor();
  await checkScreens(page, 'console-reference-map-resource', [390, 1280]);

  await page.setViewportSize({ width: 1280, height: 900 });
  await details.getByRole('button', { name: 'Close the details' }).click();
  await details.waitFor({ state: 'detached' });
  // The page learns of a new size in the next frame.
  const untilSized = () =>
    page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  await untilSized();
  const placed = () => frame.locator('svg > g').getAttribute('transform');
  const before = await placed();
  await frame.focus();
  await page.keyboard.press('+');
  await page.keyboard.press('ArrowLeft');
  await expect.poll(placed).not.toBe(before);
  await page.keyboard.press('0');
  await expect.poll(placed).toBe(before);
  await page.locator('main h1').press('/');
  await page.keyboard.type('monthlyPrice');
  const list = page.getByRole('navigation', { name: 'Resources' });
  await expect.poll(() => list.getByRole('button').count()).toBe(1);

  await page.setViewportSize({ width: 390, height: 900 });
  await untilSized();
  await list.getByRole('button', { name: /^Contract/ }).press('Enter');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Contract');
  await page.keyboard.press('Escape');
  await expect.poll(() => page.evaluate('document.activeElement.dataset.resource')).toBe('contract');
  await page.setViewportSize({ width: 1280, height: 900 });

  await page.goto(`${REFERENCE}/map/access?viewer=support`);
  const row = page.getByRole('row', { name: /^Customer/ });
  await row.waitFor();
  expect(
    (await row.getByRole('cell').allTextContents()).map((text) =>
      text.replace(/^(list|read|create|update|delete|Other routes)/, '').trim(),
    ),
  ).toEqual(['Customer', 'Yes', 'Yes', 'Yes', 'No', 'No', '–']);
  await checkScreens(page, 'console-reference-access');
  expect(pageErrors).toEqual([]);
});

browserTest('in production, requests use the session of the console, and a deletion asks first', 120_000, async () => {
  const production = await startReferenceApp('production');
  const admin = await production.person('Root', ['user', 'admin']);
  const { data } = (await admin.call('POST', '/api/tickets', { subject: 'Kept' })).body;
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  await page.addInitScript((token) => sessionStorage.setItem('belfry.token', token), admin.token);
  await page.goto(`${production.url}/console/reference/deleteTicket`);
  await page.getByRole('heading', { name: 'Delete a ticket' }).waitFor();
  await page.getByText('Takes effect in production.').waitFor();
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByText('Is required').waitFor();
  await page.getByLabel('id', { exact: true }).fill(data.id);
  await page.getByRole('button', { name: 'Send request' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete a ticket?' });
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await admin.call('GET', `/api/tickets/${data.id}`)).status).toBe(200);
  await page.getByRole('button', { name: 'Send request' }).click();
  await dialog.getByRole('button', { name: 'Send request' }).click();
  await response(page).locator('.status').getByText(/204/).waitFor();
  expect((await admin.call('GET', `/api/tickets/${data.id}`)).status).toBe(404);
  await page.getByRole('button', { name: /Choose another caller/ }).click();
  const callers = page.getByRole('dialog', { name: 'Send requests as' });
  await callers.getByLabel('E-mail address').fill(admin.email);
  expect(await callers.getByText('As a user').count()).toBe(0);
  await callers.getByLabel('Password').fill('wrong password');
  await callers.getByRole('button', { name: 'Sign in' }).click();
  await page
    .getByText(/incorrect|wrong|invalid/i)
    .first()
    .waitFor();
  await callers.getByLabel('Password').fill('correct horse battery');
  await callers.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Send as Root.' }).waitFor();
  await page.close();
});
