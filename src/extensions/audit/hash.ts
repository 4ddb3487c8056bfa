import { hash } from 'node:crypto';
import { canonicalJson } from '../../platform/canonical-json.ts';
import type { Entry, FieldChange } from './entry.ts';

/** What stands before the first row of a chain. */
export const GENESIS = '0'.repeat(64);

/** The hash of a row, in hex: SHA-256 over the canonical JSON of all that it holds, the hash of the row before included. */
export function hashOf(entry: Omit<Entry, 'hash'> & { hash?: string }): string {
  const { hash: _, ...content } = entry;
  return hash('sha256', canonicalJson(content));
}

/** The seal of a field's change, which the entry has in the place of erasable values: SHA-256, in hex, with the salt of the row. */
export function sealOf(salt: string, field: string, change: FieldChange): string {
  return hash('sha256', canonicalJson([salt, field, change]));
}
