/** What became of a field. `changed`: values that nobody is to see here. */
export type FieldChange = { from?: unknown; to?: unknown } | { changed: true };

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
}

/** A row of the audit trail. */
export interface Entry extends AuditEvent {
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
