import { glob, readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { pluralize } from '../terminal/terminal.ts';

const FILES = '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}';
/** Folders whose files are not written by people. */
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'build', '.next', 'coverage']);

interface CodemodOptions {
  dryRun?: boolean;
}

/** Renames in all files of a folder. Returns what was renamed, one line each. */
async function renameInFolder(folder: string, { dryRun = false }: CodemodOptions): Promise<string[]> {
  const { renameInSource } = await import('./rename.ts');
  const lines: string[] = [];
  for await (const path of glob(FILES, { cwd: folder, exclude: (name) => SKIPPED.has(name) })) {
    const file = `${folder}/${path}`;
    const before = await readFile(file, 'utf8');
    const { source, renamings } = renameInSource(before);
    if (source !== before && !dryRun) await writeFile(file, source);
    lines.push(...renamings.map(({ line, from, to }) => `${path}:${line} ${from} → ${to}`));
  }
  return lines.sort();
}

/** Adds `belfry codemod`, which renames what Belfry has renamed in the files of an app. */
export function addCodemodCommand(program: Command): void {
  program
    .command('codemod')
    .description('Rename in the files of this folder what this version of Belfry calls by another name')
    .option('--dry-run', 'Print what would be renamed, and change no file')
    .action(async (options: CodemodOptions) => {
      const lines = await renameInFolder(process.cwd(), options);
      for (const line of lines) console.log(line);
      if (lines.length === 0) console.log('Found no former name.');
      else if (options.dryRun === true) console.log(`${pluralize(lines.length, 'place')} would be renamed.`);
      else console.log(`Renamed ${pluralize(lines.length, 'place')}. Review the changes, then run your tests.`);
    });
}
