// The API reference at /api/docs in a browser.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { apiKeys, defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, keepScreenshot, startBrowser } from './browser.ts';

const { url } = await startTestApp(
  {
    resources: [
      defineUser(),
      defineResource('post', { fields: { title: f.string() }, policies: { list: 'public', create: 'authenticated' } }),
    ],
    extensions: [apiKeys()],
  },
  { roles: 'all' },
);
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

browserTest(
  'the API reference shows a lock only on protected operations, and the lock is open until a token is entered',
  60_000,
  async () => {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    await page.goto(`${url}/api/docs`);
    const lockOf = (id: string) => page.locator(`#operations-post-${id} .authorization__btn`);
    await page.locator('#operations-post-listPosts').waitFor();
    expect(await lockOf('listPosts').count()).toBe(0);
    expect(await lockOf('createPost').count()).toBe(1);
    expect(await lockOf('createPost').getAttribute('aria-label')).toBe('authorization button unlocked');
    await keepScreenshot(page, 'reference-locks');
    await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
    await page.getByLabel(/value/i).first().fill('svc_x');
    await page
      .locator('.auth-container')
      .first()
      .getByRole('button', { name: /authorize|apply/i })
      .click();
    await page.getByRole('button', { name: 'Close', exact: true }).first().click();
    expect(await lockOf('createPost').getAttribute('aria-label')).toBe('authorization button locked');
    expect(await lockOf('listPosts').count()).toBe(0);
  },
);
