import { hash, randomBytes } from 'node:crypto';
import type { Executor } from '../../../extension/index.ts';
import { toCanonicalJson } from '../../../platform/helpers/json/canonical-json.ts';
import type { AuditEvent, Changes, Entry, FieldChange } from './entry.ts';
import { INSERT_ENTRIES, INSERT_VALUES, LOCK_CHAIN, SELECT_LAST_ENTRY } from './sql.ts';

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
export interface ChainLink {
  id: number;
  hash: string;
}

// Rows per insert statement. Each row may contain a whole record.
const ROWS_AT_ONCE = 200;

/** Locks both ends of the chain until the transaction ends. */
export async function lockChain(tx: Executor): Promise<void> {
  await tx.write({ name: 'audit_lock', text: LOCK_CHAIN, values: [] });
}

/** Returns the last row of the chain, or the last removed one if no rows remain. */
async function readHead(database: Executor): Promise<ChainLink> {
  const [row] = await database.write<[id: number, hash: string]>({
    name: 'audit_head',
    text: SELECT_LAST_ENTRY,
    values: [],
  });
  return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
}

/** The values of a row that an erasure can remove. */
interface ErasableValues {
  owner: string;
  salt: string;
  values: Changes;
}

/** Splits a row into the entry, with seals in place of erasable values, and these values. */
function sealErasableValues({
  erasable,
  ...event
}: AuditEvent): [event: Omit<AuditEvent, 'erasable'>, values: ErasableValues | undefined] {
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
  const removable: (ErasableValues & { id: number })[] = [];
  const entries = events.map((auditEvent): Entry => {
    const [event, values] = sealErasableValues(auditEvent);
    if (values !== undefined) removable.push({ ...values, id: last.id + 1 });
    const entry = { ...event, id: last.id + 1, previousHash: last.hash };
    const hash = hashEntry(entry);
    last = { id: entry.id, hash };
    return { ...entry, hash };
  });
  for (let from = 0; from < entries.length; from += ROWS_AT_ONCE) {
    const batch = entries.slice(from, from + ROWS_AT_ONCE);
    const toJson = (value: unknown) => (value === null ? null : JSON.stringify(value));
    const columns = [
      batch.map((one) => one.id),
      batch.map((one) => one.at),
      batch.map((one) => one.action),
      batch.map((one) => one.resource),
      batch.map((one) => one.record),
      batch.map((one) => one.user),
      batch.map((one) => one.via),
      batch.map((one) => one.credential),
      batch.map((one) => one.ip),
      batch.map((one) => one.requestId),
      batch.map((one) => toJson(one.changes)),
      batch.map((one) => toJson(one.details)),
      batch.map((one) => one.previousHash),
      batch.map((one) => one.hash),
    ];
    await tx.write({ name: 'audit_insert', text: INSERT_ENTRIES, values: columns });
  }
  for (let from = 0; from < removable.length; from += ROWS_AT_ONCE) {
    const batch = removable.slice(from, from + ROWS_AT_ONCE);
    const columns = [
      batch.map((one) => one.id),
      batch.map((one) => one.owner),
      batch.map((one) => one.salt),
      batch.map((one) => JSON.stringify(one.values)),
    ];
    await tx.write({ name: 'audit_insert_values', text: INSERT_VALUES, values: columns });
  }
}
