import { hash } from 'node:crypto';
import type { Entry, FieldChange } from './entry.ts';

/** What stands before the first row of a chain. */
export const GENESIS = '0'.repeat(64);

/** A JSON value as the one text that it has by RFC 8785: members by name, no white space. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}

/** The hash of a row, in hex: SHA-256 over the canonical JSON of all that it holds, the hash of the row before included. */
export function hashOf(entry: Omit<Entry, 'hash'> & { hash?: string }): string {
  const { hash: _, ...content } = entry;
  return hash('sha256', canonical(content));
}

/** The seal of a field's change, which the entry has in the place of erasable values: SHA-256, in hex, with the salt of the row. */
export function sealOf(salt: string, field: string, change: FieldChange): string {
  return hash('sha256', canonical([salt, field, change]));
}
