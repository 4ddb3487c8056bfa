import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const LOCK_FILES = ['package-lock.json', 'scripts/docs/site/package-lock.json', 'scripts/node/package-lock.json'];

/** A copy of the files that the check reads, and the check on it. */
function project() {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-pinned-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of [...LOCK_FILES, 'migrations']) cpSync(join(root, path), join(folder, path), { recursive: true });
  return {
    edit: (file: string, change: (text: string) => string) =>
      writeFileSync(join(folder, file), change(readFileSync(join(folder, file), 'utf8'))),
    add: (file: string, text: string) => writeFileSync(join(folder, file), text),
    remove: (file: string) => rmSync(join(folder, file)),
    check() {
      const script = join(root, 'scripts/check/pinned-files.ts');
      const { status, stderr } = spawnSync(process.execPath, [script], { cwd: folder, encoding: 'utf8' });
      return { status, output: stderr.trim() };
    },
  };
}

test('the lock files and the published migrations of this repository are pinned', () => {
  expect(project().check()).toEqual({ status: 0, output: '' });
});

test.each(LOCK_FILES)('a package without an integrity in %s fails the check, which names the package', (file) => {
  const { edit, check } = project();
  let name = '';
  edit(file, (text) => {
    const lock = JSON.parse(text);
    name = Object.keys(lock.packages).findLast((path) => lock.packages[path].integrity !== undefined)!;
    delete lock.packages[name].integrity;
    return JSON.stringify(lock);
  });
  expect(check()).toEqual({ status: 1, output: expect.stringContaining(`${file}: ${name} has no integrity`) });
});

test('a lock file that contains the address of a package fails the check', () => {
  const { edit, check } = project();
  edit('package-lock.json', (text) =>
    text.replace('"integrity"', '"resolved": "https://example.com/x.tgz", "integrity"'),
  );
  expect(check()).toMatchObject({ status: 1, output: expect.stringContaining('has a "resolved" address') });
});

test('a published migration that was changed or removed, and a new one that is not listed, fail the check', () => {
  const { edit, add, remove, check } = project();
  add('migrations/belfry/9999_more.sql', 'select 1;\n');
  edit('migrations/0000_init.sql', (text) => `${text}-- more\n`);
  remove('migrations/belfry/0000_upgrade_earlier_versions.sql');
  const { status, output } = check();
  expect(status).toBe(1);
  expect(output).toContain('migrations/0000_init.sql is published but was changed');
  expect(output).toContain('migrations/belfry/0000_upgrade_earlier_versions.sql is published but missing');
  expect(output).toContain('migrations/belfry/9999_more.sql is not listed');
});
