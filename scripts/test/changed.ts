import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ReferenceReader } from './imports.ts';

/** What every test file depends on. */
const SHARED =
  /^(package(-lock)?\.json|tsconfig\.json|vitest\.config\.ts|scripts\/(bootstrap\.mjs|test\.ts|test\/.*)|scripts\/node\/.*|test\/support\/(app\.ts|(vitest|database)\/.*))$/;

/**
 * The files that put all of Belfry together. Almost every test starts an app, so through them every test would depend on every file. The
 * search stops here; tests of what lies behind are found by their folder instead, because `test/` mirrors `src/`.
 */
const DOORS = new Set([
  'src/index.ts',
  'src/extension/index.ts',
  'src/runtime/create-app.ts',
  'src/testing/index.ts',
  'src/cli/command-line.ts',
  'src/cli/belfry.ts',
  'test/support/app.ts',
  'test/support/database/test-database.ts',
]);

/** The files of pages: `packages/pages/src/console/data/list.tsx`. */
const PAGE = /^packages\/pages\/(?:src\/([\w-]+)\/)?/;
/** How the names of their tests in `test/browser` begin, by the folder of the page. All tests for files that several pages share. */
const BROWSER_TESTS: Readonly<Record<string, string>> = {
  console: 'console',
  tabs: 'console',
  portal: 'webhook-portal',
  reference: 'reference',
};

/** Runs git in the repository. @throws Error with what git says */
function git(root: string, ...args: string[]): string[] {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`--changed needs git: ${(error?.message ?? stderr).trim()}`);
  return stdout.split('\0').filter(Boolean);
}

/**
 * Returns the files that differ from a commit, and the new ones, relative to the repository.
 *
 * @param since default: the last commit, so these are the changes of the working tree
 */
export function listChangedFiles(root: string, since = 'HEAD'): string[] {
  const base = since === 'HEAD' ? since : git(root, 'merge-base', since, 'HEAD')[0]!.trim();
  const changed = git(root, 'diff', '--name-only', '-z', '--no-renames', base, '--');
  return [...new Set([...changed, ...git(root, 'ls-files', '-z', '--others', '--exclude-standard')])].toSorted();
}

/** Returns the folder of `test/` that mirrors the folder of a file in `src/` or in the sources of a package, or of the nearest folder above it that has a mirror. */
function findMirror(root: string, file: string): string | undefined {
  const source = file.replace(/^packages\/([^/]+)\/src\//, 'src/$1/');
  for (let folder = dirname(source); folder.startsWith('src/'); folder = dirname(folder)) {
    const mirror = `test${folder.slice('src'.length)}`;
    if (existsSync(join(root, mirror))) return `${mirror}/`;
  }
  return undefined;
}

/** Whether a file depends on a changed one: by an import, or because it names its path or the path of a folder above it. */
function createDependencyCheck(changed: ReadonlySet<string>, readReferences: ReferenceReader) {
  const changedFolders = new Set<string>();
  for (const file of changed)
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) changedFolders.add(folder);
  // These are words, too: `NODE_ENV: 'test'`.
  for (const word of ['src', 'test']) changedFolders.delete(word);
  return (start: string): boolean => {
    const seen = new Set([start]);
    const waiting = [start];
    for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
      if (changed.has(file)) return true;
      if (DOORS.has(file)) continue;
      const { imports, listPaths } = readReferences(file);
      // Only tests and their helpers name files that they read or start.
      const named = file.startsWith('test/') ? listPaths() : [];
      if (named.some((path) => changedFolders.has(path))) return true;
      for (const next of [...imports, ...named]) {
        if (seen.has(next)) continue;
        seen.add(next);
        waiting.push(next);
      }
    }
    return false;
  };
}

/**
 * Returns the test files that changes can affect: those that import or name a changed file, and those in the mirror of its folder. A
 * change in the shared set-up affects all.
 *
 * @param changed from `listChangedFiles`
 */
export function selectAffected(
  root: string,
  tests: readonly string[],
  changed: readonly string[],
  readReferences: ReferenceReader,
): string[] {
  if (changed.some((file) => SHARED.test(file))) return [...tests];
  const mirrors = changed.flatMap((file) => {
    const page = PAGE.exec(file);
    const mirror = findMirror(root, file);
    const browser = page === null ? [] : [`test/browser/${BROWSER_TESTS[page[1] ?? ''] ?? ''}`];
    return [...(mirror === undefined ? [] : [mirror]), ...browser];
  });
  const dependsOnChange = createDependencyCheck(new Set(changed), readReferences);
  return tests.filter((file) => mirrors.some((mirror) => file.startsWith(mirror)) || dependsOnChange(file));
}
