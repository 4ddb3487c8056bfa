import type { Executor } from '../../platform/postgres/database.ts';
import type { AuditEvent, Entry } from './entry.ts';
import { GENESIS, hashOf } from './hash.ts';
import { HEAD, INSERT, LOCK } from './sql.ts';

/** A row of the chain, by its place. */
export interface Link {
  id: number;
  hash: string;
}

// Rows of one statement: each may tell of a whole record.
const ROWS_AT_ONCE = 200;

/** Keeps everybody else from the end and the beginning of the chain until the transaction ends. */
export async function lockChain(tx: Executor): Promise<void> {
  await tx.write({ name: 'audit_lock', text: LOCK, values: [] });
}

/** The last row; of a chain whose rows are all removed the last one of those. */
async function headOf(database: Executor): Promise<Link> {
  const [row] = await database.write<[id: number, hash: string]>({ name: 'audit_head', text: HEAD, values: [] });
  return row === undefined ? { id: 0, hash: GENESIS } : { id: row[0], hash: row[1] };
}

/** Adds rows to the end of the chain, in their order. Others who do so wait until the transaction has ended. */
export async function append(tx: Executor, events: readonly AuditEvent[]): Promise<void> {
  await lockChain(tx);
  // A statement of its own: the one that waited for the lock does not see what was committed meanwhile.
  let last = await headOf(tx);
  const entries = events.map((event): Entry => {
    const entry = { ...event, id: last.id + 1, previousHash: last.hash };
    const hash = hashOf(entry);
    last = { id: entry.id, hash };
    return { ...entry, hash };
  });
  for (let from = 0; from < entries.length; from += ROWS_AT_ONCE) {
    const some = entries.slice(from, from + ROWS_AT_ONCE);
    const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
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
      some.map((one) => json(one.changes)),
      some.map((one) => json(one.details)),
      some.map((one) => one.previousHash),
      some.map((one) => one.hash),
    ];
    await tx.write({ name: 'audit_insert', text: INSERT, values: columns });
  }
}
