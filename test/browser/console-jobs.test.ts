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
  input: z.strictObject({
    url: z.url().meta({ title: 'Address of the feed', description: 'RSS or Atom' }),
    fails: z.boolean().default(false),
    maxPosts: z.int().min(1).max(50).optional(),
    since: z.iso.date().optional(),
    mode: z.enum(['all', 'new']).optional(),
    tags: z.array(z.string()).optional(),
    author: z.object({ name: z.string(), mail: z.email().nullable() }).optional(),
  }),
  retry: { attempts: 1 },
  run({ input, attempt }) {
    if (input.fails) throw new Error(`<b>The feed ${input.url} does not respond</b>`);
    return { attempt, importedPosts: 12, byAuthor: [{ name: 'Ada', posts: 12 }] };
  },
});
const rename = defineJob('rename', {
  input: z.union([z.string(), z.strictObject({ to: z.string() })]),
  run: ({ input }) => input,
});
const longest = defineJob(`w${'ww-ww'.repeat(11)}`, { run: () => undefined });

const { app, url } = await startTestApp(
  {
    resources: [defineUser()],
    jobs: [importFeed, slow, rename, longest],
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

/** Submits the form, and agrees to what it will run. */
async function runNow(page: Page) {
  await page.getByRole('form', { name: 'Run a job' }).getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
}

browserTest('without declared jobs, the page shows how to declare one, on every screen', 120_000, async () => {
  const { page, pageErrors } = await openJobs('', without.url);
  await page.getByRole('heading', { name: 'This app declares no jobs' }).waitFor();
  await page.getByText("defineJob('greet'").waitFor();
  expect(await page.getByRole('navigation', { name: 'Jobs' }).count()).toBe(0);
  await checkScreens(page, 'console-jobs-none');
  expect(pageErrors).toEqual([]);
});

browserTest(
  'a job can be enqueued, watched, cancelled and retried, and the page follows without a reload',
  120_000,
  async () => {
    const { page, pageErrors } = await openJobs();
    await page.getByRole('link', { name: 'Run Slow' }).click();
    const form = page.getByRole('form', { name: 'Run a job' });
    await form.getByText('This job needs no input.').waitFor();
    expect(await form.getByLabel('Job', { exact: true }).inputValue()).toBe('slow');
    await runNow(page);
    await untilStatus(page, 'Running');
    await page.getByText(`3 of 7 · ${WIDE}`).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await untilStatus(page, 'Cancelled');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Slow');
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

browserTest('a job runs with the values of a form, and its page shows the result as it ends', 120_000, async () => {
  const { page, pageErrors } = await openJobs('/enqueue?job=import-feed');
  const form = page.getByRole('form', { name: 'Run a job' });
  await form.getByText('RSS or Atom').waitFor();
  await form.getByLabel('Address of the feed').fill('https://example.com/<i>');
  await form.getByLabel('Max posts').fill('5');
  await form.getByLabel('Since').fill('2030-01-31');
  await form.getByLabel('Mode').selectOption('new');
  await form.getByRole('button', { name: 'Add an item' }).click();
  await form.getByRole('textbox', { name: 'Item 1 of Tags' }).fill('news');
  await form.getByRole('button', { name: 'Add an item' }).click();
  await form.getByRole('button', { name: 'Add a value' }).click();
  await form.getByLabel('Name').fill('Ada');
  await form.getByRole('button', { name: 'Run now' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run “Import feed”?' });
  await dialog.getByText('It starts at once, with these values:').waitFor();
  await dialog.getByText('No (default)').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await form.getByLabel('Max posts').inputValue()).toBe('5');
  await runNow(page);
  await untilStatus(page, 'Succeeded');
  const result = page.getByRole('region', { name: 'Result', exact: true });
  expect(await result.locator('dt').allTextContents()).toEqual([
    'Attempt',
    'By author',
    'Name',
    'Posts',
    'Imported posts',
  ]);
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  expect((await app.jobs.get(id))?.input).toEqual({
    url: 'https://example.com/<i>',
    maxPosts: 5,
    since: '2030-01-31',
    mode: 'new',
    tags: ['news'],
    author: { name: 'Ada', mail: null },
  });
  await page.getByText('A request without a signed-in user').waitFor();
  const input = page.getByRole('region', { name: 'Input', exact: true });
  await input.getByText('Show as JSON').click();
  await input.getByText('"maxPosts": 5').waitFor();
  await page.getByRole('link', { name: 'Run again…' }).click();
  await expect.poll(() => form.getByLabel('Address of the feed').inputValue()).toBe('https://example.com/<i>');
  expect(await form.getByLabel('Name').inputValue()).toBe('Ada');
  expect(pageErrors).toEqual([]);
});

browserTest('a refusal names each field, and the form and its JSON are two views of one input', 120_000, async () => {
  const { page } = await openJobs('/enqueue?job=import-feed');
  const form = page.getByRole('form', { name: 'Run a job' });
  await form.getByLabel('Max posts').fill('many');
  await form.getByRole('button', { name: 'Run now' }).click();
  await page.getByRole('alert').getByText('Some values are not valid.').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('field-maxPosts');
  await form.getByLabel('Max posts').fill('51');
  await form.getByRole('button', { name: 'Add a value' }).click();
  await runNow(page);
  const errorOf = (name: string) => form.locator(`[data-field="${name}"] .field-error`).textContent();
  await expect.poll(() => form.locator('.field-error:not(:empty)').count()).toBe(2);
  expect(await errorOf('url')).toBe('Is required');
  expect(await errorOf('maxPosts')).toContain('50');
  await form.getByRole('button', { name: 'JSON' }).click();
  const json = form.getByLabel('Input (JSON)');
  expect(JSON.parse(await json.inputValue())).toEqual({ maxPosts: 51 });
  await json.fill('{ "maxPosts": ');
  await form.getByText('Is not valid JSON: see line 1').waitFor();
  // JavaScript reads it as infinity, which JSON does not have.
  await json.fill('{ "maxPosts": 1e400 }');
  await form.getByText('Is not valid JSON: see line 1, column 15').waitFor();
  await json.fill('{ "url": "https://example.com", "author": { "mail": "x" }, "extra": 1 }');
  await form.getByRole('button', { name: 'Form', exact: true }).click();
  await page.getByText('The form cannot show this input.').waitFor();
  await json.fill('{ "url": "https://example.com", "author": { "mail": "x" } }');
  await form.getByRole('button', { name: 'Form', exact: true }).click();
  await runNow(page);
  await expect.poll(() => errorOf('author')).toContain('Name: Is required · Mail: Invalid email');
});

browserTest('an input that no form can express is edited as JSON', 120_000, async () => {
  const { page } = await openJobs('/enqueue?job=rename');
  const form = page.getByRole('form', { name: 'Run a job' });
  await form.getByText('The input of this job cannot be shown as a form.').waitFor();
  await form.getByLabel('Input (JSON)').fill('5');
  await runNow(page);
  await form.getByRole('alert').getByText('Invalid input').waitFor();
  await form.getByLabel('Input (JSON)').fill('"Ada"');
  const kind = form.getByLabel('Job', { exact: true });
  await kind.selectOption('slow');
  await page.getByRole('dialog', { name: 'Choose another job?' }).getByRole('button', { name: 'Cancel' }).click();
  await expect.poll(() => kind.inputValue()).toBe('rename');
  expect(await form.getByLabel('Input (JSON)').inputValue()).toBe('"Ada"');
  await form.getByLabel('Run at').fill('2030-01-31T12:00');
  await form.getByText('More options').click();
  await form.getByLabel('Unique key').fill('one');
  await form.getByRole('button', { name: 'Run at this time' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/It starts at Jan 31, 2030, 12:00.PM/).waitFor();
  await dialog.getByRole('button', { name: 'Run at this time' }).click();
  await untilStatus(page, 'Planned');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await untilStatus(page, 'Cancelled');
  await page.getByRole('button', { name: 'Retry' }).click();
  await dialog.getByText(/It was planned for Jan 31, 2030, 12:00.PM and was cancelled/).waitFor();
  await dialog.getByRole('button', { name: 'Run now' }).click();
  await untilStatus(page, 'Succeeded');
});

browserTest('a failed job shows its input and error as text', 120_000, async () => {
  const failed = await app.jobs.enqueue(importFeed, { url: 'https://example.com/<i>', fails: true });
  const { page } = await openJobs(`/runs/${failed.id}`);
  await untilStatus(page, 'Failed');
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(await page.getByRole('region', { name: 'Text of the error' }).textContent()).toBe(
    'Error: <b>The feed https://example.com/<i> does not respond</b>',
  );
  await page.getByText('1 of at most 1').waitFor();
  await page.getByText('The app itself').waitFor();
  await page.getByRole('link', { name: 'https://example.com/<i>' }).waitFor();
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
    await untilStatus(page, 'Planned');
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
    await checkScreens(page, 'console-jobs-list', [390, 1280]);
    expect(await page.locator('.jobs-detail:empty').count()).toBe(0);
    await page.goto(`${url}/console/jobs/enqueue`);
    await page.getByLabel('Address of the feed').waitFor();
    const seen = await pressTabUntil(page, `document.activeElement.textContent.trim() === 'Run now'`);
    expect(new Set(seen.map(({ tag }) => tag))).toEqual(new Set(['A', 'SELECT', 'SUMMARY', 'INPUT', 'BUTTON']));
    expect(seen.filter(({ isOutlined }) => !isOutlined)).toEqual([]);
    await page.getByRole('button', { name: 'Add a value' }).click();
    await page.getByText('More options').click();
    await checkScreens(page, 'console-jobs-run-form', [390, 1280]);
    releaseSlow();
    expect(pageErrors).toEqual([]);
  },
);
