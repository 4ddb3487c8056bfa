import type { BrokenRow, Verification } from '../../src/extensions/audit/trail/verify.ts';

const shown = (count: number) => count.toLocaleString('en-US');

const ERRORS: Record<BrokenRow['fault'], string> = {
  missing: 'is missing',
  changed: 'was changed',
  unlinked: 'does not follow from the row before it',
};

const EXPECTED = {
  there: 'The expected row is there and unchanged.',
  removed: 'The expected row was removed because of its age and cannot be verified. Expect a newer one.',
  gone: 'The expected row is missing: the newest rows were removed, or the chain was rewritten.',
};

/** Returns whether a chain is unbroken and protected. */
export function isSound({ broken, expected, guarded }: Verification): boolean {
  return broken === undefined && expected !== 'gone' && guarded;
}

/** Formats the output of `verify`. */
export function verificationLines({ rows, head, broken, expected, guarded }: Verification): string[] {
  const lines = [`${shown(rows)} ${rows === 1 ? 'row is' : 'rows are'} unchanged.`];
  if (broken !== undefined) lines.push(`Row ${broken.id} ${ERRORS[broken.fault]}. Later rows were not checked.`);
  else lines.push(`Last row, for --expect: ${head.id}:${head.hash}`);
  if (expected !== undefined && broken === undefined) lines.push(EXPECTED[expected]);
  if (!guarded) lines.push('A trigger that protects the rows is missing or disabled. See docs/audit.md.');
  return lines;
}
