import { Readable } from 'node:stream';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect } from 'vitest';
import { PNG } from '../files/support.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, startConsoleApp } from './console-app.ts';
import { checkScreens } from './screens.ts';

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
await person('Ben');
const space = await app.service('topic').create({ name: 'Space' });
const sea = await app.service('topic').create({ name: 'Sea' });

const field = (page: Page, name: string) => page.locator(`[data-field="${name}"]`);
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();
const untilSaved = (page: Page) => page.getByText('Saved', { exact: true }).last().waitFor();
const openRecord = async (id: string) => {
  const opened = await openConsole(browser, `${DATA}/article/${id}`);
  await field(opened.page, 'title').waitFor();
  return opened;
};

async function pick(page: Page, name: string, label: string): Promise<void> {
  const input = field(page, name).getByRole('combobox');
  await input.click();
  await input.fill(label);
  await field(page, name).getByRole('option', { name: label }).click();
}

browserTest('every type of field has its own editor, and only changed fields are sent', 180_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${DATA}/article/new`);
  expect(await field(page, 'status').locator('option').first().textContent()).toBe('draft (default)');
  expect(await field(page, 'featured').locator('option').first().textContent()).toBe('No value');
  await field(page, 'title').getByRole('textbox').fill('All fields');
  await field(page, 'status').getByRole('combobox').selectOption('review');
  await field(page, 'featured').getByRole('combobox').selectOption('true');
  await field(page, 'views').getByRole('textbox').fill('12');
  await field(page, 'rating').getByRole('textbox').fill('4.5');
  await field(page, 'price').getByRole('textbox').fill('12345678901234567890.12');
  await field(page, 'contact').getByRole('textbox').fill('ada@example.com');
  await field(page, 'due').locator('input').fill('2030-01-31T12:00');
  await field(page, 'body').getByRole('textbox').fill('One\nTwo');
  await field(page, 'tags').getByRole('button', { name: 'Add an item' }).click();
  await field(page, 'tags').getByLabel('Item 1 of Tags', { exact: true }).fill('first');
  await field(page, 'tags').getByRole('button', { name: 'Add an item' }).click();
  await field(page, 'tags').getByLabel('Item 2 of Tags', { exact: true }).fill('second');
  await field(page, 'tags').getByRole('button', { name: 'Move item 2 of Tags up' }).click();
  await field(page, 'place').getByRole('button', { name: 'Add a value' }).click();
  await field(page, 'place').getByLabel('street').fill('Main street');
  await field(page, 'place').getByLabel('number').fill('7');
  await field(page, 'extra').getByRole('textbox').fill('{ "a": [1] }');
  await pick(page, 'topic', 'Space');
  await pick(page, 'reviewers', 'Ada');
  await pick(page, 'reviewers', 'Ben');
  await field(page, 'slug').getByRole('textbox').fill('all-fields');
  await field(page, 'account').getByRole('textbox').fill('DE89');
  await pick(page, 'author', 'Ada');
  await page.getByRole('button', { name: 'Create article' }).click();
  await page.getByRole('heading', { name: 'All fields' }).waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1)!;
  expect(await articles.read(id)).toMatchObject({
    title: 'All fields',
    status: 'review',
    featured: true,
    views: 12,
    rating: 4.5,
    price: '12345678901234567890.12',
    due: new Date('2030-01-31T12:00').toISOString(),
    body: 'One\nTwo',
    tags: ['second', 'first'],
    place: { street: 'Main street', number: 7 },
    extra: { a: [1] },
    topic: space.id,
    slug: 'all-fields',
    account: 'DE89',
    author: ada.id,
  });
  expect(await field(page, 'slug').textContent()).toContain('Clients of the API cannot change it later');
  await field(page, 'views').getByRole('textbox').fill('13');
  await field(page, 'featured').getByRole('combobox').selectOption('');
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.keyboard.press('Control+s');
  expect((await sent).postDataJSON()).toEqual({ views: 13, featured: null });
  await untilSaved(page);
  await field(page, 'account').getByRole('button', { name: 'Reveal' }).click();
  await field(page, 'account').getByText('DE89').waitFor();
  expect(pageErrors).toEqual([]);
});

browserTest('errors stand at their fields and in a summary that gets the focus', 120_000, async () => {
  const { id } = await articles.create({ title: 'Wrong' });
  const { page } = await openRecord(id);
  await field(page, 'title').getByRole('textbox').fill('');
  await field(page, 'views').getByRole('textbox').fill('many');
  await field(page, 'extra').getByRole('textbox').fill('{\n  "a": oops }');
  await field(page, 'extra')
    .getByText(/line 2, column 8/)
    .waitFor();
  await save(page);
  const summary = page.getByRole('alert');
  await summary.getByText('Must be a number').waitFor();
  await expect.poll(() => page.evaluate(`document.activeElement.getAttribute('role')`)).toBe('alert');
  await field(page, 'views').getByRole('textbox').fill('-5');
  await field(page, 'extra').getByRole('textbox').fill('{}');
  await save(page);
  await summary.getByRole('link', { name: 'views' }).waitFor();
  await summary.getByRole('link', { name: 'title' }).click();
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('field-title');
  expect(await field(page, 'title').getByRole('textbox').getAttribute('aria-invalid')).toBe('true');
  expect((await articles.read(id)).title).toBe('Wrong');
});

browserTest('a conflict shows three versions of each field, and saves what the user chooses', 120_000, async () => {
  const { id } = await articles.create({ title: 'Before', views: 1, status: 'draft', topic: space.id });
  const { page } = await openRecord(id);
  // The stream of changes would announce the change before the attempt to save.
  await page.route('**/console/api/changes*', (route) => route.abort());
  await page.reload();
  await field(page, 'title').getByRole('textbox').fill('Mine');
  await field(page, 'views').getByRole('textbox').fill('2');
  await pick(page, 'topic', 'Sea');
  await articles.update(id, { title: 'Theirs', status: 'published', views: 3 });
  await save(page);
  const dialog = page.getByRole('dialog', { name: 'The record has changed since you opened it' });
  const choose = (name: string, choice: string) =>
    dialog.getByRole('group', { name }).getByRole('radio', { name: choice }).check();
  await dialog.waitFor();
  await checkScreens(page, 'console-conflict', [360, 1280]);
  expect(await dialog.getByRole('button', { name: 'Save with these choices' }).isDisabled()).toBe(true);
  await choose('title', 'Stored now');
  await choose('views', 'Yours');
  await dialog.getByRole('button', { name: 'Save with these choices' }).click();
  await untilSaved(page);
  expect(await articles.read(id)).toMatchObject({ title: 'Theirs', status: 'published', views: 2, topic: sea.id });
  await page.getByRole('heading', { name: 'Theirs' }).waitFor();
});

browserTest(
  'a record that changes while it is edited shows a notice, and changes in place otherwise',
  120_000,
  async () => {
    const { id } = await articles.create({ title: 'Watched', views: 1 });
    const { page } = await openRecord(id);
    await page.getByText('Live', { exact: true }).waitFor();
    await articles.update(id, { title: 'Changed elsewhere' });
    await page.getByRole('heading', { name: 'Changed elsewhere' }).waitFor();
    await field(page, 'views').getByRole('textbox').fill('5');
    await articles.update(id, { title: 'Changed again' });
    await page.getByText('This record changed while you were editing it.').waitFor();
    expect(await field(page, 'views').getByRole('textbox').inputValue()).toBe('5');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('button', { name: 'Save with these choices' }).click();
    await untilSaved(page);
    expect(await articles.read(id)).toMatchObject({ title: 'Changed again', views: 5 });
  },
);

browserTest('changes that are not saved are not lost by a link, the back button or a reload', 120_000, async () => {
  const { id } = await articles.create({ title: 'Precious' });
  const { page } = await openConsole(browser, `${DATA}/article?q=precious`);
  await page.getByRole('link', { name: 'Open Precious' }).click();
  await field(page, 'body').getByRole('textbox').fill('Not saved');
  const dialog = page.getByRole('dialog', { name: 'Leave without saving?' });
  await page.getByRole('link', { name: 'Topics' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.goBack();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  // The page returns to its place in the history while the question is shown.
  await expect.poll(() => new URL(page.url()).pathname).toBe(`/console/data/article/${id}`);
  expect(await page.title()).toBe('Precious · Articles · API console');
  await page.getByRole('button', { name: 'View as…' }).click();
  await page.getByRole('button', { name: 'A visitor' }).click();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await field(page, 'body').getByRole('textbox').inputValue()).toBe('Not saved');
  const asked = page.waitForEvent('dialog');
  page.evaluate('location.reload()').catch(() => undefined);
  await (await asked).dismiss();
  expect(await field(page, 'body').getByRole('textbox').inputValue()).toBe('Not saved');
  await page.goBack();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await page.getByRole('link', { name: 'Open Precious' }).waitFor();
});

browserTest('a link that is opened right after a change asks before the change is lost', 60_000, async () => {
  const { id } = await articles.create({ title: 'Quick' });
  const { page } = await openRecord(id);
  // Before the page is painted with the change.
  await page.evaluate(`(async () => {
    const input = document.getElementById('field-body');
    input.value = 'Not saved';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)));
    document.querySelector('a[href="/console/data/topic"]').click();
  })()`);
  await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
});

browserTest('what is typed while a record is saved stays, and a key that repeats saves once', 120_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${DATA}/article/new`);
  const sent: string[] = [];
  let held = Promise.withResolvers<void>();
  await page.route('**/console/api/records/article**', async (route) => {
    const method = route.request().method();
    if (method !== 'GET') {
      sent.push(method);
      await held.promise;
    }
    await route.continue();
  });
  const input = (name: string) => field(page, name).getByRole('textbox');
  const saveTwice = async () => {
    for (const _ of [1, 2]) await page.keyboard.press('Control+s');
  };
  await input('title').fill('Once');
  await saveTwice();
  await expect.poll(() => sent).toEqual(['POST']);
  held.resolve();
  await page.getByRole('heading', { name: 'Once' }).waitFor();

  held = Promise.withResolvers();
  await input('title').fill('Twice');
  await saveTwice();
  await input('views').fill('7');
  await expect.poll(() => sent).toEqual(['POST', 'PATCH']);
  held.resolve();
  await page.getByRole('heading', { name: 'Twice' }).waitFor();
  await page.getByText('1 field changed').waitFor();
  expect(await input('views').inputValue()).toBe('7');
  await save(page);
  await page.getByText('1 field changed').waitFor({ state: 'detached' });
  expect((await articles.list({ q: 'Twice' })).data).toMatchObject([{ title: 'Twice', views: 7 }]);
  expect(sent).toEqual(['POST', 'PATCH', 'PATCH']);
  expect(pageErrors).toEqual([]);
});

