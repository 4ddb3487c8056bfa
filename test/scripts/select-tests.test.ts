import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { selectTests } from '../../scripts/test/arguments.ts';
import { assignProjects } from '../../scripts/test/projects.ts';

// Not in the text of a fixture: it would count as an import of this file.
const BROWSER_PACKAGE = 'playwright-core';

const FILES = {
  'package.json': '{}',
  'src/index.ts': `export * from './records/list.ts';\nexport * from './extensions/console/index.ts';`,
  'src/records/list.ts': `import { pad } from '../platform/text/pad.ts';\nexport const list = pad;`,
  'src/platform/text/pad.ts': 'export const pad = 1;',
  'src/extensions/console/index.ts': 'export const console = 1;',
  'packages/pages/src/console/data/list.tsx': 'export const page = 1;',
  'docs/lists.md': '# Lists',
  'test/support/app.ts': `import { list } from '../../src/index.ts';\nimport './database/test-database.ts';`,
  'test/support/database/test-database.ts': '',
  'test/support/processes/command.ts': '',
  'test/support/started.ts': `import './processes/command.ts';`,
  'test/fixtures/blog.ts': 'export const blog = 1;',
  'test/records/list.test.ts': `import '../support/app.ts';`,
  'test/records/unrelated/sort.test.ts': `import { list } from '../../../src/records/list.ts';`,
  'test/platform/text/pad.test.ts': `import { pad } from '../../../src/platform/text/pad.ts';`,
  'test/accounts/login.test.ts': `import '../support/app.ts';\nimport { blog } from '../fixtures/blog.ts';`,
  'test/accounts/servers.test.ts': 'connect(process.env.TEST_REDIS_URL);',
  'test/cli/start.test.ts': `import '../support/started.ts';\nstart('test/fixtures/blog.ts');`,
  'test/cli/spawn.test.ts': `import { spawn } from 'node:child_process';`,
  'test/browser/browser.ts': `import { chromium } from '${BROWSER_PACKAGE}';`,
  'test/browser/console-data.test.ts': `import '../support/app.ts';\nimport './browser.ts';`,
  'test/docs/examples.test.ts': `readdir('docs');`,
  'test/package/upgrade.test.ts': '',
};

