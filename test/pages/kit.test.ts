import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { browserTest, closePages, startBrowser } from '../browser/browser.ts';
import { checkScreens } from '../browser/screens.ts';

const bundle = build({
  entryPoints: [`${import.meta.dirname}/../../packages/pages/test/kit-page.tsx`],
  outdir: '/',
  bundle: true,
  write: false,
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
}).then(({ outputFiles }) => Object.fromEntries(outputFiles.map(({ path, text }) => [path, text])));

const HTML = `<!doctype html><html lang="en"><title>Kit</title><meta name="viewport" content="width=device-width">
  <link rel="icon" href="data:,"><link rel="stylesheet" href="/kit-page.css"><div id="app"></div>
  <script type="module" src="/kit-page.js"></script>`;
const TYPES: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css' };

const site = createServer(async (req, res) => {
  const file = (await bundle)[req.url!];
  res.writeHead(200, { 'Content-Type': file === undefined ? 'text/html' : TYPES[/\.\w+$/.exec(req.url!)![0]]! });
  res.end(file ?? HTML);
}).listen(0, '127.0.0.1');
await once(site, 'listening');
afterAll(() => site.close());

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

/** Opens the page. Copied texts are in `copied`. @param hasClipboard false as in a frame without access */
async function openKit({ hasClipboard = true } = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
  onTestFinished(() => page.close());
  await page.addInitScript(`navigator.clipboard.writeText = async (text) => {
    if (!${hasClipboard}) throw new DOMException('Blocked', 'NotAllowedError');
    window.copied = text;
  }`);
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  await page.getByRole('heading', { name: 'Kit', level: 1 }).waitFor();
  return page;
}

/** The name or text of the element with the focus. */
const focused = (page: Page) =>
  page.evaluate<string>(`(() => {
    const one = document.activeElement;
    return one.labels?.[0]?.textContent.trim() || one.getAttribute('aria-label') || one.textContent.trim();
  })()`);
const untilFocused = (page: Page, name: string) => expect.poll(() => focused(page)).toBe(name);
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

browserTest('a dialog begins at its first input, keeps the focus, and returns it', 30_000, async () => {
  const page = await openKit();
  await button(page, 'Change the name').click();
  await untilFocused(page, 'New name');
  const dialog = page.getByRole('dialog', { name: 'Name' });
  const isInside = () => page.evaluate(`document.activeElement.closest('dialog, body').matches('dialog')`);
  // After its last control, a modal dialog may lend the focus to the browser, but never to the page behind it.
  for (let step = 0; step < 6; step++) {
    await page.keyboard.press('Tab');
    expect((await isInside()) || (await page.evaluate('document.activeElement === document.body'))).toBe(true);
  }
  await dialog.getByLabel('New name').fill('Ada');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => page.locator('#result').textContent()).toBe('name: Ada');
  await untilFocused(page, 'Change the name');

  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => page.locator('#result').textContent()).toBe('name: undefined');
  await untilFocused(page, 'Change the name');
});

browserTest('a question begins at the button that cancels', 30_000, async () => {
  const page = await openKit();
  await button(page, 'Delete it').click();
  await untilFocused(page, 'Cancel');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('#result').textContent()).toBe('confirmed: false');
  await button(page, 'Delete it').click();
  await button(page, 'Delete').click();
  await expect.poll(() => page.locator('#result').textContent()).toBe('confirmed: true');
});

browserTest(
  'the errors of a form are connected to their fields, and the first of these gets the focus',
  30_000,
  async () => {
    const page = await openKit();
    await page.locator('form').getByRole('button', { name: 'Send' }).click();
    await untilFocused(page, 'City');
    /** What a screen reader says of a field: whether it is invalid, and its description. */
    const describe = (id: string) =>
      page.evaluate<[string | null, string]>(`(() => {
      const control = document.getElementById('${id}');
      const texts = control.getAttribute('aria-describedby').split(' ').map((each) => document.getElementById(each).textContent);
      return [control.getAttribute('aria-invalid'), texts.filter((text) => text !== '').join(' | ')];
    })()`);
    expect(await describe('test-name')).toEqual([null, '']);
    expect(await describe('test-city')).toEqual(['true', 'must be a city | Where you live']);
    expect(await describe('test-place')).toEqual(['true', 'place.street: is missing']);
  },
);

browserTest('an action is performed only after its confirmation, which Escape takes back', 30_000, async () => {
  const page = await openKit();
  await button(page, 'Rotate the secret').click();
  await untilFocused(page, 'Rotate');
  await page.getByText('The former secret stops working.').waitFor();
  await page.keyboard.press('Escape');
  await untilFocused(page, 'Rotate the secret');
  await page.getByText('Confirmed: 0').waitFor();
  await page.keyboard.press('Enter');
  await button(page, 'Rotate').click();
  await page.getByText('Confirmed: 1').waitFor();
  await untilFocused(page, 'Rotate the secret');
});

browserTest('a text is copied, or selected where the clipboard is blocked', 30_000, async () => {
  const page = await openKit();
  await button(page, 'Copy secret').click();
  await page.getByRole('status').getByText('Copied').waitFor();
  expect(await page.evaluate('copied')).toBe('whsec_123');

  const frame = await openKit({ hasClipboard: false });
  await button(frame, 'Copy example').click();
  await frame.getByRole('status').getByText('Selected: press Ctrl+C or ⌘C').waitFor();
  expect(await frame.evaluate('getSelection().toString()')).toBe('first line\nsecond line');
});

browserTest('messages are announced, errors stay with their details, and an action can be undone', 30_000, async () => {
  const page = await openKit();
  const toasts = page.locator('.toasts[role="status"][aria-live="polite"]');
  await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Save' }).click();
  await toasts.getByText('Saved').waitFor();
  await toasts.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone').waitFor();
  await expect.poll(() => toasts.locator('.toast').count()).toBe(0);
  await button(page, 'Fail').click();
  await toasts.getByText('Refused. · city: must be a city').waitFor();
  await page.getByRole('region', { name: 'Messages' }).getByRole('button', { name: 'Send' }).click();
  await toasts.getByText('The server cannot be reached.').waitFor();
  await untilFocused(page, 'Send');
  await toasts.getByRole('button', { name: 'Close message' }).first().click();
  await expect.poll(() => toasts.locator('.toast').count()).toBe(1);
});

browserTest(
  'the components are accessible and readable on every screen, in light and in dark mode',
  60_000,
  async () => {
    const page = await openKit();
    await page.locator('form').getByRole('button', { name: 'Send' }).click();
    await button(page, 'Fail').click();
    await button(page, 'Rotate the secret').click();
    await checkScreens(page, 'kit', [360, 1280]);
    await button(page, 'Change the name').click();
    await checkScreens(page, 'kit-dialog', [360, 1280]);
  },
);

browserTest('times are relative by the days of the calendar; chosen dates have their time of day', 30_000, async () => {
  const page = await browser.newPage({ timezoneId: 'Europe/Berlin', locale: 'en-GB' });
  onTestFinished(() => page.close());
  await page.clock.setFixedTime('2030-03-13T02:00:00+01:00');
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  const times = page.getByRole('region', { name: 'Times' }).locator('time');
  await expect.poll(() => times.allTextContents()).toEqual(['2 days ago', 'yesterday', '5 hours ago', '14 Mar, 18:00']);
});