browserTest('a picker chooses no record of a text that has been typed over', 60_000, async () => {
  const { id } = await articles.create({ title: 'Picked' });
  const { page } = await openRecord(id);
  const held = Promise.withResolvers<void>();
  await page.route('**/console/api/references/topic?*q=*', async (route) => {
    await held.promise;
    await route.continue();
  });
  const input = field(page, 'topic').getByRole('combobox');
  const options = field(page, 'topic').getByRole('option');
  await input.click();
  await options.filter({ hasText: 'Sea' }).waitFor();
  await input.fill('Space');
  await input.press('Enter');
  expect(await input.inputValue()).toBe('Space');
  held.resolve();
  await expect.poll(() => options.count()).toBe(1);
  await input.press('Enter');
  await save(page);
  await untilSaved(page);
  expect((await articles.read(id)).topic).toBe(space.id);
});

browserTest('a record is deleted after a question, and restored with undo', 120_000, async () => {
  const { id } = await articles.create({ title: 'Short life' });
  const { page } = await openRecord(id);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Article deleted').waitFor();
  expect(await articles.first({ id })).toBeUndefined();
  await page.goto(`${DATA}/article/${id}`);
  await page.getByText('This record is deleted. Restore it to change it.').waitFor();
  expect(await page.locator('.record-form :is(input, textarea, select)').count()).toBe(0);
  await page.getByRole('button', { name: 'Restore' }).click();
  await field(page, 'title').getByRole('textbox').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { name: 'Short life' }).waitFor();
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByText('Restored', { exact: true }).first().waitFor();
  await page.getByText('Created', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'JSON and API' }).click();
  await page.getByText(`/api/articles/${id}`).first().waitFor();
  await page.getByText(`-d '{"title":"Short life"}'`).waitFor();
  await page.goto(`${DATA}/topic/${space.id}`);
  await page
    .getByRole('complementary', { name: 'Details' })
    .getByRole('link', { name: 'Articles', exact: true })
    .click();
  await page.getByRole('button', { name: 'Topic is Space', exact: true }).waitFor();
});

