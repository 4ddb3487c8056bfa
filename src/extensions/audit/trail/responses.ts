// What the routes of the trail respond with, in the API and in the console. Times are ISO 8601 with milliseconds.

/**
 * The change of a field. `changed`: the values are never recorded. `sha256`: the seal (a salted hash) of values that are in
 * `audit_values` until an erasure removes them.
 */
export type FieldChange = { from?: unknown; to?: unknown } | { changed: true } | { sha256: string };

/** The changes of a record, by field. */
export type Changes = Record<string, FieldChange>;

/** A row of the trail. */
export interface AuditEntry {
  /** The position of the row in the chain, from 1, without gaps. */
  id: number;
  at: string;
  action: string;
  resource: string | null;
  record: string | null;
  /** The id of the user who performed the action. */
  user: string | null;
  /** How the user was authenticated; `system` for code that did not act for a user. */
  via: string | null;
  /** The id of the session or key. */
  credential: string | null;
  ip: string | null;
  requestId: string | null;
  changes: Changes | null;
  details: Record<string, unknown> | null;
}

/** A row in the console. `words`: what the action did, for people. */
export type ListedEntry = AuditEntry & { words: string };

/** What the trail contains. */
export interface AuditFacts {
  keepDays: number;
  /** The resources whose changes are recorded. */
  audited: string[];
  /** The actions in the trail, with their words. */
  actions: { action: string; words: string }[];
  /** The kinds of records in the trail. */
  resources: string[];
}

/**
 * The first invalid row: `missing` (possibly with more rows after it), `changed`, or `unlinked` (it does not match the row before
 * it).
 */
export interface BrokenRow {
  id: number;
  fault: 'missing' | 'changed' | 'unlinked';
}
/** The result of the verification of the chain. */
export interface VerificationResult {
  /** The number of valid rows. */
  rows: number;
  /** The first invalid row. */
  broken: BrokenRow | null;
  /** Whether all triggers that protect the rows exist and are enabled. */
  guarded: boolean;
}
