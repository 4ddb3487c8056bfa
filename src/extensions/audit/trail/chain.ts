import { hash, randomBytes } from 'node:crypto';
import { toCanonicalJson } from '../../../platform/json/canonical-json.ts';
import type { Executor } from '../../../platform/postgres/database.ts';
import { HEAD, INSERT, INSERT_VALUES, LOCK } from '../sql.ts';
import type { AuditEvent, Changes, Entry, FieldChange } from './entry.ts';

/** The previous hash of the first row of a chain. */
export const GENESIS = '0'.repeat(64);

/** Returns the hash of a row: SHA-256 (hex) of the canonical JSON of all its values, including the hash of the previous row. */
export function hashEntry(entry: Omit<Entry, 'hash'> & { hash?: string }): string {
  const { hash: _, ...content } = entry;
  return hash('sha256', toCanonicalJson(content));
}

/** Returns the seal that an entry has in place of an erasable value: SHA-256 (hex) with the salt of the row. */
export function createSeal(salt: string, field: string, change: FieldChange): string {
  return hash('sha256', toCanonicalJson([salt, field, change]));
}

/** The position and hash of a row in the chain. */
export interface Link {
  id: number;
  hash: string;
}

// Rows per insert statement. Each row may contain a whole record.
const ROWS_AT_ONCE = 200;

/** Locks both ends of the chain until the transaction ends. */
export async function lockChain(tx: Executor): Promise<void> {
  await tx.write({ name: 'audit_lock', text: LOCK, values: [] });
}

/** Returns the last row of the chain, or the last removed one if no rows remain. */
async function readHead(database: Executor): Promise<Link> {
  const [row] = await database.write<[id: number, hash: string]>({ name: 'audit_head', text: HEAD, values: [] });
  return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
}

/** The values of a row that an erasure can remove. */
interface Erasable {
  owner: string;
  salt: string;
  values: Changes;
}

/** Splits a row into the entry, with seals in place of erasable values, and these values. */
function sealValues({
  erasable,
  ...event
}: AuditEvent): [event: Omit<AuditEvent, 'erasable'>, values: Erasable | undefined] {
  if (erasable === undefined || event.changes === null) return [event, undefined];
  const salt = randomBytes(16).toString('hex');
  const [changes, values]: [Changes, Changes] = [{ ...event.changes }, {}];
  for (const field of erasable.fields) {
    const change = changes[field];
    if (change === undefined || 'changed' in change) continue;
    values[field] = change;
    changes[field] = { sha256: createSeal(salt, field, change) };
  }
  const isAny = Object.keys(values).length > 0;
  return [{ ...event, changes }, isAny ? { owner: erasable.owner, salt, values } : undefined];
}

/** Appends rows to the chain, in order. Other transactions that append wait until this one ends. */
export async function appendToChain(tx: Executor, events: readonly AuditEvent[]): Promise<void> {
  await lockChain(tx);
  // Use a separate statement: the one that waited for the lock does not see rows that were committed meanwhile.
  let last = await readHead(tx);
  const removable: (Erasable & { id: number })[] = [];
  const entries = events.map((whole): Entry => {
    const [event, values] = sealValues(whole);
    if (values !== undefined) removable.push({ ...values, id: last.id + 1 });
    const entry = { ...event, id: last.id + 1, previousHash: last.hash };
    const hash = hashEntry(entry);
    last = { id: entry.id, hash };
    return { ...entry, hash };
  });
  for (let from = 0; from < entries.length; from += ROWS_AT_ONCE) {
    const some = entries.slice(from, from + ROWS_AT_ONCE);
    const toJson = (value: unknown) => (value === null ? null : JSON.stringify(value));
    const columns = [
      some.map((one) => one.id),
      some.map((one) => one.at),
      some.map((one) => one.action),
      some.map((one) => one.resource),
      some.map((one) => one.record),
      some.map((one) => one.user),
      some.map((one) => one.via),
      some.map((one) => one.credential),
      some.map((one) => one.ip),
      some.map((one) => one.requestId),
      some.map((one) => toJson(one.changes)),
      some.map((one) => toJson(one.details)),
      some.map((one) => one.previousHash),
      some.map((one) => one.hash),
    ];
    await tx.write({ name: 'audit_insert', text: INSERT, values: columns });
  }
  for (let from = 0; from < removable.length; from += ROWS_AT_ONCE) {
    const some = removable.slice(from, from + ROWS_AT_ONCE);
    const columns = [
      some.map((one) => one.id),
      some.map((one) => one.owner),
      some.map((one) => one.salt),
      some.map((one) => JSON.stringify(one.values)),
    ];
    await tx.write({ name: 'audit_insert_values', text: INSERT_VALUES, values: columns });
  }
}
