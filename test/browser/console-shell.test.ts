import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { adminConsole, defineUser } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { checkScreens } from './screens.ts';

const { url } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      adminConsole({
        title: 'Shop office',
        logo: '/brand/logo.svg',
        colors: { accent: '#7c3aed', dark: { accent: '#c4b5fd' } },
      }),
    ],
  },
  { roles: 'all' },
);
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><path fill="#7c3aed" d="M0 0h90v30H0z"/></svg>';
const serveLogo = (page: Page) =>
  page.route('**/brand/logo.svg', (route) => route.fulfill({ contentType: 'image/svg+xml', body: LOGO }));

browserTest('the console has the name, logo and colours of the settings', 60_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console/jobs`, { prepare: serveLogo });
  await page.getByRole('link', { name: 'Shop office' }).waitFor();
  await expect.poll(() => page.title()).toBe('Jobs · Shop office');
  await expect.poll(() => page.evaluate(`document.querySelector('.brand img').naturalWidth`)).toBe(90);
  const readAccent = () => page.evaluate(`getComputedStyle(document.querySelector('.tab-links [aria-current]')).color`);
  await page.emulateMedia({ colorScheme: 'light' });
  expect(await readAccent()).toBe('rgb(124, 58, 237)');
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await readAccent()).toBe('rgb(196, 181, 253)');
  await checkScreens(page, 'console-shell-brand', [390, 1280]);
  expect(pageErrors).toEqual([]);
});

browserTest('the overview of an app without resources shows how to declare one', 60_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console`, { prepare: serveLogo });
  await page.getByRole('heading', { name: 'This app declares no resources yet' }).waitFor();
  await page.getByText("defineResource('post'").waitFor();
  await page.locator('.resource-card .count').waitFor();
  await checkScreens(page, 'console-shell-overview', [390, 1280]);
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  await page.getByRole('link', { name: 'Shop office' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(pageErrors).toEqual([]);
});

/** Opens the console, and lets the next request for the script of the jobs tab fail. */
async function openWithFailingTab(fail: 'missing' | 'offline') {
  const { page } = await openConsole(browser, `${url}/console/audit`, { prepare: serveLogo });
  const { data } = (await (await fetch(`${url}/console/api/app`)).json()) as {
    data: { tabs: { id: string; page?: { entry: string } }[] };
  };
  const { entry } = data.tabs.find(({ id }) => id === 'jobs')!.page!;
  await page.route(`**${entry}`, (route) =>
    fail === 'missing' ? route.fulfill({ status: 404 }) : route.abort('connectionreset'),
  );
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: 'Jobs' }).click();
  return { page, repair: () => page.unroute(`**${entry}`) };
}

browserTest(
  'after a deployment, a tab that cannot be loaded says that the console has been updated',
  60_000,
  async () => {
    const { page, repair } = await openWithFailingTab('missing');
    await page.getByRole('heading', { name: 'This console has been updated' }).waitFor();
    await checkScreens(page, 'console-shell-updated', [390, 1280]);
    await repair();
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  },
);

browserTest('a tab that cannot be loaded for another reason can be tried again', 60_000, async () => {
  const { page, repair } = await openWithFailingTab('offline');
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor();
  await repair();
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
});

browserTest('a dialog that a menu has opened returns the focus to the button of the menu', 60_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${url}/console/data/user`, { prepare: serveLogo });
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('More');
  expect(pageErrors).toEqual([]);
});
