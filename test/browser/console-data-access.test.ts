import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { adminConsole, audit, defineResource, defineUser, f, signInPages, twoFactor } from '../../src/index.ts';
import { codeOf } from '../extensions/two-factor/two-factor-user.ts';
import { createClient, startTestApp } from '../support/app.ts';
import { browserTest, closePages, startBrowser } from './browser.ts';
import { openConsole, startConsoleApp } from './console-app.ts';
import { checkScreens } from './screens.ts';

const PASSWORD = 'correct horse battery';
const FIRST_VIEW_BYTES = 150_000;
const { app, url, person } = await startConsoleApp();
const DATA = `${url}/console/data`;

const note = defineResource('note', {
  fields: { title: f.string().required() },
  policies: { list: 'none', read: 'none' },
});
/** Starts an app in production, whose console is open for administrators. */
const startProduction = (extensions: Parameters<typeof startTestApp>[0]['extensions'] = []) =>
  startTestApp(
    {
      resources: [defineUser(), note],
      settings: { rateLimit: { enabled: false } },
      extensions: [audit(), adminConsole({ production: true }), ...extensions],
    },
    {
      env: () => ({
        NODE_ENV: 'production',
        DRAIN_DELAY_MS: '0',
        APP_URL: 'https://api.example.com',
        SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
        LOG_LEVEL: 'silent',
      }),
      roles: ['web', 'relay'],
    },
  );

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

const ada = await person('Ada');
const ben = await person('Ben');
const owned = await app.service('article').create({ title: 'Of Ada', budget: '9.5', author: ada.id, notes: 'secret' });

async function viewAs(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: /View as|^As / }).click();
  const dialog = page.getByRole('dialog', { name: 'View as…' });
  if (name === 'visitor') {
    await dialog.getByRole('button', { name: 'A visitor' }).click();
    return;
  }
  // The first users are listed at once, with what tells them apart.
  await dialog.getByRole('option', { name: new RegExp(`^${name}.*@`) }).click();
}

