import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, defineUser } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';

const opened: unknown[] = [];
const { app, url, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [adminConsole()],
    listeners: (app) => app.on('push.opened', (event) => opened.push(event)),
  },
  { roles: 'all' },
);
const simulated = app.simulated!;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200">
  <rect width="300" height="200" fill="#9cc4e4"/><circle cx="220" cy="60" r="26" fill="#f7d774"/>
  <path d="M0 200 90 80l60 70 40-40 110 90z" fill="#4d7c5a"/></svg>`;

/** The images of notifications come from the test. */
const servePictures = (page: Page) =>
  page.route('https://pictures.example.com/*', (route) =>
    route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }),
  );

/** Opens the simulator, or a page below it. */
const openPush = (below = '') =>
  openConsole(browser, `${url}/console/push${below}`, { width: 1440, height: 1100, prepare: servePictures });
const deviceOf = (page: Page, name: string) => page.getByRole('article', { name });
const section = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Push' }).getByRole('link', { name, exact: true });

browserTest(
  'each device shows notifications live, as its system would; a newer one replaces an older one; the sends list every push',
  60_000,
  async () => {
    const ada = await person('Ada');
    const { page, pageErrors } = await openPush();
    await simulated.create({ user: ada.id, platform: 'ios', name: 'iPhone' });
    await simulated.create({ user: ada.id, platform: 'android', name: 'Pixel' });
    await simulated.create({ user: ada.id, platform: 'web', name: 'Firefox' });
    await simulated.create({ user: ada.id, platform: 'android', name: 'Gone', behavior: 'app-uninstalled' });
    await deviceOf(page, 'Gone').waitFor();

    const group = 'posts';
    await app.push.send({ to: ada.id, title: 'Grace answered you', body: 'Not again.', group, collapseId: 'answer' });
    await deviceOf(page, 'Gone').waitFor({ state: 'detached' });
    await app.push.send({ to: ada.id, title: 'Alan likes your post', body: 'On computable numbers', group, badge: 2 });
    await app.push.send({
      to: ada.id,
      title: 'Grace answered you',
      subtitle: 'On compilers',
      body: 'I had a running compiler and nobody would touch it.',
      image: 'https://pictures.example.com/hills.svg',
      url: '/posts/1',
      badge: 3,
      group,
      collapseId: 'answer',
    });

    const [phone, pixel, firefox] = ['iPhone', 'Pixel', 'Firefox'].map((name) => deviceOf(page, name)) as [
      ReturnType<typeof deviceOf>,
      ReturnType<typeof deviceOf>,
      ReturnType<typeof deviceOf>,
    ];
    await phone.getByText('On compilers').waitFor();
    expect(await phone.getByTitle('badge').textContent()).toBe('3');
    expect(await phone.getByText('1 more in “posts”').isVisible()).toBe(true);
    expect(await phone.getByText('Alan likes your post').isVisible()).toBe(false);
    for (const one of [pixel, firefox]) {
      await one.getByText('I had a running compiler').waitFor();
      expect(await one.locator('.push-notification').count()).toBe(2);
      expect(await one.getByText('On compilers').count()).toBe(0);
      expect(await one.getByText('Not again.').count()).toBe(0);
    }
    // A group that the user has opened stays open when the page is updated.
    await phone.getByText('1 more in “posts”').click();
    await app.push.send({ to: ada.id, title: 'Linus likes your post', group });
    await phone.getByText('2 more in “posts”').waitFor();
    expect(await phone.getByText('Alan likes your post').isVisible()).toBe(true);
    await keepScreenshot(page, 'console-push');

    await section(page, 'Sends').click();
    const sends = page.getByRole('table', { name: 'Sends' }).locator('tbody tr');
    await expect.poll(() => sends.count(), { timeout: 60_000 }).toBe(4);
    await expect.poll(() => sends.nth(1).textContent()).toMatch(/Grace answered you.*Sent.*Ada.*3 of 3/s);
    expect(await sends.nth(3).textContent()).toMatch(/Partial.*3 of 4.*1 failed/s);
    await sends.nth(3).getByRole('link', { name: 'Grace answered you' }).click();
    const results = page.getByRole('list', { name: 'Results by device' });
    await results.getByText('Refused').waitFor();
    await results.getByText('The device is no longer registered').waitFor();
    expect(await results.getByText('DeviceNotRegistered').count()).toBe(2);
    expect(await results.getByText('Accepted by the provider').count()).toBe(0);
    await page.getByRole('button', { name: 'Timeline of Pixel' }).click();
    await results.getByText('Accepted by the provider').waitFor();
    await section(page, 'Removed devices').click();
    await page.getByRole('table', { name: 'Removed devices' }).getByText('DeviceNotRegistered').waitFor();
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'a device that was offline shows its held notifications when it is back online, and they can be tapped',
  60_000,
  async () => {
    const ben = await person('Ben');
    const { id: device } = await simulated.create({ user: ben.id, platform: 'ios', name: 'Phone of Ben' });
    const { page, pageErrors } = await openPush();
    const phone = deviceOf(page, 'Phone of Ben');
    await phone.getByRole('button', { name: 'Go offline' }).click();
    await phone.getByRole('button', { name: 'Go online' }).waitFor();
    const { id } = await app.push.send({ to: ben.id, title: 'Lunch', url: '/lunch' });
    await phone.getByText('1 held until online').waitFor();
    expect(await phone.getByText('Lunch').count()).toBe(0);
    await keepScreenshot(page, 'console-push-offline');

    await phone.getByRole('button', { name: 'Go online' }).click();
    await phone.getByRole('button', { name: 'Lunch' }).click();
    await phone.getByText('opened /lunch').waitFor();
    expect(opened).toMatchObject([{ id, device, user: ben.id, url: '/lunch', simulated: true }]);
    await page.goto(`${url}/console/push/sends/${id}`);
    await page.getByRole('list', { name: 'Results by device' }).getByText('Opened by the user').waitFor();
    await keepScreenshot(page, 'console-push-tapped');
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'the page adds a device, sends to it with all options, and shows why a message is refused',
  60_000,
  async () => {
    await person('Cleo');
    const { page } = await openPush();
    const add = page.getByRole('form', { name: 'Add a device' });
    await add.getByRole('button', { name: 'Add' }).click();
    await add.getByRole('alert').getByText('Choose a user').waitFor();
    await add.getByRole('combobox', { name: 'User', exact: true }).fill('Cleo');
    await add.getByRole('option', { name: 'Cleo' }).click();
    await add.getByLabel('Platform').selectOption('android');
    await add.getByLabel('Name').fill('Tablet');
    await add.getByRole('button', { name: 'Add' }).click();
    const tablet = deviceOf(page, 'Tablet');
    await tablet.waitFor();
    const send = page.getByRole('form', { name: /^Send/ });
    const field = (name: string) => send.getByLabel(name, { exact: true });
    await field('Title').fill('From the page');
    await send.getByText('More options').click();
    await field('Channel (Android)').fill('offers');
    await field('Data (JSON)').fill('{ order: 1 }');
    await send.getByRole('button', { name: 'Send' }).click();
    await send.getByRole('alert').getByText('The data must be JSON').waitFor();
    await field('Data (JSON)').fill('{ "order": 1 }');
    await send.getByRole('button', { name: 'Send' }).click();
    await tablet.getByText('From the page').waitFor();
    await tablet.getByText('Your app • offers').waitFor();
    await field('Image').fill('http://example.com/plain.png');
    await send.getByRole('button', { name: 'Send' }).click();
    await expect.poll(() => field('Image').getAttribute('aria-invalid')).toBe('true');
    await tablet.getByRole('button', { name: 'Remove' }).click();
    await tablet.waitFor({ state: 'detached' });
  },
);

browserTest('a device of any user can be found, tested and removed', 60_000, async () => {
  const dora = await person('Dora');
  await simulated.create({ user: dora.id, platform: 'web', name: 'Browser of Dora' });
  const { page, pageErrors } = await openPush('/devices');
  await page.getByLabel('Platform').selectOption('web');
  await page.getByRole('combobox', { name: 'User' }).fill('Dora');
  await page.getByRole('option', { name: 'Dora' }).click();
  const rows = page.getByRole('table', { name: 'Devices' }).locator('tbody tr');
  await expect.poll(() => rows.count()).toBe(1);
  await page.reload();
  await expect.poll(() => rows.count()).toBe(1);
  await expect.poll(() => page.getByRole('combobox', { name: 'User' }).inputValue()).toBe('Dora');
  await rows.getByRole('link', { name: 'Browser of Dora' }).click();
  await page.getByLabel('Title').fill('Can you hear me?');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('Test: sent').waitFor();
  await page.getByRole('link', { name: 'Can you hear me?' }).waitFor();
  await page.getByText('Accepted by the provider').waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
  await expect.poll(async () => (await simulated.list()).some(({ name }) => name === 'Browser of Dora')).toBe(false);
  expect(pageErrors).toEqual([]);
});
