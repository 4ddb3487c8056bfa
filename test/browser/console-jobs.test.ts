import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineJob, defineUser, developerConsole } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, keepScreenshot, startBrowser } from './browser.ts';
import { expectReadable } from './readable.ts';

const WIDE = 'Wide'.repeat(50);
let releaseSlow = () => {};
const slow = defineJob('slow', {
  async run({ progress, signal }) {
    progress(3, 7, WIDE);
    await new Promise<void>((resolve) => {
      releaseSlow = resolve;
      signal.addEventListener('abort', () => resolve());
    });
  },
});
const importFeed = defineJob('import-feed', {
  description: 'Imports the posts of a feed',
  input: z.strictObject({ url: z.string(), fails: z.boolean().default(false) }),
  retry: { attempts: 1 },
  run({ input, attempt }) {
    if (input.fails) throw new Error(`<b>The feed ${input.url} does not respond</b>`);
    return { attempt, posts: 12 };
  },
});
const longest = defineJob(`w${'ww-ww'.repeat(11)}`, { run: () => undefined });

const { app, url } = await startTestApp({
  resources: [defineUser()],
  jobs: [importFeed, slow, longest],
  schedules: [{ cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: importFeed, input: { url: 'https://example.com' } }],
  extensions: [developerConsole()],
});
const without = await startTestApp({ resources: [defineUser()], extensions: [developerConsole()] });
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => browser.close();
});

/** Opens the page. Also returns its errors; the browser logs violations of its content security policy there. */
async function openJobs(at: string = url, fragment = ''): Promise<{ page: Page; pageErrors: string[] }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  onTestFinished(() => page.close());
  const pageErrors: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) pageErrors.push(message.text());
  });
  page.on('pageerror', (error) => pageErrors.push(String(error)));
  await page.goto(`${at}/console/jobs${fragment}`);
  await page.getByText('Live', { exact: true }).waitFor();
  return { page, pageErrors };
}

const runLinks = (page: Page) => page.locator('#runs a');
const statusOf = (page: Page) => page.locator('#run-status');
const untilStatus = (page: Page, status: string) =>
  expect.poll(() => statusOf(page).textContent(), { timeout: 60_000 }).toBe(status);

/** Checks contrast, overflow and accessibility on every screen, and keeps a screenshot of each. */
async function checkScreens(page: Page, name: string): Promise<void> {
  await page.evaluate(axe.source);
  for (const width of [360, 390, 1280, 1920]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await expectReadable(page);
      const { violations } = await page.evaluate<AxeResults>('axe.run()');
      const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
      expect(found, `${name}, ${width}, ${colorScheme}`).toEqual([]);
      await keepScreenshot(page, `console-jobs-${name}-${width}-${colorScheme}`);
    }
  }
}

browserTest('without declared jobs, the page shows how to declare one, on every screen', 120_000, async () => {
  const { page, pageErrors } = await openJobs(without.url);
  await page.getByRole('heading', { name: 'This app declares no jobs' }).waitFor();
  expect(await page.getByText("defineJob('greet'").isVisible()).toBe(true);
  expect(await page.locator('#list, #declared, #run').filter({ visible: true }).count()).toBe(0);
  await checkScreens(page, 'none');
  expect(pageErrors).toEqual([]);
});

browserTest(
  'a job can be enqueued, watched, cancelled and retried, and the page follows without a reload',
  120_000,
  async () => {
    const { page, pageErrors } = await openJobs();
    await page.getByText('Enqueue a job').click();
    const form = page.locator('#enqueue');
    await form.getByLabel('Job').selectOption('slow');
    expect(await form.getByLabel('Input (JSON)').isDisabled()).toBe(true);
    await form.getByRole('button', { name: 'Enqueue' }).click();
    await untilStatus(page, 'running');
    await page.getByText(`3 of 7 · ${WIDE}`).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await untilStatus(page, 'cancelled');
    expect(await page.evaluate('document.activeElement.id')).toBe('run-title');
    await page.locator('#kinds').getByRole('link', { name: '1 cancelled' }).click();
    expect(await page.getByLabel('Status').inputValue()).toBe('cancelled');
    await runLinks(page).first().click();
    await page.getByRole('button', { name: 'Retry' }).click();
    await untilStatus(page, 'running');
    await page.getByText('No jobs.', { exact: true }).waitFor();
    releaseSlow();
    await untilStatus(page, 'succeeded');
    await page.locator('#kinds').getByRole('link', { name: '1 succeeded' }).waitFor();
    expect(pageErrors).toEqual([]);
  },
);

