import type { RotationProgress } from '../../src/platform/crypto/rotation/rotate.ts';
import type { App } from '../../src/runtime/create-app.ts';
import { problemLines, rotationLines, statusLines } from './report.ts';

const LINE_MS = 1000;

type Encrypting = Pick<App, 'encryption'>;

/** Prints a line for the first and the last batch of a table, and at most one per second in between. */
function progressLines(): (progress: RotationProgress) => void {
  let last = { table: '', at: 0 };
  return ({ table, done, total }) => {
    if (table === last.table && done < total && performance.now() - last.at < LINE_MS) return;
    last = { table, at: performance.now() };
    console.log(`${table}: ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} values`);
  };
}

/** Prints which values are encrypted with which key. */
export async function printStatus({ encryption }: Encrypting): Promise<void> {
  console.log(statusLines(await encryption.status()).join('\n'));
}

/**
 * Re-encrypts everything with the newest key and prints the progress.
 *
 * @param given `signal` stops it after the current batch; `giveUp` is the id of a key that is lost
 * @returns whether nothing is left to do
 */
export async function rotate(
  { encryption }: Encrypting,
  given: { signal?: AbortSignal; giveUp?: string },
): Promise<boolean> {
  const rotation = await encryption.rotate({ ...given, onProgress: progressLines() });
  console.log(rotationLines(rotation).join('\n'));
  const problems = problemLines(rotation);
  for (const problem of problems) console.error(problem);
  return problems.length === 0;
}
