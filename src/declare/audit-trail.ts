import type { Request } from 'express';
import type { Executor } from '../platform/data/postgres/queryable.ts';

/** An action that is recorded although it changes no record. */
export interface AuditedAction {
  /** A word and a dot before the action: `console.revealed`. */
  action: string;
  /** The name of the resource. */
  resource: string;
  /** The id of the record; null if the action is about many records. */
  record: string | null;
  /** Further facts, without secret or personal values. */
  details: Record<string, unknown> | null;
}

/** An entry of the trail, as administrators read it. */
export interface AuditTrailEntry {
  /** The position in the trail. */
  id: number;
  /** ISO 8601. */
  at: string;
  /** `created`, `updated`, `deleted`, `restored`, or an event: `auth.login`. */
  action: string;
  resource: string | null;
  record: string | null;
  /** The id of the user who performed the action. */
  user: string | null;
  via: string | null;
  credential: string | null;
  ip: string | null;
  requestId: string | null;
  /** By field: `{ from, to }`, or `{ changed: true }` for secret values. Personal values are masked. */
  changes: Record<string, object> | null;
  details: Record<string, unknown> | null;
}

/** The audit trail of an app, for other features. */
export interface AuditTrail {
  /**
   * Records an action of the user who sent the request, in the transaction of `on`.
   *
   * @param on executes the statement; it fails if the action cannot be recorded
   */
  add(action: AuditedAction, req: Request, on: Executor): Promise<void>;
  /**
   * Lists entries, newest first: those about a record, or those of an action. Does not check whether a viewer may see the records.
   *
   * @param query `after`: the `next` of the previous page; `limit`: up to 200
   * @throws ApiError BAD_REQUEST for an invalid `after`
   */
  list(query: {
    resource?: string;
    record?: string;
    action?: string;
    after?: string | undefined;
    limit: number;
  }): Promise<{ entries: AuditTrailEntry[]; next: string | null }>;
}
