import type { BrokenRow, Verification } from '../../src/extensions/audit/trail/verify.ts';

const shown = (count: number) => count.toLocaleString('en-US');

const FAULTS: Record<BrokenRow['fault'], string> = {
  missing: 'is missing',
  changed: 'was changed',
  unlinked: 'does not belong behind the row before it',
};

const EXPECTED = {
  there: 'The expected row is there, as it was.',
  removed: 'The expected row was removed by its age: nothing is known of it. Expect a newer one.',
  gone: 'The expected row is not there: the newest rows were removed, or the chain was written anew.',
};

/** Whether nothing is wrong with a chain. */
export function isSound({ broken, expected, guarded }: Verification): boolean {
  return broken === undefined && expected !== 'gone' && guarded;
}

/** What `verify` prints. */
export function verificationLines({ rows, head, broken, expected, guarded }: Verification): string[] {
  const lines = [`${shown(rows)} ${rows === 1 ? 'row is as it was' : 'rows are as they were'}.`];
  if (broken !== undefined) lines.push(`Row ${broken.id} ${FAULTS[broken.fault]}. What follows was not looked at.`);
  else lines.push(`The last one, to be noted for --expect: ${head.id}:${head.hash}`);
  if (expected !== undefined && broken === undefined) lines.push(EXPECTED[expected]);
  if (!guarded) lines.push('A trigger that keeps the rows is missing or switched off: see docs/audit.md.');
  return lines;
}
