import type { Browser, Locator, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, startConsoleApp } from './console-app.ts';
import { checkScreens } from './screens.ts';

const WIDE = 'Wide'.repeat(50);
const { app, url, person } = await startConsoleApp();
const articles = app.service('article');
const DATA = `${url}/console/data`;
let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const ada = await person('Ada');
const space = await app.service('topic').create({ name: 'Space' });
const statuses = ['draft', 'review', 'published'] as const;
await articles.createMany(
  Array.from({ length: 60 }, (_, index) => ({
    title: `Article ${index + 1}`,
    status: statuses[index % 3]!,
    views: (index + 1) * 10,
    ...(index % 2 === 0 && { topic: space.id }),
    author: ada.id,
    featured: index % 2 === 0,
    price: '19.90',
    tags: ['bell', 'tower'],
  })),
);

const rows = (page: Page) => page.locator('tbody tr[data-id]');
const firstTitle = (page: Page) => rows(page).first().locator('.row-link').textContent();
const untilFirst = (page: Page, title: string) =>
  expect.poll(async () => (await firstTitle(page))?.trim(), { timeout: 30_000 }).toBe(title);
const untilCount = (page: Page, text: string) => page.getByText(text, { exact: true }).waitFor();
const focusedTitle = (page: Page) =>
  page.evaluate(`document.activeElement.closest('tr')?.querySelector('.row-link').textContent.trim()`);

async function addFilter(page: Page, field: string, comparison: string, value: string): Promise<void> {
  await page.getByRole('button', { name: /^Filter/ }).click();
  await page.getByRole('combobox', { name: 'Field' }).selectOption(field);
  await page.getByRole('combobox', { name: 'Comparison' }).selectOption({ label: comparison });
  const choice = page.getByRole('combobox', { name: 'Value' });
  if (await choice.isVisible()) await choice.selectOption(value);
  else await page.getByLabel('Value', { exact: true }).fill(value);
  await page.getByRole('button', { name: 'Apply' }).click();
}

/** The texts of dates that are wider than their cells. */
const CUT_DATES = `[...document.querySelectorAll('td.type-date')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.innerText)`;

browserTest(
  'filters, searches, orders and pages are in the address, and the back button undoes them',
  180_000,
  async () => {
    const { page, pageErrors } = await openConsole(browser, `${url}/console/data`);
    await untilFirst(page, 'Article 60');
    expect(new URL(page.url()).pathname).toBe('/console/data/article');
    await addFilter(page, 'status', 'is', 'published');
    await untilCount(page, '20 articles');
    await addFilter(page, 'views', 'is at least', '400');
    await untilCount(page, '7 articles');
    expect(new URL(page.url()).search).toBe('?status[eq]=published&views[gte]=400');
    await page.getByTitle('Sort by Views').click();
    await untilFirst(page, 'Article 42');
    await page.reload();
    await untilFirst(page, 'Article 42');
    await page.goBack();
    await page.goBack();
    await untilCount(page, '20 articles');
    await page.getByRole('button', { name: /^Remove the filter Status/ }).click();
    await untilCount(page, '60 articles');
    await page.keyboard.press('/');
    await page.keyboard.type('article 5');
    await untilCount(page, '11 articles');
    expect(new URL(page.url()).searchParams.get('q')).toBe('article 5');
    await page.getByRole('searchbox').fill('nothing like it');
    await page.getByRole('heading', { name: 'No article matches' }).waitFor();
    await page.getByRole('link', { name: 'Show all articles' }).click();
    await untilCount(page, '60 articles');
    expect(pageErrors).toEqual([]);
  },
);

browserTest('the search keeps the space before a word that is typed later', 60_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article`);
  const search = page.getByRole('searchbox');
  await search.pressSequentially('article ');
  await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('article');
  await search.pressSequentially('5');
  await untilCount(page, '11 articles');
  expect(await search.inputValue()).toBe('article 5');
});

browserTest('on a phone the controls of a list share one row; in a wide form short fields do', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article`, { width: 360, height: 780 });
  await untilCount(page, '60 articles');
  const topOf = async (control: Locator) => (await control.boundingBox())?.y;
  const controls = page.getByRole('search').getByRole('button');
  const tops = await Promise.all((await controls.all()).map(topOf));
  expect(tops.length).toBeGreaterThanOrEqual(4);
  expect(new Set(tops).size).toBe(1);
  expect(await topOf(page.getByLabel('Sort by'))).toBe(tops[0]);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(`${DATA}/article/new`);
  const [status, featured, title] = ['status', 'featured', 'title'].map((name) =>
    page.locator(`[data-field="${name}"]`),
  );
  await status!.waitFor();
  expect(await topOf(status!)).toBe(await topOf(featured!));
  expect(await topOf(title!)).toBeLessThan((await topOf(status!))!);
});

