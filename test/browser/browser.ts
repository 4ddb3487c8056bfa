import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, test } from 'vitest';

/** Undefined: there is no browser, and these tests are skipped. */
const executablePath = process.env.TEST_CHROMIUM;

/** A test that needs a browser. */
export const browserTest = test.skipIf(executablePath === undefined);

/**
 * Starts Debian's Chromium, with a profile that is thrown away; it is closed after the file's last test.
 *
 * @param how `args` beside the usual ones; `without`: arguments of playwright's that are left out
 */
export async function startBrowser(how: { args?: string[]; without?: string[] } = {}): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: executablePath!,
    ignoreDefaultArgs: how.without ?? [],
    args: [
      ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-component-update', '--disable-sync'],
      ...(how.args ?? []),
    ],
  });
  afterAll(() => browser.close());
  return browser;
}

/** Keeps what a page looks like in `test/.output/`, to be looked at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const folder = join(import.meta.dirname, '..', '.output');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
