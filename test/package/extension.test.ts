import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runVitest } from '../testing/run-tests.ts';
import { createProjectWith, providePackages } from './packages.ts';

// Building takes long on a busy machine.
vi.setConfig({ testTimeout: 480_000 });

/** The settings of an app that `npm create belfry` made. */
const TSCONFIG = JSON.stringify({ extends: resolve('create-belfry/template/base/tsconfig.json'), include: ['*.ts'] });

test('the complete extension of docs/extend/extensions.md compiles and passes its tests with the package', async () => {
  const packages = await providePackages();
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-extension-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folder = createProjectWith(packages, join(root, 'reminders'));
  const [, section] = readFileSync('docs/extend/extensions.md', 'utf8').split('## A complete extension');
  const [, extension] = /```ts\n([\s\S]*?)```/.exec(section!)!;
  const tests = readFileSync('test/runtime/reminders-example.test.ts', 'utf8')
    .replace('../../src/index.ts', 'belfry')
    .replace('../../src/extension/index.ts', 'belfry/extension')
    .replace('../../src/testing/index.ts', 'belfry/testing')
    .replace('../fixtures/reminders.ts', './reminders.ts');
  const files = { 'reminders.ts': extension!, 'reminders.test.ts': tests, 'tsconfig.json': TSCONFIG };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const compiler = [resolve('node_modules/typescript/bin/tsc'), '-p', folder, '--noEmit'];
  expect(spawnSync(process.execPath, compiler, { encoding: 'utf8' })).toMatchObject({ stdout: '', status: 0 });
  const { code, output } = await runVitest(folder);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Tests +4 passed/) });
});
