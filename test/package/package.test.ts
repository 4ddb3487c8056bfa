import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';

// Building takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const MAX_BYTES = 1_500_000;
const folder = mkdtempSync(join(tmpdir(), 'belfry-package-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a program of Node in the repository. Returns its exit code and its output. */
function run(...args: string[]): { code: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return { code: status, output: stdout + stderr };
}

const packed = run('scripts/package/pack.ts', '--to', folder);
const tarball = packed.output.trim();

test('the package is built and packed', () => {
  expect(packed).toEqual({ code: 0, output: expect.stringMatching(/belfry-\d+\.\d+\.\d+[^/]*\.tgz\n$/) });
  expect(statSync(tarball).size).toBeLessThan(MAX_BYTES);
});

test('the package contains the pages, the migrations and the licence, but neither sources nor the app of this repository', () => {
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
  expect(files.filter((name) => /^package\/(src|test|scripts|bench|workers|dist\/app)\//.test(name))).toEqual([]);
});

test('publint and attw find no problem', () => {
  const publint = run('node_modules/publint/src/cli.js', '--strict', tarball);
  expect({ publint, code: publint.code }).toMatchObject({ code: 0 });
  const attw = run('node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only', tarball);
  expect({ attw, code: attw.code }).toMatchObject({ code: 0 });
});

test('declarations name compiled modules', () => {
  expect(readFileSync('dist/index.d.ts', 'utf8')).not.toMatch(/\.ts['"]/);
});
