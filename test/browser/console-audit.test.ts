import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, startConsoleApp } from './console-app.ts';
import { checkScreens } from './screens.ts';

const { url, person } = await startConsoleApp();
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'the audit tab lists entries with their changes, filters them in the address, and verifies the chain',
  120_000,
  async () => {
    const ada = await person('Ada');
    const { body } = await ada.call('POST', '/api/articles', { title: 'First' });
    await ada.call('PATCH', `/api/articles/${body.data.id}`, { title: 'Second' });
    const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);

    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('heading', { name: 'Audit trail' }).waitFor();
    await expect.poll(() => page.locator('.audit-entries').textContent()).toContain('First → Second');
    await expect.poll(() => page.locator('.audit-entries').textContent()).toContain('by Ada');

    const changed = page.locator('.audit-entries li', { hasText: 'First → Second' });
    await expect.poll(() => changed.locator('.audit-head').textContent()).toMatch(/^Changed Article Second by Ada\s/);
    const registered = page.locator('.audit-head', { hasText: 'Registered' });
    expect(await registered.textContent()).toMatch(/^Registered\s+by Ada\s/);
    await changed.getByText('Details').click();
    await changed.getByText('updated', { exact: true }).waitFor();
    await changed.getByText(ada.id, { exact: true }).waitFor();
    await checkScreens(page, 'console-audit-details', [360, 1280]);

    await page.reload();
    await page.getByLabel('Action').selectOption('Changed');
    await expect.poll(() => page.locator('.audit-entries li').count()).toBe(1);
    expect(page.url()).toContain('action=updated');
    await page.getByLabel('Kind of record').selectOption('Article');
    await expect.poll(() => page.url()).toContain('resource=article');
    await expect.poll(() => page.locator('.audit-entries li').count()).toBe(1);

    await page.reload();
    await expect.poll(() => page.locator('.audit-entries li').count()).toBe(1);
    await page.getByRole('button', { name: 'Verify the chain' }).click();
    await page.getByText(/\d+ entries are intact/).waitFor();
    await checkScreens(page, 'console-audit');
    expect(pageErrors).toEqual([]);
  },
);