browserTest('a failed job shows its input and error as text, and a refusal names the field', 120_000, async () => {
  const { page } = await openJobs();
  await page.getByText('Enqueue a job').click();
  const form = page.locator('#enqueue');
  const enqueue = async (input: string) => {
    await form.getByLabel('Input (JSON)').fill(input);
    await form.getByRole('button', { name: 'Enqueue' }).click();
  };
  await form.getByLabel('Job').selectOption('import-feed');
  await enqueue('{ url: 1 }');
  expect(await page.evaluate(`document.querySelector('textarea').validationMessage`)).toContain('must be JSON');
  await enqueue('{}');
  await page.getByRole('alert').getByText('input.url: Is required').waitFor();
  await enqueue('{ "url": "https://example.com/<i>", "fails": true }');
  await untilStatus(page, 'failed');
  expect(await page.getByRole('alert').isVisible()).toBe(false);
  const shown = await page.locator('#run-error pre').textContent();
  expect(shown).toBe('Error: <b>The feed https://example.com/<i> does not respond</b>');
  expect(await page.locator('#run-input pre').textContent()).toContain('"url": "https://example.com/<i>"');
  await page.getByText('0 2 * * *').waitFor();
  await page.getByText('Europe/Berlin').waitFor();
});

browserTest(
  'the list is filtered and paged, and the back button returns to the previous selection',
  120_000,
  async () => {
    const runAt = new Date(Date.now() + 7_200_000);
    for (let i = 0; i < 45; i++) await app.jobs.enqueue(longest, undefined, { runAt });
    const { page } = await openJobs(url, `#job=${longest.name}`);
    await expect.poll(() => runLinks(page).count(), { timeout: 60_000 }).toBe(20);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    await page.getByRole('link', { name: 'Older' }).click();
    await expect.poll(() => runLinks(page).count(), { timeout: 60_000 }).toBe(5);
    expect(await page.getByRole('link', { name: 'Older' }).isVisible()).toBe(false);
    await page.goBack();
    await expect.poll(() => runLinks(page).count(), { timeout: 60_000 }).toBe(20);
    await runLinks(page).nth(3).click();
    await untilStatus(page, 'waiting');
    expect(await page.locator('#runs [aria-current]').count()).toBe(1);
    await page.getByLabel('Status').selectOption('succeeded');
    await page.getByText('No jobs.', { exact: true }).waitFor();
    await page.goto(`${url}/console/jobs#run=665f1c0a9b1e8a0012345678`);
    await page.getByRole('alert').getByText('There is no job with this id').waitFor();
  },
);

browserTest(
  'the page fits every screen, every text is readable, and every control has a visible focus, in light and in dark mode',
  180_000,
  async () => {
    const failed = await app.jobs.enqueue(importFeed, { url: `https://example.com/${WIDE}`, fails: true });
    await app.jobs.enqueue(slow);
    const { page } = await openJobs(url, `#run=${failed.id}`);
    await untilStatus(page, 'failed');
    await page.locator('#kinds').getByRole('link', { name: '1 running' }).waitFor();
    await page.locator('#enqueue-details summary').click();
    await checkScreens(page, 'run');
    // Tab begins where the last click was.
    await page.getByRole('heading', { level: 1 }).click();
    const seen: { id: string; tag: string; isOutlined: boolean }[] = [];
    while (seen.at(-1)?.id !== 'retry' && seen.length < 100) {
      await page.keyboard.press('Tab');
      seen.push(
        (await page.evaluate(`(() => {
          const { id, tagName } = document.activeElement;
          const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
          return { id, tag: tagName, isOutlined: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2 };
        })()`)) as { id: string; tag: string; isOutlined: boolean },
      );
    }
    expect(new Set(seen.map(({ tag }) => tag))).toEqual(
      new Set(['A', 'SUMMARY', 'SELECT', 'TEXTAREA', 'INPUT', 'BUTTON']),
    );
    expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
    releaseSlow();
  },
);
