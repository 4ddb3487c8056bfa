import { readFile, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';

/** Where a command writes its text. */
export interface OutputOptions {
  out?: string;
  check?: boolean;
}

/** Adds `--out` and `--check`. */
export const addOutputOptions = (command: Command): Command =>
  command
    .option('--out <file>', 'The file to write. Default: standard output')
    .option('--check', 'Write nothing, and fail if the file of --out is outdated');

/** Refuses `--check` without `--out`. */
export function checkOutputOptions({ out, check }: OutputOptions, command: Command): void {
  if (check && out === undefined) command.error('error: --check needs --out, the file to check.');
}

/** Writes the text of a command as its options say. @throws Error with `--check` if the file has another text or does not exist */
export async function writeOutput(text: string, { out, check }: OutputOptions): Promise<void> {
  if (out === undefined) {
    console.log(text.trimEnd());
    return;
  }
  if (!check) {
    await writeFile(out, text);
    return;
  }
  const found = await readFile(out, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  // Git may have written the file with the line ends of Windows.
  if (found?.replaceAll('\r\n', '\n') === text) return;
  const problem = found === undefined ? 'does not exist' : 'is outdated';
  throw new Error(`${out} ${problem}. Run the command without --check to write it.`);
}