browserTest('an uploaded image is shown, and can be removed', 120_000, async () => {
  const made = await app.files.store(Readable.from([PNG]), { name: 'tower.png' });
  const { id } = await articles.create({ title: 'Picture', cover: made });
  const { page, pageErrors } = await openRecord(id);
  await field(page, 'cover').getByAltText('Preview of tower.png').scrollIntoViewIfNeeded();
  const imageWidth = () => page.evaluate(`document.querySelector('.file img').naturalWidth`);
  await expect.poll(imageWidth, { timeout: 30_000 }).toBeGreaterThan(0);
  await field(page, 'cover').getByRole('button', { name: 'Clear cover' }).click();
  await save(page);
  await untilSaved(page);
  expect((await articles.read(id)).cover).toBeUndefined();
  expect(pageErrors).toEqual([]);
});

browserTest('an image is uploaded without a session, and stored with the record', 120_000, async () => {
  const { id } = await articles.create({ title: 'New picture' });
  const { page, pageErrors } = await openRecord(id);
  await field(page, 'cover')
    .locator('input[type=file]')
    .setInputFiles({ name: 'sea.png', mimeType: 'image/png', buffer: PNG });
  await field(page, 'cover').getByText('sea.png').waitFor();
  await save(page);
  await untilSaved(page);
  expect((await articles.read(id)).cover).toMatchObject({ name: 'sea.png', type: 'image/png' });
  expect(pageErrors).toEqual([]);
});