/** Creates a repository with these files, committed. */
function createRepository() {
  const root = mkdtempSync(join(tmpdir(), 'belfry-select-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  for (const [file, text] of Object.entries(FILES)) write(file, text);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd: root });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '--message=all');
  return { root, write, git };
}

/** Returns the files that `--changed` selects after a change of files. */
function selectAfterChange(...changed: string[]): string[] {
  const { root, write } = createRepository();
  for (const file of changed) write(file, `${FILES[file as keyof typeof FILES] ?? ''}\n// changed`);
  const { args } = selectTests(root, ['--changed']);
  return args.filter((argument) => argument.endsWith('.test.ts'));
}

const DEFAULT = ['--project', 'unit', '--project', 'app', '--project', 'process', '--project', 'browser'];

test('the project of a file follows from what it and its helpers import', () => {
  const { root } = createRepository();
  expect(Object.fromEntries(assignProjects(root))).toEqual({
    'test/accounts/login.test.ts': 'app',
    'test/accounts/servers.test.ts': 'app',
    'test/browser/console-data.test.ts': 'browser',
    'test/cli/spawn.test.ts': 'process',
    'test/cli/start.test.ts': 'process',
    'test/docs/examples.test.ts': 'release',
    'test/package/upgrade.test.ts': 'release',
    'test/platform/text/pad.test.ts': 'unit',
    'test/records/list.test.ts': 'app',
    'test/records/unrelated/sort.test.ts': 'unit',
  });
});

test.each([
  [[], DEFAULT, true],
  [['--project', 'unit'], ['--project', 'unit'], false],
  [['--project=unit', '--shard=1/2'], ['--project', 'unit', '--shard=1/2'], false],
  [['--project', 'unit', '--project', 'browser'], ['--project', 'unit', '--project', 'browser'], true],
])('%j runs these projects, and starts services only if they need them', (given, args, needsServices) => {
  expect(selectTests(createRepository().root, given)).toMatchObject({ args, needsServices, isEmpty: false });
});

test('a path selects files of every project, and starts services only if one of them needs some', () => {
  const { root } = createRepository();
  const { args, needsServices } = selectTests(root, ['test/platform', '-t', 'a title']);
  expect(args.slice(-3)).toEqual(['-t', 'a title', 'test/platform']);
  expect(args).toContain('release');
  expect(needsServices).toBe(false);
  expect(selectTests(root, ['test/records']).needsServices).toBe(true);
  expect(selectTests(root, ['app']).args.at(-1)).toBe('test/app/');
});

test('all projects are selected by *, and an unknown one is refused', () => {
  const { root } = createRepository();
  expect(selectTests(root, ['--project', '*']).args).toContain('release');
  expect(() => selectTests(root, ['--project', 'units'])).toThrow('There is no project "units". Projects: process,');
});

test.each<[string, string[], string[]]>([
  ['a test file', ['test/accounts/login.test.ts'], ['test/accounts/login.test.ts']],
  [
    'a file of a feature: the mirror of its folder, and what imports it',
    ['src/records/list.ts'],
    ['test/records/list.test.ts', 'test/records/unrelated/sort.test.ts'],
  ],
  [
    'a helper: what imports it, also through others',
    ['src/platform/text/pad.ts'],
    ['test/platform/text/pad.test.ts', 'test/records/unrelated/sort.test.ts'],
  ],
  [
    'a page: its tests in a browser',
    ['packages/pages/src/console/data/list.tsx'],
    ['test/browser/console-data.test.ts'],
  ],
  [
    'a fixture: what imports it, and what starts it as a process',
    ['test/fixtures/blog.ts'],
    ['test/accounts/login.test.ts', 'test/cli/start.test.ts'],
  ],
  [
    'a new file without a test',
    ['src/records/new/new.ts'],
    ['test/records/list.test.ts', 'test/records/unrelated/sort.test.ts'],
  ],
  ['a page of the documentation, whose tests are in release', ['docs/lists.md'], []],
])('--changed after a change of %s', (_, changed, selected) => {
  expect(selectAfterChange(...changed)).toEqual(selected);
});

test('a change of what all tests share selects everything, and no change selects nothing', () => {
  const { root, write, git } = createRepository();
  expect(selectTests(root, ['--changed'])).toMatchObject({ isEmpty: true, needsServices: true });
  write('test/support/app.ts', '');
  const { note, isEmpty } = selectTests(root, ['--changed']);
  expect({ note, isEmpty }).toEqual({ note: '1 changed file can affect 8 of 8 test files.', isEmpty: false });
  git('checkout', '--quiet', '.');
  write('test/accounts/login.test.ts', '');
  git('commit', '--quiet', '--all', '--message=more');
  expect(selectTests(root, ['--changed']).isEmpty).toBe(true);
  expect(selectTests(root, ['--changed=HEAD~1']).args.at(-1)).toBe('test/accounts/login.test.ts');
  expect(selectTests(root, ['--changed=HEAD~1', 'test/records']).isEmpty).toBe(true);
  expect(selectTests(root, ['--changed', 'test/accounts']).isEmpty).toBe(true);
  expect(() => selectTests(root, ['--changed=nowhere'])).toThrow(
    '--changed needs git: fatal: Not a valid object name nowhere',
  );
});

test('within the documentation, --changed selects its tests if their project is named', () => {
  const { root, write } = createRepository();
  write('docs/lists.md', '# All lists');
  expect(selectTests(root, ['--changed', '--project', 'release']).args.at(-1)).toBe('test/docs/examples.test.ts');
});
