import type { ApiError } from '../platform/helpers/errors.ts';
import type { FieldSpec } from './field.ts';
import type { Viewer } from './policy.ts';

/** A field of a resource, for imports and exports. */
export interface BulkField {
  name: string;
  spec: FieldSpec;
  /** Never accepted from a client. */
  closed: boolean;
  type: {
    kind: string;
    /** The JSON type of its values. */
    jsonType: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any';
  };
}

/** A row to import. */
export interface BulkRow {
  values: Record<string, unknown>;
  /** The id that a created record must get; left out: a new one. */
  id?: string | undefined;
  /** The times that a created record must get, as ISO strings; left out: now. Only for resources with timestamps. */
  times?: { createdAt: string; updatedAt: string } | undefined;
}

/** How rows are imported. */
export interface BulkWriteOptions {
  /** The user whose policies and field rules apply; left out: the system. */
  user?: Viewer | undefined;
  /** A unique field: a row updates the record with the same value. Left out: every row creates a record. */
  upsertBy?: string | undefined;
  /** Only finds errors: the rows are rolled back. Hooks run, and their writes are rolled back. */
  dryRun?: boolean;
}

/** A change of several records. */
export type BulkChange = { action: 'delete' | 'restore' } | { action: 'update'; values: unknown };

/** Bulk access to the records of a resource, for the command line and for tools of administrators. */
export interface BulkResource {
  name: string;
  /** The fields that can be exported. Passwords and write-only fields are left out. */
  readable: readonly BulkField[];
  /** The fields that can be imported. */
  writable: readonly BulkField[];
  timestamps: boolean;
  /** The unique fields that rows can use to update records. */
  upsertFields(user?: Viewer): string[];
  /**
   * Writes rows in order; each succeeds or fails by itself.
   *
   * @returns the public error of each row that was not written; undefined for the others
   */
  write(rows: readonly BulkRow[], options: BulkWriteOptions): Promise<(ApiError | undefined)[]>;
  /**
   * Changes records with system privilege; each change succeeds or fails by itself.
   *
   * @param ids without duplicates
   * @returns the public error of each record that was not changed; undefined for the others
   */
  change(ids: readonly string[], change: BulkChange): Promise<(ApiError | undefined)[]>;
  /**
   * Reads all records of a list, page by page, with the fields that the user may see; without a user, all readable ones.
   *
   * @param query filters and other parameters of a list, except for the page
   */
  read(query: Readonly<Record<string, unknown>>, user?: Viewer): AsyncGenerator<Record<string, unknown>[]>;
}

/** Bulk access to the records of an app. */
export interface BulkRecords {
  /** @throws Error for an unknown resource */
  resource(name: string): BulkResource;
}
