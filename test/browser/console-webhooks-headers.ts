// The tests of headers in the console, in the file of the tab's tests, because they use its app.
import type { Browser } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole } from './console-app.ts';
import { receiver, webhookApp } from './console-webhooks-app.ts';
import { checkScreens } from './screens.ts';

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const KEY = 'key-3f1c9b6a20d84e57';
const MASK = '••••4e57';

browserTest('an administrator sees masked headers in the console and changes them', 240_000, async () => {
  const { url, person } = webhookApp;
  const grace = await person('Grace');
  const body = {
    url: receiver.url,
    events: ['order.*'],
    headers: { 'X-Api-Key': KEY, Authorization: `Bearer ${KEY}` },
  };
  const { data } = (await grace.call('POST', '/api/webhooks', body)).body;
  const home = `${url}/console/webhooks/endpoints/${data.id}`;
  const { page, pageErrors } = await openConsole(browser, home);
  await page.getByText(`X-Api-Key: ${MASK}`).waitFor();
  await checkScreens(page, 'console-webhooks-endpoint-headers', [390, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.getByLabel('URL').fill('http://127.0.0.1:9/');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Send the values of these headers again, or remove them/).waitFor();
  await checkScreens(page, 'console-webhooks-headers', [390, 1280]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole('button', { name: 'Remove header Authorization' }).click();
  await page.getByLabel('Value of header X-Api-Key').fill('short');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('X-Api-Key: ••••', { exact: true }).waitFor();
  const read = await grace.call('GET', `/api/webhooks/${data.id}`);
  expect(read.body.data).toMatchObject({ url: 'http://127.0.0.1:9/', headers: { 'X-Api-Key': '••••' } });
  expect(await page.content()).not.toContain(KEY);
  expect(pageErrors.filter((text) => !text.includes('422'))).toEqual([]);
});
