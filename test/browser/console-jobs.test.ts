import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { adminConsole, defineJob, defineUser } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, pressTabUntil } from './console-app.ts';
import { checkScreens } from './screens.ts';

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

const { app, url } = await startTestApp(
  {
    resources: [defineUser()],
    jobs: [importFeed, slow, longest],
    schedules: [
      { cron: '0 2 * * *', timeZone: 'Europe/Berlin', job: importFeed, input: { url: 'https://example.com' } },
    ],
    extensions: [adminConsole()],
  },
  { roles: 'all' },
);
const without = await startTestApp({ resources: [defineUser()], extensions: [adminConsole()] }, { roles: 'all' });
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const openJobs = (below = '', at = url) => openConsole(browser, `${at}/console/jobs${below}`);
const runLinks = (page: Page) => page.getByRole('table', { name: 'Jobs' }).locator('td.name a');
const untilStatus = (page: Page, status: string) =>
  expect.poll(() => page.locator('.jobs-status').textContent(), { timeout: 60_000 }).toBe(status);

browserTest('without declared jobs, the page shows how to declare one, on every screen', 120_000, async () => {
  const { page, pageErrors } = await openJobs('', without.url);
  await page.getByRole('heading', { name: 'This app declares no jobs' }).waitFor();
  expect(await page.getByText("defineJob('greet'").isVisible()).toBe(true);
  expect(await page.getByRole('navigation', { name: 'Jobs' }).count()).toBe(0);
  await checkScreens(page, 'console-jobs-none');
  expect(pageErrors).toEqual([]);
});

browserTest(
  'a job can be enqueued, watched, cancelled and retried, and the page follows without a reload',
  120_000,
  async () => {
    const { page, pageErrors } = await openJobs();
    await page.getByRole('link', { name: 'Enqueue slow' }).click();
    const form = page.getByRole('form', { name: 'Enqueue a job' });
    expect(await form.getByLabel('Job', { exact: true }).inputValue()).toBe('slow');
    expect(await form.getByLabel('Input (JSON)').isDisabled()).toBe(true);
    await form.getByRole('button', { name: 'Enqueue' }).click();
    await untilStatus(page, 'Running');
    await page.getByText(`3 of 7 · ${WIDE}`).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await untilStatus(page, 'Cancelled');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('slow');
    await page.getByRole('navigation', { name: 'Jobs' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: '1 cancelled' }).last().click();
    expect(await page.getByLabel('Status').inputValue()).toBe('cancelled');
    await runLinks(page).first().click();
    await page.getByRole('button', { name: 'Retry' }).click();
    await untilStatus(page, 'Running');
    await page.getByRole('navigation', { name: 'Back' }).getByRole('link').click();
    await page.getByText('No stored job matches the filter.').waitFor();
    releaseSlow();
    await page.getByLabel('Status').selectOption('succeeded');
    await expect.poll(() => runLinks(page).count(), { timeout: 60_000 }).toBe(1);
    await page.getByRole('navigation', { name: 'Jobs' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('link', { name: '1 succeeded' }).last().waitFor();
    expect(pageErrors).toEqual([]);
  },
);

browserTest('a failed job shows its input and error as text, and a refusal names the field', 120_000, async () => {
  const { page } = await openJobs('/enqueue?job=import-feed');
  const form = page.getByRole('form', { name: 'Enqueue a job' });
  const enqueue = async (input: string) => {
    await form.getByLabel('Input (JSON)').fill(input);
    await form.getByRole('button', { name: 'Enqueue' }).click();
  };
  await enqueue('{ url: 1 }');
  await page.getByRole('alert').getByText('The input must be JSON').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('enqueue-input');
  await enqueue('{}');
  await page.getByRole('alert').getByText('input.url: Is required').waitFor();
  await enqueue('{ "url": "https://example.com/<i>", "fails": true }');
  await untilStatus(page, 'Failed');
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await page.getByRole('region', { name: 'Text of the error' }).textContent()).toBe(
    'Error: <b>The feed https://example.com/<i> does not respond</b>',
  );
  expect(await page.getByRole('region', { name: 'JSON of the input' }).textContent()).toContain(
    '"url": "https://example.com/<i>"',
  );
  await page.getByRole('navigation', { name: 'Jobs' }).getByRole('link', { name: 'Overview' }).click();
  await page.getByText('0 2 * * *').waitFor();
  await page.getByText('Europe/Berlin').waitFor();
});

browserTest(
  'the list is filtered and paged in the address, and the back button returns to the previous page of it',
  120_000,
  async () => {
    const runAt = new Date(Date.now() + 7_200_000);
    for (let i = 0; i < 45; i++) await app.jobs.enqueue(longest, undefined, { runAt });
    const { page } = await openJobs(`/runs?job=${longest.name}`);
    const untilCount = (count: number) => expect.poll(() => runLinks(page).count(), { timeout: 60_000 }).toBe(count);
    await untilCount(20);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    await untilCount(20);
    await page.getByRole('link', { name: 'Older' }).click();
    await untilCount(5);
    expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
    await page.reload();
    await untilCount(5);
    await page.goBack();
    await untilCount(20);
    await runLinks(page).nth(3).click();
    await untilStatus(page, 'Waiting');
    await page.goBack();
    await page.getByLabel('Status').selectOption('succeeded');
    await page.getByText('No stored job matches the filter.').waitFor();
    await page.goto(`${url}/console/jobs/runs/665f1c0a9b1e8a0012345678`);
    await page.getByRole('alert').getByText('There is no job with this id').waitFor();
  },
);

browserTest(
  'the pages fit every screen, every text is readable, and every control has a visible focus, in light and in dark mode',
  240_000,
  async () => {
    const failed = await app.jobs.enqueue(importFeed, { url: `https://example.com/${WIDE}`, fails: true });
    await app.jobs.enqueue(slow);
    const { page, pageErrors } = await openJobs(`/runs/${failed.id}`);
    await untilStatus(page, 'Failed');
    await checkScreens(page, 'console-jobs-run');
    await page.goto(`${url}/console/jobs`);
    await page.getByRole('link', { name: '1 running' }).last().waitFor();
    await checkScreens(page, 'console-jobs-overview');
    await page.goto(`${url}/console/jobs/runs`);
    await runLinks(page).first().waitFor();
    await checkScreens(page, 'console-jobs-list', [360, 1280]);
    await page.goto(`${url}/console/jobs/enqueue`);
    await page.getByLabel('Unique key').waitFor();
    await checkScreens(page, 'console-jobs-enqueue', [360, 1280]);
    const seen = await pressTabUntil(page, `document.activeElement.textContent.trim() === 'Enqueue'`);
    expect(new Set(seen.map(({ tag }) => tag))).toEqual(new Set(['A', 'SELECT', 'TEXTAREA', 'INPUT', 'BUTTON']));
    expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
    releaseSlow();
    expect(pageErrors).toEqual([]);
  },
);