browserTest(
  'a viewer sees exactly what the API returns, with the rules that hide the rest, and cannot write',
  180_000,
  async () => {
    const { page, pageErrors } = await openConsole(browser, `${DATA}/article/${owned.id}`);
    const shownValue = (name: string) =>
      page
        .locator('.viewer-fields > div', { has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
        .locator('dd');
    await viewAs(page, 'Ben');
    await page.getByText('You see exactly what Ben gets from the API. Read-only.').waitFor();
    expect(await shownValue('Budget').textContent()).toBe('hidden by visibleTo: owner | admin');
    expect(await shownValue('Notes').textContent()).toBe('hidden by hidden()');
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
    await checkScreens(page, 'console-viewer', [360, 1280]);
    await viewAs(page, 'Ada');
    await expect.poll(() => shownValue('Budget').textContent(), { timeout: 30_000 }).toBe('9.5');
    await viewAs(page, 'visitor');
    await page.getByText('You see exactly what a visitor gets').waitFor();
    await page.getByRole('link', { name: 'Articles' }).first().click();
    await page.getByRole('link', { name: 'Open Of Ada' }).waitFor();
    expect(await page.getByRole('link', { name: 'New article' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Empty things' }).click();
    await page.getByRole('heading', { name: 'This viewer sees no empty things' }).waitFor();
    expect(new URL(page.url()).search).toBe('?as=visitor');
    await page.getByRole('button', { name: 'Show everything' }).click();
    await page.getByRole('heading', { name: 'No empty things yet' }).waitFor();
    expect(ben.id).not.toBe(ada.id);
    expect(pageErrors).toEqual([]);
  },
);

browserTest(
  'the first view has less than 150 KB, all of it from the app, and violates no policy',
  120_000,
  async () => {
    const page = await browser.newPage();
    let bytes = 0;
    const origins = new Set<string>();
    const counted: Promise<void>[] = [];
    page.on('response', (response) => {
      origins.add(new URL(response.url()).origin);
      if (response.url().includes('/changes')) return;
      counted.push(
        response
          .request()
          .sizes()
          .then(({ responseBodySize }) => {
            bytes += responseBodySize;
          }),
      );
    });
    const violations: string[] = [];
    page.on('console', (message) => violations.push(message.text()));
    await page.goto(`${DATA}/article`);
    await page.getByRole('link', { name: 'Open Of Ada' }).waitFor();
    await Promise.all(counted);
    expect(bytes).toBeGreaterThan(30_000);
    expect(bytes).toBeLessThan(FIRST_VIEW_BYTES);
    expect([...origins]).toEqual([url]);
    expect(violations).toEqual([]);
    const { headers } = await fetch(`${DATA}/article`);
    const policy = headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'; script-src 'self' 'sha256-");
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    // In development, notifications of the push simulator show images of any https origin.
    expect(policy.replace("img-src 'self' data: https:", '')).not.toMatch(/unsafe|https?:/);
    const evaluated = page.evaluate(`document.body.innerHTML = '<b>x</b>'`);
    await expect(evaluated).rejects.toThrow('TrustedHTML');
    await page.close();
  },
);

browserTest('a file is checked before its valid rows are imported, and the list is exported', 120_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/article?q=imported`);
  const more = async (name: string) => {
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name }).click();
  };
  await more('Import a file…');
  const dialog = page.getByRole('dialog', { name: 'Import articles' });
  const buffer = Buffer.from('id,title,views\n,Imported one,1\n,Imported two,-1\n');
  await dialog.locator('input[type=file]').setInputFiles({ name: 'articles.csv', mimeType: 'text/csv', buffer });
  await dialog.getByRole('button', { name: 'Check' }).click();
  await dialog.getByText('views: Must be at least 0').waitFor();
  // New records get new ids, so that the column has no field until the ids are kept.
  const idColumn = dialog.getByRole('combobox', { name: 'id', exact: true });
  expect(await idColumn.inputValue()).toBe('');
  await dialog.getByLabel('Existing records').selectOption({ label: 'Create all with the ids and times in the file' });
  await dialog.getByRole('button', { name: 'Check' }).click();
  await dialog.getByText('views: Must be at least 0').waitFor();
  expect(await idColumn.inputValue()).toBe('id');
  expect(await app.service('article').first({ q: 'Imported' })).toBeUndefined();
  await dialog.getByRole('button', { name: 'Import the valid rows' }).click();
  await page.getByRole('dialog', { name: 'Imported' }).getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('link', { name: 'Open Imported one' }).waitFor();
  const saved = page.waitForEvent('download');
  await more('Export as NDJSON');
  const stream = await (await saved).createReadStream();
  const text = Buffer.concat(await stream.toArray()).toString();
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).title),
  ).toEqual(['Imported one']);
});

browserTest(
  'a file of Excel is read, its columns are chosen, and the rejected rows are downloaded',
  120_000,
  async () => {
    const { page, pageErrors } = await openConsole(browser, `${DATA}/article?q=sheet`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('button', { name: 'Import a file…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Import articles' });
    const choose = (text: string, encoding: BufferEncoding = 'latin1') =>
      dialog
        .locator('input[type=file]')
        .setInputFiles({ name: 'sheet.csv', mimeType: 'text/csv', buffer: Buffer.from(text, encoding) });
    const column = (name: string) => dialog.getByRole('combobox', { name, exact: true });
    await choose('PK\x03\x04');
    await dialog.getByText('This is an Excel workbook.').waitFor();
    await choose('Kopf;VIEWS;Remark\nSheet Zoë;1;\n\n"Sheet <b>two</b>";-1;"a;b"\n;;only a remark\nSheet "x;3;\n');
    expect(await dialog.getByLabel('Encoding').inputValue()).toBe('windows-1252');
    expect(await dialog.getByLabel('Cells are separated by').inputValue()).toBe(';');
    expect(await column('VIEWS').inputValue()).toBe('views');
    await dialog.getByText('New records also need Title: no column is chosen for it.').waitFor();
    await column('Kopf').selectOption('views');
    await dialog.getByRole('alert').filter({ hasText: 'Two columns set views.' }).waitFor();
    expect(await dialog.getByRole('button', { name: 'Check' }).isDisabled()).toBe(true);
    await column('Kopf').selectOption('title');
    const preview = dialog.getByRole('region', { name: 'Preview of the first rows' });
    await preview.getByText('Sheet <b>two</b>').waitFor();
    await preview.getByText('Has no value in an imported column').waitFor();
    await dialog.getByLabel('Encoding').selectOption('utf-8');
    await preview.getByText('Sheet Zo\uFFFD').waitFor();
    await dialog.getByLabel('Encoding').selectOption('windows-1252');
    await preview.getByText('Sheet Zoë').waitFor();
    await dialog.getByRole('button', { name: 'Check' }).click();
    await preview.getByText('Must be at least 0').waitFor();
    await checkScreens(page, 'console-import', [390, 1280]);
    await dialog.getByRole('button', { name: 'Import the valid rows' }).click();
    const report = page.getByRole('dialog', { name: 'Imported' });
    const saved = page.waitForEvent('download');
    await report.getByRole('button', { name: 'Download the rejected rows' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toBe('sheet-rejected.csv');
    expect(Buffer.concat(await (await file.createReadStream()).toArray()).toString()).toBe(
      [
        '\uFEFFKopf;VIEWS;Remark;_row;_error',
        'Sheet <b>two</b>;-1;"a;b";4;views: Must be at least 0',
        ';;only a remark;5;Has no value in an imported column',
        '"Sheet ""x";3;;6;"Has a stray quote. Quotes must enclose a whole cell, and a quote inside it is written twice"',
        '',
      ].join('\r\n'),
    );
    expect((await app.service('article').list({ q: 'Sheet' })).data.map(({ title }) => title)).toEqual(['Sheet Zoë']);
    expect(pageErrors).toEqual([]);
  },
);

browserTest('a file of 10 MB is imported in parts, and can be stopped', 180_000, async () => {
  const { page } = await openConsole(browser, `${DATA}/empty-thing`);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Import a file…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import empty things' });
  const folder = await mkdtemp(join(tmpdir(), 'belfry-import-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'many.csv'), `name,remark\n${`Many,${'x'.repeat(195)}\n`.repeat(50_000)}`);
  await dialog.locator('input[type=file]').setInputFiles(join(folder, 'many.csv'));
  await dialog.getByText('The first 5 of 50,000 rows').waitFor();
  let parts = 0;
  await page.route('**/import?*', async (route) => {
    parts++;
    if (parts === 2) await dialog.getByRole('button', { name: 'Stop' }).click();
    await route.continue();
  });
  await dialog.getByRole('button', { name: 'Check' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'You stopped it.' }).waitFor();
  expect(parts).toBe(2);
});

browserTest(
  'in production, an administrator signs in with a password and confirms an old sign-in',
  180_000,
  async () => {
    const production = await startProduction();
    const admin = await production.person('Root', ['user', 'admin']);
    const user = await production.person('Cleo');
    const { page, pageErrors } = await openConsole(browser, `${production.url}/console/data/note`);
    const signIn = async (email: string) => {
      await page.getByLabel('E-mail address').fill(email);
      await page.getByLabel('Password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
    };
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    await page.getByLabel('Password').waitFor();
    await checkScreens(page, 'console-sign-in', [360, 1280]);
    await signIn(user.email);
    await page.getByRole('heading', { name: 'You may not use the console' }).waitFor();
    await page.getByRole('button', { name: 'Use another account' }).click();
    await page.getByLabel('Password').fill('wrong');
    await page.getByLabel('E-mail address').fill(admin.email);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await signIn(admin.email);
    await page.getByRole('heading', { name: 'No notes yet' }).waitFor();
    await page.getByText('production', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'E-mails' }).waitFor();
    await page.getByRole('link', { name: 'Push' }).click();
    await page.getByRole('heading', { name: 'Nothing has been sent yet' }).waitFor();
    expect(await page.getByRole('link', { name: 'Simulator' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Data', exact: true }).click();
    await page.getByRole('heading', { name: 'No notes yet' }).waitFor();
    expect(await page.evaluate(`localStorage.getItem('belfry.token')`)).toBeNull();
    await page.getByRole('link', { name: 'Create the first note' }).click();
    // The answer of a server whose session has become too old for the console.
    let refusals = 1;
    await page.route('**/console/api/records/note', (route) =>
      route.request().method() === 'POST' && refusals-- > 0
        ? route.fulfill({ status: 403, json: { error: { code: 'RECENT_SIGN_IN_REQUIRED', message: 'Sign in again' } } })
        : route.continue(),
    );
    await page.locator('#field-title').fill('Confirmed');
    await page.getByRole('button', { name: 'Create note' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Confirmed' }).waitFor();
    await page.getByRole('button', { name: /^Sign out/ }).click();
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    expect(pageErrors.filter((text) => !/status of (401|403|404)/.test(text))).toEqual([]);
  },
);

browserTest('an administrator with two-factor login signs in and confirms with codes', 120_000, async () => {
  const production = await startProduction([twoFactor()]);
  const admin = await production.person('Root', ['user', 'admin']);
  const { secret } = (await admin.call('POST', '/api/auth/2fa/enrol', { password: PASSWORD })).body.data;
  const confirmed = await admin.call('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) });
  const [recoveryCode] = confirmed.body.data.recoveryCodes;
  const { page } = await openConsole(browser, `${production.url}/console/data/note/new`);
  await page.getByLabel('E-mail address').fill(admin.email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Code of your authenticator app').fill(recoveryCode);
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByRole('heading', { name: 'New note' }).waitFor();
  let refusals = 1;
  await page.route('**/console/api/records/note', (route) =>
    refusals-- > 0
      ? route.fulfill({ status: 403, json: { error: { code: 'RECENT_SIGN_IN_REQUIRED', message: 'Sign in again' } } })
      : route.continue(),
  );
  await page.locator('#field-title').fill('With a code');
  await page.getByRole('button', { name: 'Create note' }).click();
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByLabel('Code of your authenticator app').fill(codeOf(secret, 1));
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'With a code' }).waitFor();
});

browserTest('with sign-in pages, the console links to them, and their session opens it', 120_000, async () => {
  const production = await startProduction([signInPages(), twoFactor()]);
  const admin = await production.person('Root', ['user', 'admin']);
  const { page } = await openConsole(browser, `${production.url}/console/data/note`);
  const link = page.getByRole('link', { name: 'Sign in' });
  expect(await link.getAttribute('href')).toBe('/auth/sign-in?next=%2Fconsole%2Fdata%2Fnote');
  await link.click();
  await page.getByLabel('E-mail address').fill(admin.email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'No notes yet' }).waitFor();
  const session = createClient(production.url, (await page.evaluate(`localStorage.getItem('belfry.token')`)) as string);
  await session('DELETE', '/api/auth/sessions');
  await session('POST', '/api/auth/logout');
  await page.getByRole('link', { name: 'Users' }).click();
  await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
});

const EMPTY = await startTestApp({ resources: [defineUser()], extensions: [adminConsole()] }, { roles: 'all' });

browserTest('an app without resources of its own shows how to declare one', 60_000, async () => {
  const { page, pageErrors } = await openConsole(browser, `${EMPTY.url}/console`);
  await page.getByRole('heading', { name: 'This app declares no resources yet' }).waitFor();
  await page.getByText("defineResource('post'").waitFor();
  await checkScreens(page, 'console-no-resources', [360, 1280]);
  expect(pageErrors).toEqual([]);
});

browserTest(
  'every control has a visible focus, in light and in dark mode, and from right to left nothing overflows',
  120_000,
  async () => {
    const { page } = await openConsole(browser, `${DATA}/article`);
    await page.getByRole('link', { name: 'Open Of Ada' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.getByRole('heading', { level: 1 }).click();
      const seen: { tag: string; isOutlined: boolean }[] = [];
      for (let i = 0; i < 30; i++) {
        await page.keyboard.press('Tab');
        seen.push(
          (await page.evaluate(`(() => {
          const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
          return { tag: document.activeElement.outerHTML.slice(0, 80), isOutlined: outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2 };
        })()`)) as { tag: string; isOutlined: boolean },
        );
      }
      expect(seen.filter(({ tag, isOutlined }) => !isOutlined && !tag.startsWith('<body'))).toEqual([]);
    }
    await page.evaluate(`document.documentElement.dir = 'rtl'`);
    for (const path of ['article', `article/${owned.id}`]) {
      await page.goto(`${DATA}/${path}`);
      await page.locator('main h1').waitFor();
      await page.evaluate(`document.documentElement.dir = 'rtl'`);
      await checkScreens(page, `console-rtl-${path.includes('/') ? 'record' : 'list'}`, [360, 1280]);
    }
  },
);
