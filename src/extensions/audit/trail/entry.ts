import { valueSizeSql } from '../../../records/query/sql/within-bytes.ts';
import type { AuditEntry, Changes, FieldChange } from './responses.ts';

/** An event to record, before it has a position in the chain. */
export interface AuditEvent extends Omit<AuditEntry, 'id'> {
  /** Fields whose values an erasure of the record's owner removes. */
  erasable?: { owner: string; fields: readonly string[] } | undefined;
}

/** A row of the audit trail. */
export interface Entry extends AuditEntry {
  previousHash: string;
  hash: string;
}

/** A row of `audit_entries`, with its columns in the order of the select list below. */
export type EntryRow = [
  id: number,
  at: string,
  action: string,
  resource: string | null,
  recordId: string | null,
  userId: string | null,
  via: string | null,
  credentialId: string | null,
  ip: string | null,
  requestId: string | null,
  changes: Changes | null,
  details: Record<string, unknown> | null,
  previousHash: string,
  hash: string,
];

/** The erasable values of a row; null if there are none or an erasure has removed them. */
export type ValuesColumns = [salt: string | null, values: Changes | null];

/** The select list of the erasable values in `ENTRIES_WITH_VALUES`. */
export const VALUES_COLUMNS = 'salt, values_by_field';

/** SQL for the size of a row in bytes; only these columns can be large. */
export const ROW_BYTES_SQL = ['changes', 'details', 'values_by_field']
  .map((name) => valueSizeSql(name, 'jsonb'))
  .join(' + ');

/** SQL for entries joined with their erasable values. */
export const ENTRIES_WITH_VALUES = 'audit_entries left join audit_values on entry_id = id';

/** Replaces the seals of changes by the stored values. A field whose values an erasure removed becomes `changed`. */
export function restoreSealedValues(changes: Changes | null, values: Changes | null): Changes | null {
  if (changes === null) return null;
  const visible = Object.entries(changes).map(([field, change]): [string, FieldChange] => [
    field,
    'sha256' in change ? (values?.[field] ?? { changed: true }) : change,
  ]);
  return Object.fromEntries(visible);
}

/** The select list of entries. */
export const ENTRY_COLUMNS =
  'id, at, action, resource, record_id, user_id, via, credential_id, ip, request_id, changes, details, previous_hash, hash';

/** Converts a row of `audit_entries` to an entry. */
export function toEntry(row: EntryRow): Entry {
  const [id, at, action, resource, record, user, via, credential, ip, requestId, changes, details, ...hashes] = row;
  const [previousHash, hash] = hashes;
  return {
    id,
    at,
    action,
    resource,
    record,
    user,
    via,
    credential,
    ip,
    requestId,
    changes,
    details,
    previousHash,
    hash,
  };
}
