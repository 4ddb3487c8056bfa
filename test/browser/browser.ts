import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { test } from 'vitest';

/** Undefined: there is no browser, and these tests are skipped. */
const executablePath = process.env.TEST_CHROMIUM;

/**
 * A test that needs a browser. It is skipped once it runs: of a file whose tests are all skipped before, what it has started is not ended.
 *
 * @param timeout ms
 */
export function browserTest(name: string, timeout: number, run: () => Promise<void>): void {
  test(name, { timeout }, async ({ skip }) => {
    skip(executablePath === undefined, 'no Chromium');
    await run();
  });
}

interface How {
  /** Beside the usual arguments. */
  args?: string[];
  /** Arguments of playwright's that are left out. */
  without?: string[];
  /** Beside the environment of the tests. */
  env?: Record<string, string>;
}

function launchOptions({ args = [], without = [], env = {} }: How) {
  const usual = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-component-update', '--disable-sync'];
  return {
    executablePath: executablePath!,
    ignoreDefaultArgs: without,
    args: [...usual, ...args],
    env: { ...process.env, ...env },
  };
}

/** Starts the browser. Whoever does closes it. */
export function startBrowser(how: How = {}): Promise<Browser> {
  return chromium.launch(launchOptions(how));
}

/** Starts a browser with a profile that is thrown away: its pages may subscribe, those of other contexts are incognito. */
export function startProfile(how: How = {}): Promise<BrowserContext> {
  return chromium.launchPersistentContext('', launchOptions(how));
}

/** Keeps what a page looks like in `test/.output/`, to be looked at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  const folder = join(import.meta.dirname, '..', '.output');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