browserTest('filters compare the id and the times of records', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article`);
  await untilCount(page, '60 articles');
  await addFilter(page, 'createdAt', 'is before', '2020-01-01T00:00');
  await page.getByRole('heading', { name: 'No article matches' }).waitFor();
  await page.getByRole('button', { name: /^Remove the filter Created/ }).click();
  await addFilter(page, 'updatedAt', 'is from', '2020-01-01T00:00');
  await untilCount(page, '60 articles');
  const { id } = (await app.service('article').first({ title: 'Article 7' }))!;
  await addFilter(page, 'id', 'is one of', id);
  await untilFirst(page, 'Article 7');
  await untilCount(page, '1 article');
});

browserTest('pages follow each other in both directions, and a link to a page works', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article?limit=20&sort=views`);
  await untilFirst(page, 'Article 1');
  await page.getByRole('button', { name: 'Next' }).click();
  await untilFirst(page, 'Article 21');
  await page.getByRole('button', { name: 'Next' }).click();
  await untilFirst(page, 'Article 41');
  await page.getByRole('button', { name: 'Previous' }).click();
  await untilFirst(page, 'Article 21');
  const { page: other } = await openConsole(browser, page.url());
  await untilFirst(other, 'Article 21');
  await other.getByRole('button', { name: 'First' }).click();
  await untilFirst(other, 'Article 1');
});

