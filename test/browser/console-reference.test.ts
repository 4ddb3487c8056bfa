import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { startReferenceApp } from './console-reference-app.ts';

const { url, app, person } = await startReferenceApp();
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

browserTest('look', 120_000, async () => {
  await person('Ada');
  for (let i = 0; i < 40; i++)
    await app
      .service('ticket')
      .create({ subject: `Ticket ${i} about a printer that does not print`, place: { street: 'Main' } });
  const { page, pageErrors } = await openConsole(browser, `${url}/console/reference`);
  const shots = [
    '',
    '/createTicket',
    '/listTickets',
    '/closeTicket',
    '/map/resources',
    '/map/resources?resource=ticket',
    '/map/access',
    '/map/access?viewer=support',
  ];
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
    [1920, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    for (const [i, shot] of shots.entries()) {
      await page.goto(`${url}/console/reference${shot}`);
      await page.locator('main h1').waitFor();
      await page.waitForTimeout(700);
      await keepScreenshot(page, `ref-${width}-${i}`);
    }
  }
  expect(pageErrors).toEqual([]);
});
