import { valueSize } from '../../records/store/within-bytes.ts';

/**
 * The change of a field. `changed`: the values are never shown here. `sha256`: the seal of values that are in `audit_values` until an
 * erasure removes them; see hash.ts.
 */
export type FieldChange = { from?: unknown; to?: unknown } | { changed: true } | { sha256: string };

/** What became of a record, by field. */
export type Changes = Record<string, FieldChange>;

/** Something that somebody did, before it has its place in the chain. */
export interface AuditEvent {
  /** ISO 8601 with milliseconds. */
  at: string;
  action: string;
  resource: string | null;
  record: string | null;
  /** Whose doing it was. */
  user: string | null;
  /** How that user was signed in; `system`: it was code, on nobody's behalf. */
  via: string | null;
  /** The id of the session or key. */
  credential: string | null;
  ip: string | null;
  requestId: string | null;
  changes: Changes | null;
  details: Record<string, unknown> | null;
  /** Fields whose values an erasure of the record's owner removes. */
  erasable?: { owner: string; fields: readonly string[] } | undefined;
}

/** A row of the audit trail. */
export interface Entry extends Omit<AuditEvent, 'erasable'> {
  /** Its place in the chain, from 1 on, without gaps. */
  id: number;
  previousHash: string;
  hash: string;
}

/** A row in the order of `COLUMNS`. */
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

/** The erasable values of a row; null if there are none, or if they were removed. */
export type ValuesColumns = [salt: string | null, values: Changes | null];

/** The select list of those values, of `ENTRIES_WITH_VALUES`. */
export const VALUES_COLUMNS = 'salt, values_by_field';

/** The bytes of a row with those values, as SQL; only these can be many. */
export const ROW_SIZE = ['changes', 'details', 'values_by_field'].map((name) => valueSize(name, 'jsonb')).join(' + ');

/** Rows with those values. */
export const ENTRIES_WITH_VALUES = 'audit_entries left join audit_values on entry_id = id';

/** Changes with their stored values; fields whose values were removed are shown as `changed`. */
export function withValues(changes: Changes | null, values: Changes | null): Changes | null {
  if (changes === null) return null;
  const told = Object.entries(changes).map(([field, change]): [string, FieldChange] => [
    field,
    'sha256' in change ? (values?.[field] ?? { changed: true }) : change,
  ]);
  return Object.fromEntries(told);
}

/** The select list of entries. */
export const COLUMNS =
  'id, at, action, resource, record_id, user_id, via, credential_id, ip, request_id, changes, details, previous_hash, hash';

/** Reads a row. */
export function readEntry(row: EntryRow): Entry {
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
