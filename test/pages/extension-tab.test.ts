import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildConsoleTypes } from '../../packages/pages/build/console-types.ts';
import { adminConsole, defineExtension, defineUser } from '../../src/index.ts';
import { browserTest, closePages, startBrowser } from '../browser/browser.ts';
import { openConsole } from '../browser/console-app.ts';
import { startTestApp } from '../support/app.ts';

const root = join(import.meta.dirname, '../..');
const docs = readFileSync(join(root, 'docs/extend/console-tabs.md'), 'utf8');

/** Returns the block of code in a language that contains a text. */
function findExample(language: string, part: string): string {
  const blocks = Array.from(docs.matchAll(/```(\w+)\n([\s\S]*?)```/g), ([, kind, code]) => ({ kind, code: code! }));
  return blocks.find(({ kind, code }) => kind === language && code.includes(part))!.code;
}

const TYPED_TAB = findExample('tsx', 'belfry/console');

/** The folder of a project with the packages that the documentation names. */
const project = mkdtempSync(join(tmpdir(), 'belfry-tab-'));
afterAll(() => rmSync(project, { recursive: true }));
mkdirSync(join(project, 'node_modules/@preact'), { recursive: true });
for (const name of ['preact', 'htm', '@preact/signals', '@preact/signals-core'])
  symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
buildConsoleTypes(join(project, 'node_modules/@belfry/pages/dist'));
mkdirSync(join(project, 'pages/counter-page'), { recursive: true });
writeFileSync(join(project, 'pages/tsconfig.json'), findExample('json', 'belfry/console'));

/** Compiles the source of a tab, and returns the messages of the compiler. */
function compile(source: string): string {
  writeFileSync(join(project, 'pages/counter-page/tab.tsx'), source);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [tsc, '-p', join(project, 'pages')], { encoding: 'utf8' }).stdout;
}

const plainPage = join(project, 'plain-page');
mkdirSync(plainPage);
writeFileSync(join(plainPage, 'tab.js'), findExample('js', 'belfry/console'));
const messages = compile(TYPED_TAB);

const counts = () => [{ id: 'user', count: 1234 }];
const counter = defineExtension({
  name: 'counter',
  setup: () => ({
    consoleTabs: [
      { id: 'counter', folder: plainPage },
      { id: 'typed', folder: join(project, 'src/extensions/counter-page') },
    ].map(({ id, folder }) => ({
      id,
      label: `Tab ${id}`,
      page: pathToFileURL(`${folder}/`),
      routes: [{ method: 'GET' as const, path: '/counts', handler: counts }],
    })),
  }),
});
const { url } = await startTestApp(
  { resources: [defineUser()], extensions: [adminConsole(), counter] },
  { roles: 'all' },
);

let browser: Browser;
beforeAll(async () => {
  if (process.env.TEST_CHROMIUM === undefined) return;
  browser = await startBrowser();
  return () => closePages(browser);
});

test('the typed tab of the documentation compiles, and mistakes in it are errors', () => {
  expect(messages).toBe('');
  const mistakes: readonly (readonly [former: string, mistake: string, message: string])[] = [
    ['title="Records"', 'titel="Records"', "Property 'titel' does not exist"],
    ['isNumber: true', "isNumber: 'yes'", "Type 'string' is not assignable to type 'boolean"],
    ['({ count }) => count', '({ counts }) => counts', "Property 'counts' does not exist on type 'Count'"],
    ['everyMs: 5000', "everyMs: '5 s'", "Type 'string' is not assignable to type 'number"],
    ["path: ''", 'path: 1', "Type 'number' is not assignable to type 'string'"],
  ];
  for (const [former, mistake, message] of mistakes)
    expect(compile(TYPED_TAB.replace(former, mistake)), mistake).toContain(message);
  compile(TYPED_TAB);
});

browserTest(
  'the tabs of the documentation show their rows, in JavaScript and compiled from TypeScript',
  60_000,
  async () => {
    for (const id of ['counter', 'typed']) {
      const { page, pageErrors } = await openConsole(browser, `${url}/console/${id}`);
      await page.getByRole('heading', { level: 1, name: 'Records' }).waitFor();
      await page.getByRole('row', { name: 'user 1234' }).waitFor();
      expect(pageErrors, id).toEqual([]);
    }
  },
);
