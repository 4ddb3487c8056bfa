import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { defineUser, developerConsole } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';
import { expectReadable } from './readable.ts';

const { app, url, person } = await startTestApp({ resources: [defineUser()], extensions: [developerConsole()] });
const simulated = app.simulated!;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

const SCREENS = [360, 1280, 1920].flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })));

type Screen = (typeof SCREENS)[number];

async function setScreen(page: Page, { width, scheme }: Screen): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme });
}

async function openConsole(screen: Screen): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await setScreen(page, screen);
  await page.goto(`${url}/console/push`);
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}

browserTest(
  'without users and devices, the console names what is missing and disables sending, on every screen',
  120_000,
  async () => {
    const page = await openConsole(SCREENS[0]!);
    for (const screen of SCREENS) {
      await setScreen(page, screen);
      await page.getByText('There are no devices to send to. Add one first.').waitFor();
      await page.getByText('There are no users yet.').waitFor();
      expect(await page.locator('#send').getByRole('button').isDisabled()).toBe(true);
      expect(await page.locator('#add').getByRole('button').isDisabled()).toBe(true);
      await expectReadable(page);
      await keepScreenshot(page, `console-empty-${screen.width}-${screen.scheme}`);
    }
  },
);

const LONG = 'W'.repeat(77);
const LONG_NAME = 'Wide'.repeat(16);
const LONGEST = 'Mm'.repeat(125);

browserTest(
  'long titles, bodies, names, groups and addresses fit the page, and every text is readable, on every screen',
  180_000,
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
    await app.push.send({ to: ada.id, title: LONG, group: LONG_NAME });
    await app.push.send({
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

    const page = await openConsole(SCREENS[0]!);
    await page.locator('#sends > li').nth(1).waitFor();
    await page.getByText('Send to all 5 devices').waitFor();
    await page.evaluate(`(() => {
      for (const one of document.querySelectorAll('details')) one.open = true;
      const fault = document.getElementById('error');
      fault.textContent = '${LONGEST}';
      fault.hidden = false;
    })()`);
    for (const screen of SCREENS) {
      await setScreen(page, screen);
      await expectReadable(page);
      expect(await page.evaluate(`getComputedStyle(document.body).colorScheme`)).toBe('light dark');
      const paper = await page.evaluate(`getComputedStyle(document.documentElement).backgroundColor`);
      expect(paper).toBe(screen.scheme === 'dark' ? 'rgb(20, 23, 29)' : 'rgb(245, 246, 249)');
      await keepScreenshot(page, `console-long-${screen.width}-${screen.scheme}`);
    }
  },
);

browserTest('the history shows a removed device by its name, or by its owner if it had no name', 60_000, async () => {
  const ben = await person('Ben');
  const named = await simulated.create({ user: ben.id, name: 'Old phone' });
  const unnamed = await simulated.create({ user: ben.id, platform: 'android' });
  const token = 'a-real-token-0123456789';
  const real = await ben.call('POST', '/api/auth/devices', { token, platform: 'android', name: 'Real tablet' });
  await app.push.send({ to: ben.id, title: 'Farewell' });
  await simulated.remove(named.id);
  await simulated.remove(unnamed.id);
  expect((await ben.call('DELETE', `/api/auth/devices/${real.body.data.id}`)).status).toBe(204);
  const page = await openConsole({ width: 1280, scheme: 'light' });
  const send = page.locator('#sends > li', { hasText: 'Farewell' });
  await send.waitFor();
  const shown = await send.locator('.name').allTextContents();
  expect(shown.sort()).toEqual([`Ben (${ben.email})`, 'Old phone', 'Real tablet']);
});

browserTest(
  'every element that can be reached by keyboard has a visible focus, in light and in dark mode',
  120_000,
  async () => {
    const cleo = await person('Cleo');
    await simulated.create({ user: cleo.id, platform: 'ios', name: 'Phone of Cleo' });
    await app.push.send({ to: cleo.id, title: 'Screen' });
    for (const scheme of ['light', 'dark'] as const) {
      const page = await openConsole({ width: 1280, scheme });
      await page.getByRole('article', { name: 'Phone of Cleo' }).getByRole('button', { name: 'Screen' }).waitFor();
      const reached = async () => {
        await page.keyboard.press('Tab');
        return (await page.evaluate(`(() => {
        const one = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        const isLast = one === [...document.querySelectorAll('#sends summary')].at(-1);
        return { tag: one.tagName, isOutlined: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2, isLast };
      })()`)) as { tag: string; isOutlined: boolean; isLast: boolean };
      };
      const seen = [];
      do seen.push(await reached());
      while (!seen.at(-1)!.isLast && seen.length < 200);
      expect(seen.at(-1)!.isLast).toBe(true);
      expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
    }
  },
);
