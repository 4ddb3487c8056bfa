import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { test } from 'vitest';

/** If `profile` is undefined, there is no browser, and these tests are skipped. */
const { TEST_CHROMIUM: profile, TEST_HEADLESS_SHELL: pages = profile } = process.env;

/**
 * A test that needs a browser. It skips itself at run time: if all tests of a file are skipped up front, its services are not closed.
 *
 * @param timeout ms
 */
export function browserTest(name: string, timeout: number, run: () => Promise<void>): void {
  test(name, { timeout }, async ({ skip }) => {
    skip(profile === undefined, 'no Chromium');
    await run();
  });
}

interface BrowserOptions {
  /** In addition to the usual arguments. */
  args?: string[];
  /** Playwright arguments to leave out. */
  withoutArgs?: string[];
  /** In addition to the environment of the tests. */
  env?: Record<string, string>;
}

function launchOptions(executablePath: string, { args = [], withoutArgs = [], env = {} }: BrowserOptions) {
  const usual = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-component-update', '--disable-sync'];
  return {
    executablePath,
    ignoreDefaultArgs: withoutArgs,
    args: [...usual, ...args],
    env: { ...process.env, ...env },
  };
}

let shared: Promise<Browser> | undefined;

/**
 * Returns the browser of this process, which all its test files share. A test opens a context of its own, and the caller closes all
 * contexts at the end: `closePages`.
 */
export function startBrowser(): Promise<Browser> {
  shared ??= chromium.launch(launchOptions(pages!, {}));
  return shared;
}

/** Closes all contexts of the browser with their pages. The browser itself ends with the process. */
export async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** Starts a browser with a temporary profile. Only its pages may subscribe, because pages of other contexts are incognito. */
export function startProfile(options: BrowserOptions = {}): Promise<BrowserContext> {
  return chromium.launchPersistentContext('', launchOptions(profile!, options));
}

/** Saves a screenshot of the page in `test/.output/` for review, if TEST_SCREENSHOTS is set. Drawing takes longer than most tests. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (!process.env.TEST_SCREENSHOTS) return;
  const folder = join(import.meta.dirname, '..', '.output');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
