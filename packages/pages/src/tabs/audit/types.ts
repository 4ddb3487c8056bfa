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

/** The change of a field. Without values if these are secret or were erased. */
export interface FieldChange {
  from?: unknown;
  to?: unknown;
}

/** A row of the trail. */
export interface AuditEntry {
  id: number;
  /** ISO 8601. */
  at: string;
  action: string;
  /** What the action did, for people. */
  words: string;
  resource: string | null;
  record: string | null;
  /** The id of the user who performed the action. */
  user: string | null;
  /** How the user was authenticated; `system` for code that did not act for a user. */
  via: string | null;
  ip: string | null;
  requestId: string | null;
  changes: Record<string, FieldChange> | null;
  details: Record<string, unknown> | null;
}

/** The result of the verification of the chain. */
export interface VerificationResult {
  /** The number of valid rows. */
  rows: number;
  /** The first invalid row. */
  broken: { id: number; fault: 'missing' | 'changed' | 'unlinked' } | null;
  /** Whether all triggers that protect the rows exist and are enabled. */
  guarded: boolean;
}
