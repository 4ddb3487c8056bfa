import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { defineUser, developerConsole } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';

const opened: unknown[] = [];
const { app, url, person } = await startTestApp({
  resources: [defineUser()],
  extensions: [developerConsole()],
  listeners: (app) => app.on('push.opened', (event) => opened.push(event)),
});
const simulated = app.simulated!;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200">
  <rect width="300" height="200" fill="#9cc4e4"/><circle cx="220" cy="60" r="26" fill="#f7d774"/>
  <path d="M0 200 90 80l60 70 40-40 110 90z" fill="#4d7c5a"/></svg>`;

/** Opens the console. Also returns the errors of the page; the browser logs violations of its content security policy there. */
async function openConsole(): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 1100 } });
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) pageErrors.push(message.text());
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await page.route('https://pictures.example.com/*', (route) =>
    route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }),
  );
  await page.goto(`${url}/console/push`);
  await page.getByText('Live', { exact: true }).waitFor();
  return { page, pageErrors };
}
const deviceOf = (page: Page, name: string) => page.getByRole('article', { name });

browserTest(
  'each device shows notifications live, as its system would; a newer one replaces an older one; the history lists every push',
  60_000,
  async () => {
    const ada = await person('Ada');
    const { page, pageErrors } = await openConsole();
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

    // The page shows one state at a time: when it shows the last result, it has all earlier ones.
    const sends = page.locator('#sends > li');
    await expect
      .poll(() => sends.first().textContent(), { timeout: 60_000 })
      .toMatch(/sent.*Grace answered you.*3 of 3/s);
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
      expect(await one.locator('.notification').count()).toBe(2);
      expect(await one.getByText('On compilers').count()).toBe(0);
      expect(await one.getByText('Not again.').count()).toBe(0);
    }
    expect(await sends.count()).toBe(3);
    expect(await sends.nth(2).textContent()).toMatch(/partial.*3 of 4.*DeviceNotRegistered/s);
    await sends.nth(2).locator('summary').first().click();
    await keepScreenshot(page, 'console');
    expect(pageErrors).toEqual([]);
    await page.close();
  },
);

browserTest(
  'a device that was offline shows its held notifications when it is back online, and they can be tapped',
  60_000,
  async () => {
    const ben = await person('Ben');
    const { id: device } = await simulated.create({ user: ben.id, platform: 'ios', name: 'Phone of Ben' });
    const { page, pageErrors } = await openConsole();
    const phone = deviceOf(page, 'Phone of Ben');
    await phone.getByRole('button', { name: 'Go offline' }).click();
    await phone.getByRole('button', { name: 'Go online' }).waitFor();
    const { id } = await app.push.send({ to: ben.id, title: 'Lunch', url: '/lunch' });
    await phone.getByText('1 held until online').waitFor();
    expect(await phone.getByText('Lunch').count()).toBe(0);
    await keepScreenshot(page, 'console-offline');

    await phone.getByRole('button', { name: 'Go online' }).click();
    await phone.getByRole('button', { name: 'Lunch' }).click();
    await phone.getByText('opened /lunch').waitFor();
    expect(opened).toMatchObject([{ id, device, user: ben.id, url: '/lunch', simulated: true }]);
    await page.locator('#sends > li').first().getByText('opened').first().waitFor();
    await keepScreenshot(page, 'console-tapped');
    expect(pageErrors).toEqual([]);
    await page.close();
  },
);

browserTest('the page adds a device, sends to it, and shows why a message is refused', 60_000, async () => {
  await person('Cleo');
  const { page } = await openConsole();
  const form = page.locator('#add');
  const cleo = form.locator('option', { hasText: 'Cleo' });
  await cleo.waitFor({ state: 'attached' });
  await form.locator('[name=user]').selectOption((await cleo.getAttribute('value'))!);
  await form.getByLabel('Name').fill('Tablet');
  await form.getByRole('button').click();
  const tablet = deviceOf(page, 'Tablet');
  await tablet.waitFor();
  await page.locator('#send').getByLabel('Title', { exact: true }).fill('From the page');
  await page.locator('#send').getByRole('button').click();
  await tablet.getByText('From the page').waitFor();
  await page.locator('#send').getByLabel('Image').fill('http://example.com/plain.png');
  await page.locator('#send').getByRole('button').click();
  await page.getByRole('alert').filter({ hasText: 'image' }).waitFor();
  await tablet.getByRole('button', { name: 'Remove' }).click();
  await tablet.waitFor({ state: 'detached' });
  await page.close();
});