const PROBE = `"><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;

browserTest('hostile values stay texts, and addresses with scripts are no links', 120_000, async () => {
  const { id } = await articles.create({
    title: PROBE,
    body: PROBE,
    tags: [PROBE, '__proto__', 'constructor'],
    place: { street: PROBE },
    extra: JSON.parse(`{ "__proto__": ${JSON.stringify(PROBE)}, "constructor": 1 }`),
    notes: PROBE,
    account: PROBE,
    slug: 'javascript:window.attacked=1',
    website: 'https://example.com/"onmouseover="window.attacked=1',
  });
  await app.service('topic').create({ name: PROBE });
  const { page, pageErrors } = await openConsole(
    browser,
    `${DATA}/article?columns=title,tags,place,extra,notes,slug,website,__proto__,constructor&q=${encodeURIComponent('onerror')}`,
  );
  await page.getByText('1 article', { exact: true }).waitFor();
  await page.locator('.row-link').click();
  await field(page, 'title').waitFor();
  await field(page, 'account').getByRole('button', { name: 'Reveal' }).click();
  await field(page, 'topic').getByRole('combobox').click();
  await field(page, 'topic').getByRole('option').first().waitFor();
  for (const tab of ['History', 'JSON and API']) await page.getByRole('button', { name: tab }).click();
  await page.goto(`${DATA}/article/${id}?as=visitor`);
  await page.getByText('policies.read: public').waitFor();
  const hrefs = (await page.evaluate(`[...document.querySelectorAll('a')].map((one) => one.href)`)) as string[];
  expect(hrefs.filter((href) => !href.startsWith('http'))).toEqual([]);
  for (const path of ['__proto__', 'constructor', 'article/__proto__', 'article/%00', '%E0%A4%A'])
    await page.goto(`${DATA}/${path}`).catch(() => undefined);
  expect(await page.evaluate('window.attacked')).toBeUndefined();
  expect(pageErrors.filter((text) => !text.includes('status of 4'))).toEqual([]);
});

browserTest('the record page fits every screen, light and dark, and is accessible', 300_000, async () => {
  const made = await app.files.store(Readable.from([PNG]), { name: 'tower.png' });
  const { id } = await articles.create({
    title: 'Wide'.repeat(40),
    status: 'review',
    views: 3,
    website: 'https://example.com',
    due: new Date().toISOString(),
    tags: ['bell', 'Wide'.repeat(30)],
    place: { street: 'Main street' },
    extra: { a: [1, 'Wide'.repeat(30)] },
    topic: space.id,
    reviewers: [ada.id],
    account: 'DE89',
    cover: made,
    author: ada.id,
  });
  const { page, pageErrors } = await openRecord(id);
  await field(page, 'views').getByRole('textbox').fill('-4');
  await save(page);
  await page.getByRole('alert').waitFor();
  await checkScreens(page, 'console-record');
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByText('Created', { exact: true }).first().waitFor();
  await checkScreens(page, 'console-history', [360, 1280]);
  await page.getByRole('button', { name: 'JSON and API' }).click();
  await page.getByText('Read it').waitFor();
  await checkScreens(page, 'console-json', [360, 1280]);
  expect(pageErrors.filter((text) => !text.includes('status of 422'))).toEqual([]);
});
