import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import type { Administration } from '../../accounts/administration.ts';
import type { ImportProgress, RefusedRow } from '../../accounts/import/import.ts';
import { readLines } from './lines.ts';
import { importLine } from './report.ts';

const PROGRESS_EVERY_MS = 1000;

/** The file of refused rows, one line of JSON each. It exists only if there are any. */
function createRefusedFile(file: string) {
  let open: number | undefined;
  return {
    add(row: RefusedRow) {
      // Each run overwrites the file. Only its owner can read it, since it contains personal data.
      open ??= openSync(file, 'w', 0o600);
      writeSync(open, `${JSON.stringify(row)}\n`);
    },
    close: () => open !== undefined && closeSync(open),
  };
}

/** Prints at most one line per second. */
function createProgressPrinter(): (progress: ImportProgress) => void {
  let last = performance.now();
  return (progress) => {
    if (performance.now() - last < PROGRESS_EVERY_MS) return;
    last = performance.now();
    console.log(importLine(progress));
  };
}

/**
 * Imports the users of an NDJSON file until its end or until the signal, and prints the result.
 *
 * @returns whether every row was stored, now or earlier
 * @throws Error if the file does not exist
 */
export async function importUsers(accounts: Administration, file: string, signal: AbortSignal): Promise<boolean> {
  if (!existsSync(file)) throw new Error(`${file}: there is no such file.`);
  const report = createRefusedFile(`${file}.refused.ndjson`);
  try {
    const progress = await accounts.importUsers(readLines(file), {
      signal,
      onProgress: createProgressPrinter(),
      onRefused: report.add,
    });
    console.log(importLine(progress));
    if (signal.aborted) console.log('Stopped. Run it again to continue; users that are already stored are skipped.');
    if (progress.refused > 0) console.error(`Refused rows, with reasons: ${file}.refused.ndjson`);
    return progress.refused === 0;
  } finally {
    report.close();
  }
}
