import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { hashSources, packOnce } from '../../scripts/package/packed.ts';

test('Belfry is packed once for the same sources', { timeout: 300_000 }, () => {
  const pack = () => {
    const steps: string[] = [];
    const belfry = packOnce((name, work) => {
      steps.push(name);
      return work();
    });
    return { belfry, steps };
  };
  const first = pack();
  expect(basename(first.belfry)).toMatch(/^belfry-\d+\.\d+\.\d+[^/]*\.tgz$/);
  expect(existsSync(join(dirname(first.belfry), basename(first.belfry).replace('belfry-', 'belfry-client-')))).toBe(
    true,
  );
  expect(pack()).toEqual({ belfry: first.belfry, steps: ['Checking for changes in Belfry'] });
});

test('the names and the content of sources count, but not what is made of them', () => {
  const root = mkdtempSync(join(tmpdir(), 'belfry-packed-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const hashes: string[] = [];
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
    hashes.push(hashSources(root));
  };
  write('src/a.ts', '1');
  write('src/a.ts', '2');
  write('src/deep/in/b.ts', '2');
  write('packages/client/src/index.ts', '1');
  write('packages/pages/build/build.ts', '1');
  write('packages/client/package.json', '{}');
  write('package-lock.json', '{}');
  write('create-belfry/template/base/gitignore', '1');
  write('migrations/belfry/0001.sql', '1');
  expect(new Set(hashes).size).toBe(hashes.length);
  const before = hashes.length;
  for (const file of [
    'dist/index.js',
    'packages/client/dist/index.js',
    'node_modules/a/package.json',
    'test/a.test.ts',
  ])
    write(file, '1');
  expect(new Set(hashes.slice(before - 1)).size).toBe(1);
});
