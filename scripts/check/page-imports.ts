import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pagesMayImport } from './rooms.ts';

const SOURCES = 'packages/pages/src/';

/** The folder of a file of the pages: `console`, or `tabs/jobs`. */
const folderOf = (path: string) => /^(?:tabs\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? '';

/**
 * Returns the imports of pages that the rules do not allow, as texts. They are searched as text: the parser of the other rules does not read JSX, and
 * files of pages import each other by relative paths only.
 */
export function findForbiddenPageImports(): string[] {
  const files = globSync(`${SOURCES}**/*.{ts,tsx}`).sort();
  return files.flatMap((file) => {
    const path = file.slice(SOURCES.length);
    const own = folderOf(path);
    const allowed = pagesMayImport[own.replace(/\/.*/, '')] ?? [];
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g);
    return Array.from(imports, ([, target]) => join(dirname(path), target!))
      .filter((target) => folderOf(target) !== own && !allowed.includes(folderOf(target)))
      .map((target) => `${file} may not import ${target}: see pagesMayImport in scripts/check/rooms.ts.`);
  });
}
