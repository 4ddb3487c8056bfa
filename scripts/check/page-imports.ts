import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pagesMayImport } from './rooms.ts';

const SOURCES = 'packages/pages/src/';
/** The types of the server's responses, which pages import as types only: they are no part of a page. */
const RESPONSES = /^src\/(?:.*\/)?responses\.ts$/;
const TYPE_IMPORT = /^(?:import|export) type [^;']*from '(\.[^']+)';$/gm;
/** What a line of a file of types begins with, unless it is indented. */
const LINE_OF_TYPES = /^(?:(?:import|export) type |(?:export )?(?:interface|type) |\/[/*]|[\])}>]|\s|$)/;
/** An import that is not one of types by a relative path. */
const OTHER_IMPORT = /^(?:import|export)\b(?! type [^;]*from '\.)[^;]*\bfrom '|^import '|\bimport\(/m;

/** The folder of a file of the pages: `console`, or `tabs/jobs`. */
const folderOf = (path: string) => /^(?:tabs\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? '';

/** Collects the files of the server that pages type-check: a file, and those that it imports. */
function collectFiles(file: string, found: Map<string, string>): void {
  if (found.has(file)) return;
  const text = readFileSync(file, 'utf8');
  found.set(file, text);
  for (const [, target] of text.matchAll(TYPE_IMPORT)) collectFiles(join(dirname(file), target!), found);
}

/** Returns the files of the server that pages cannot type-check without the rest of the server, and those of types that contain code, as texts. */
function findMoreThanTypes(responses: readonly string[]): string[] {
  const files = new Map<string, string>();
  for (const file of responses) collectFiles(file, files);
  return [...files].flatMap(([file, text]) => [
    ...(OTHER_IMPORT.test(text) ? [`${file} may import only types: pages import it.`] : []),
    ...(RESPONSES.test(file) && !text.split('\n').every((line) => LINE_OF_TYPES.test(line))
      ? [`${file} may contain only types.`]
      : []),
  ]);
}

/**
 * Returns the imports of pages that the rules do not allow, as texts. They are searched as text: the parser of the other rules does not read JSX, and
 * files of pages import each other by relative paths only.
 */
export function findForbiddenPageImports(): string[] {
  const responses: string[] = [];
  const forbidden = globSync(`${SOURCES}**/*.{ts,tsx}`)
    .sort()
    .flatMap((file) => {
      const path = file.slice(SOURCES.length);
      const own = folderOf(path);
      const allowed = pagesMayImport[own.replace(/\/.*/, '')] ?? [];
      const text = readFileSync(file, 'utf8').replaceAll(TYPE_IMPORT, (statement, target) => {
        const imported = join(dirname(file), target);
        if (!RESPONSES.test(imported)) return statement;
        responses.push(imported);
        return '';
      });
      return Array.from(text.matchAll(/(?:from|import) ?\(?'(\.[^']+)'/g), ([, target]) => join(dirname(path), target!))
        .filter((target) => folderOf(target) !== own && !allowed.includes(folderOf(target)))
        .map((target) => `${file} may not import ${target}: see pagesMayImport in scripts/check/rooms.ts.`);
    });
  return [...forbidden, ...findMoreThanTypes(responses)];
}