browserTest('the keyboard moves through the list, opens, selects and creates', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article?sort=views`);
  await untilFirst(page, 'Article 1');
  await page.keyboard.press('j');
  await page.keyboard.press('ArrowDown');
  expect(await focusedTitle(page)).toBe('Article 2');
  await page.keyboard.press('k');
  expect(await focusedTitle(page)).toBe('Article 1');
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('1 selected').waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Article 1', exact: true }).waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
  await page.goBack();
  await untilFirst(page, 'Article 1');
  await page.keyboard.press('n');
  await page.getByRole('heading', { name: 'New article' }).waitFor();
});

browserTest('columns can be chosen, and a saved view brings everything back', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article?views[gt]=500`);
  await untilCount(page, '10 articles');
  await page.getByRole('button', { name: 'Display' }).click();
  await page.getByLabel('Tags', { exact: true }).check();
  await page.getByRole('columnheader', { name: 'Tags', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  const views = page.getByRole('search').getByRole('button', { name: 'Views', exact: true });
  await views.click();
  await page.getByLabel('Name', { exact: true }).fill('Popular');
  await page.getByRole('button', { name: 'Save this view' }).click();
  // Also a list that is opened later has the columns.
  await page.goto(`${DATA}/article`);
  await untilCount(page, '60 articles');
  await page.getByRole('columnheader', { name: 'Tags', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Display' }).click();
  await page.getByRole('button', { name: 'Show the usual columns' }).click();
  await page.getByRole('columnheader', { name: 'Tags', exact: true }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await views.click();
  await page.getByRole('button', { name: 'Popular', exact: true }).click();
  await untilCount(page, '10 articles');
  await page.getByRole('columnheader', { name: 'Tags', exact: true }).waitFor();
});

browserTest('resources and fields have the names that their declarations give to people', 120_000, async () => {
  const matchDays = app.service('fixture');
  const { id } = await matchDays.create({
    venue: 'Old Court',
    opponent: 'Herons',
    startsAt: '2030-05-04T13:00:00.000Z',
  });
  const { page, pageErrors } = await openConsole(browser, `${DATA}/fixture`);
  await page.getByRole('heading', { name: 'Match days', level: 1 }).waitFor();
  await page.getByRole('columnheader', { name: 'Kick-off' }).waitFor();
  await untilFirst(page, 'Herons');
  // Dates are whole, with the year and the time of day.
  expect(await page.evaluate(CUT_DATES)).toEqual([]);
  // Nothing stands where the search would be: only the author of the app can make a field searchable.
  expect(await page.getByRole('search').getByRole('textbox').count()).toBe(0);
  expect(await page.getByText('searchable').count()).toBe(0);
  await page.goto(`${DATA}/fixture/${id}`);
  await page.getByRole('heading', { name: 'Herons', level: 1 }).waitFor();
  await page.getByLabel('Kick-off').waitFor();
  await page.getByRole('navigation', { name: 'Parts of the Match day' }).waitFor();
  await page.goto(`${DATA}/fixture/new`);
  expect(pageErrors).toEqual([]);
  await page.getByRole('button', { name: 'Create match day' }).click();
  await page.getByRole('alert').getByRole('link', { name: 'Opponent', exact: true }).waitFor();
});

browserTest(
  'selected records are changed, deleted and restored together, and failures are listed',
  120_000,
  async () => {
    const names = ['Red', 'Green', 'Blue'];
    const made = await articles.createMany(names.map((title) => ({ title: `Bulk ${title}` })));
    const { page } = await openConsole(browser, `${DATA}/article?q=bulk`);
    await untilCount(page, '3 articles');
    await page.getByLabel('Select all records of this page').check();
    await page.getByRole('button', { name: 'Set a field…' }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Field' }).selectOption('status');
    await page.locator('#field-status').selectOption('review');
    await page.getByRole('button', { name: 'Set it for 3' }).click();
    await page.getByText('3 articles changed').waitFor();
    expect((await articles.read(made[0]!.id)).status).toBe('review');
    await page.getByLabel('Select all records of this page').check();
    await page.getByRole('button', { name: 'Set a field…' }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Field' }).selectOption('views');
    await page.locator('#field-views').fill('-1');
    await page.getByRole('button', { name: 'Set it for 3' }).click();
    await page.getByRole('heading', { name: '3 articles could not be changed' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await page.getByLabel('Select all records of this page').check();
    await page.getByRole('region', { name: 'Selected records' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete 3' }).click();
    await page.getByText('3 articles deleted').waitFor();
    await page.getByRole('heading', { name: 'No article matches' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.getByRole('button', { name: 'Undo' }).click();
    await untilCount(page, '3 articles');
  },
);

browserTest('the plural of a resource leads to its pages, and an error is a sentence of its own', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/articles?views[gt]=500`);
  await untilCount(page, '10 articles');
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/console/data/article?views[gt]=500');
  await page.goto(`${DATA}/articles/new`);
  await page.getByRole('heading', { name: 'New article' }).waitFor();
  const error = { code: 'VALIDATION_ERROR', message: 'The request is invalid', details: { q: 'Must be shorter' } };
  await page.route('**/console/api/records/article?*', (route) => route.fulfill({ status: 422, json: { error } }));
  await page.goto(`${DATA}/article?q=long`);
  await page.getByRole('alert').getByText('The request is invalid. Must be shorter').waitFor({ timeout: 15_000 });
});

browserTest('changes of other clients appear in the list without a reload', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article?q=live`);
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'No article matches' }).waitFor();
  const { id } = await articles.create({ title: 'Live one' });
  await untilFirst(page, 'Live one');
  await articles.update(id, { title: 'Live two' });
  await untilFirst(page, 'Live two');
  await articles.delete(id);
  await page.getByRole('heading', { name: 'No article matches' }).waitFor();
});

browserTest('the list fits every screen, light and dark, and is accessible', 300_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${DATA}/article?status[eq]=published`);
  await untilCount(page, '20 articles');
  await page.getByLabel('Select all records of this page').check();
  await checkScreens(page, 'console-list');
  await page.goto(`${DATA}/empty-thing`);
  await page.getByRole('heading', { name: 'No empty things yet' }).waitFor();
  await checkScreens(page, 'console-empty', [360, 1280]);
  await app.service('topic').create({ name: WIDE });
  await page.goto(`${DATA}/topic`);
  await page.getByRole('link', { name: `Open ${WIDE}` }).waitFor();
  await checkScreens(page, 'console-long', [360, 1280]);
  expect(pageErrors).toEqual([]);
});
