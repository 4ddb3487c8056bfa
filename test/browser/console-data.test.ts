import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, startBrowser } from './browser.ts';
import { checkScreens, openConsole, startConsoleApp } from './console-app.ts';

const { app, url, person } = await startConsoleApp();
const articles = app.service('article');
const DATA = `${url}/console/data`;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

const ada = await person('Ada');
const space = await app.service('topic').create({ name: 'Space' });
for (let i = 1; i <= 60; i++) {
  await articles.create({
    title: `Article number ${i}`,
    status: (['draft', 'review', 'published'] as const)[i % 3],
    views: i * 17,
    topic: i % 2 ? space.id : undefined,
    author: ada.id,
    featured: i % 2 === 0,
    price: '19.90',
    contact: 'press@example.com',
    tags: ['bell', 'tower'],
  });
}

browserTest('the list shows records, and fits every screen', 180_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${DATA}/article`);
  await page.getByRole('link', { name: 'Open Article number 60' }).waitFor();
  await checkScreens(page, 'list');
  expect(pageErrors).toEqual([]);
});

browserTest('a record can be edited, and fits every screen', 180_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${DATA}/article`);
  await page.getByRole('link', { name: 'Open Article number 60' }).click();
  await page.getByRole('heading', { name: 'Article number 60' }).waitFor();
  await checkScreens(page, 'record');
  expect(pageErrors).toEqual([]);
});
