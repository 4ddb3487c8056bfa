import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { providePackages } from './packages.ts';

// Building takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const MAX_BYTES = 1_500_000;

/** Runs a program of Node in the repository. Returns its exit code and its output. */
function run(...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { code: status, output: stdout + stderr };
}

const { belfry: tarball } = await providePackages();

test('the package is built and packed, and small', () => {
  expect(tarball).toMatch(/\/belfry-\d+\.\d+\.\d+[^/]*\.tgz$/);
  expect(statSync(tarball).size).toBeLessThan(MAX_BYTES);
});

test('the package contains the pages, the migrations and the licence, and no sources', () => {
  const { stdout } = spawnSync('tar', ['tzf', tarball], { encoding: 'utf8' });
  const files = stdout.split('\n');
  for (const name of [
    'bin/belfry.mjs',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/extensions/console/page/index.html',
    'dist/push/page/sw.js',
    'migrations/belfry/meta/_journal.json',
    'LICENSE',
    'README.md',
    'CHANGELOG.md',
  ])
    expect(files).toContain(`package/${name}`);
  expect(files.filter((name) => /^package\/(src|test|scripts|bench|workers)\//.test(name))).toEqual([]);
});

test('publint and attw find no problem', () => {
  const publint = run('node_modules/publint/src/cli.js', '--strict', tarball);
  expect({ publint, code: publint.code }).toMatchObject({ code: 0 });
  const attw = run('node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only', tarball);
  expect({ attw, code: attw.code }).toMatchObject({ code: 0 });
});

test('declarations name compiled modules', () => {
  const { stdout } = spawnSync('tar', ['xzOf', tarball, 'package/dist/index.d.ts'], { encoding: 'utf8' });
  expect(stdout).toContain('createApp');
  expect(stdout).not.toMatch(/\.ts['"]/);
});
