import { isUtf8 } from 'node:buffer';
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Command } from 'commander';
import { pluralize } from '../terminal/terminal.ts';

const FILES = '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}';
/** Folders whose files are not written by people. */
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'build', '.next', 'coverage']);

interface CodemodOptions {
  dryRun?: boolean;
}

/** Renames in all files of a folder. Returns what was renamed, one line each, and the files with a former name that are not UTF-8 and stay as they are. */
async function renameInFolder(folder: string, { dryRun = false }: CodemodOptions) {
  const { renameInSource } = await import('./rename.ts');
  const lines: string[] = [];
  const skipped: string[] = [];
  const entries = glob(FILES, { cwd: folder, exclude: ({ name }) => SKIPPED.has(name), withFileTypes: true });
  for await (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const path = relative(folder, file);
    const bytes = await readFile(file);
    const isText = isUtf8(bytes);
    const before = bytes.toString(isText ? 'utf8' : 'latin1');
    const { source, renamings } = renameInSource(before);
    if (renamings.length === 0) continue;
    if (!isText) skipped.push(path);
    else lines.push(...renamings.map(({ line, from, to }) => `${path}:${line} ${from} → ${to}`));
    if (isText && !dryRun) await writeFile(file, source);
  }
  return { lines: lines.sort(), skipped: skipped.sort() };
}

/** The packages whose modules the files now import, as an argument of `npm install`. */
const newPackages = (lines: readonly string[]) =>
  [...new Set(lines.flatMap((line) => / → (@belfry\/[a-z-]+)/.exec(line)?.[1] ?? []))].join(' ');

/** Adds `belfry codemod`, which renames what Belfry has renamed in the files of an app. */
export function addCodemodCommand(program: Command): void {
  program
    .command('codemod')
    .description('Rename in the files of this folder what this version of Belfry calls by another name')
    .option('--dry-run', 'Print what would be renamed, and change no file')
    .action(async (options: CodemodOptions) => {
      const { lines, skipped } = await renameInFolder(process.cwd(), options);
      for (const line of lines) console.log(line);
      for (const path of skipped) console.log(`${path} is not UTF-8: change the names in it yourself.`);
      const packages = newPackages(lines);
      if (lines.length === 0) console.log('Found no former name.');
      else if (options.dryRun === true) console.log(`${pluralize(lines.length, 'place')} would be renamed.`);
      else console.log(`Renamed ${pluralize(lines.length, 'place')}. Review the changes, then run your tests.`);
      if (packages !== '')
        console.log(`Install what is imported ${options.dryRun === true ? 'then' : 'now'}: npm install ${packages}`);
    });
}
