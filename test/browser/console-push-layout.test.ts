import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, defineUser } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, pressTabUntil } from './console-app.ts';
import { checkScreens } from './screens.ts';

const { app, url, person } = await startTestApp(
  { resources: [defineUser()], extensions: [adminConsole()] },
  { roles: 'all' },
);
const simulated = app.simulated!;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'without users and devices, the simulator names what is missing and disables sending, on every screen',
  120_000,
  async () => {
    const { page, pageErrors } = await openConsole(browser, `${url}/console/push`);
    await page.getByText('There are no devices to send to. Add one first.').waitFor();
    await page.getByText('There are no users yet.').waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Add' }).isDisabled()).toBe(true);
    await checkScreens(page, 'console-push-empty', [360, 1280, 1920]);
    for (const [below, title] of [
      ['sends', 'Nothing has been sent yet'],
      ['devices', 'No devices yet'],
      ['removed', 'No device was removed'],
    ] as const) {
      await page.goto(`${url}/console/push/${below}`);
      await page.getByRole('heading', { name: title }).waitFor();
      await checkScreens(page, `console-push-empty-${below}`, [360]);
    }
    expect(pageErrors).toEqual([]);
  },
);

const LONG = 'W'.repeat(77);
const LONG_NAME = 'Wide'.repeat(16);
const LONGEST = 'Mm'.repeat(125);

browserTest(
  'long titles, bodies, names, groups and addresses fit the pages, and every text is readable, on every screen',
  240_000,
  async () => {
    const ada = await person('Ada');
    await app.service('user').update(ada.id, { name: 'Augusta'.repeat(14) });
    const names = { ios: 'iPhone '.repeat(14).trim(), android: 'Pixel'.repeat(20), web: 'Firefox '.repeat(12).trim() };
    for (const [platform, name] of Object.entries(names))
      await simulated.create({ user: ada.id, platform: platform as keyof typeof names, name });
    const { id: gone } = await simulated.create({ user: ada.id, name: 'Phone that was sold' });
    await simulated.create({ user: ada.id, platform: 'android', name: 'In a tunnel', behavior: 'offline' });
    await simulated.create({ user: ada.id, platform: 'android', name: 'Busy', behavior: 'rate-limited' });
    await ada.call('POST', '/api/auth/devices', { platform: 'android', token: 'r'.repeat(300), name: 'Real phone' });
    for (let i = 0; i < 20; i++)
      await app.push.send({
        to: ada.id,
        title: `Order no. ${1000 + i} is on its way`,
        body: 'It arrives tomorrow.',
      });
    await app.push.send({ to: ada.id, title: LONG, group: LONG_NAME });
    const { id } = await app.push.send({
      to: ada.id,
      title: LONGEST,
      subtitle: LONGEST,
      body: LONGEST.repeat(3),
      url: `https://example.com/${LONGEST}`,
      image: 'https://pictures.invalid/none.png',
      channel: LONG_NAME,
      group: LONG_NAME,
      badge: 100_000,
    });
    await simulated.remove(gone);
    const { notifications } = (await simulated.list()).find(({ platform }) => platform === 'ios')!;
    await simulated.tap(notifications[0]!.id);
    const { page } = await openConsole(browser, `${url}/console/push`);
    await page.getByText('Send to all 5 devices').waitFor();
    await page.locator('.push-broken').first().waitFor();
    await page.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`);
    await page.getByLabel('Image').fill(LONGEST);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[aria-invalid="true"]').first().waitFor();
    await checkScreens(page, 'console-push-long', [360, 1280, 1920]);
    expect(await page.evaluate(`getComputedStyle(document.body).colorScheme`)).toBe('light dark');
    await page.goto(`${url}/console/push/sends/${id}`);
    await page.getByRole('list', { name: 'Results by device' }).getByText('no transport').first().waitFor();
    await checkScreens(page, 'console-push-send', [360, 1280]);
    for (const [below, table] of [
      ['sends', 'Sends'],
      ['devices', 'Devices'],
    ] as const) {
      await page.goto(`${url}/console/push/${below}`);
      await page.getByRole('table', { name: table }).waitFor();
      await checkScreens(page, `console-push-${below}`, [360, 1280]);
    }
    await page.getByRole('link', { name: 'Busy' }).click();
    await page.getByRole('heading', { name: 'Newest pushes' }).waitFor();
    await checkScreens(page, 'console-push-device', [360, 1280]);
  },
);

browserTest('the results of a push show a removed device by its name, or by its token and owner', 60_000, async () => {
  const ben = await person('Ben');
  const named = await simulated.create({ user: ben.id, name: 'Old phone' });
  const unnamed = await simulated.create({ user: ben.id, platform: 'android' });
  const token = 'a-real-token-0123456789';
  const real = await ben.call('POST', '/api/auth/devices', { token, platform: 'android', name: 'Real tablet' });
  const { id } = await app.push.send({ to: ben.id, title: 'Farewell' });
  await simulated.remove(named.id);
  await simulated.remove(unnamed.id);
  expect((await ben.call('DELETE', `/api/auth/devices/${real.body.data.id}`)).status).toBe(204);
  const { page } = await openConsole(browser, `${url}/console/push/sends/${id}`);
  const results = page.getByRole('list', { name: 'Results by device' });
  await results.getByText('Old phone').waitFor();
  await results.getByRole('link', { name: 'Ben' }).first().waitFor();
  const shown = await results.locator('.push-device').allTextContents();
  expect(shown.sort()).toEqual(['Old phone', 'Real tablet', expect.stringMatching(/^si.*…/)]);
  expect(await results.getByRole('link', { name: 'Ben' }).count()).toBe(3);
});

browserTest(
  'every element that can be reached by keyboard has a visible focus, in light and in dark mode',
  120_000,
  async () => {
    const cleo = await person('Cleo');
    await simulated.create({ user: cleo.id, platform: 'ios', name: 'Phone of Cleo' });
    await app.push.send({ to: cleo.id, title: 'Screen' });
    const { page } = await openConsole(browser, `${url}/console/push`);
    const phone = page.getByRole('article', { name: 'Phone of Cleo' });
    await phone.getByRole('button', { name: 'Screen' }).waitFor();
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      const isLast = `document.activeElement === [...document.querySelectorAll('.push-phone button')].at(-1)`;
      const seen = await pressTabUntil(page, isLast);
      expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
      expect(new Set(seen.map(({ tag }) => tag))).toEqual(
        new Set(['A', 'BUTTON', 'INPUT', 'SELECT', 'SUMMARY', 'TEXTAREA']),
      );
    }
  },
);
