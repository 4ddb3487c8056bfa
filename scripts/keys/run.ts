import type { RotationProgress } from '../../src/platform/crypto/rotate.ts';
import type { App } from '../../src/runtime/create-app.ts';
import { faultLines, rotationLines, statusLines } from './report.ts';

const LINE_MS = 1000;

type Encrypting = Pick<App, 'encryption'>;

/** A line for the first batch of a table, for its last one, and every second in between. */
function progressLines(): (progress: RotationProgress) => void {
  let last = { table: '', at: 0 };
  return ({ table, done, total }) => {
    if (table === last.table && done < total && performance.now() - last.at < LINE_MS) return;
    last = { table, at: performance.now() };
    console.log(`${table}: ${done.toLocaleString('en-US')} of ${total.toLocaleString('en-US')} values`);
  };
}

/** Prints what is encrypted with which key. */
export async function tellStatus({ encryption }: Encrypting): Promise<void> {
  console.log(statusLines(await encryption.status()).join('\n'));
}

/**
 * Puts everything under the newest key, and prints how that goes.
 *
 * @param given `signal` ends it after its batch; `giveUp` is the id of a key that is lost
 * @returns whether nothing is left for a person to do
 */
export async function rotate(
  { encryption }: Encrypting,
  given: { signal?: AbortSignal; giveUp?: string },
): Promise<boolean> {
  const rotation = await encryption.rotate({ ...given, onProgress: progressLines() });
  console.log(rotationLines(rotation).join('\n'));
  const faults = faultLines(rotation);
  for (const fault of faults) console.error(fault);
  return faults.length === 0;
}
