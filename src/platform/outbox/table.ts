import { bigint, index, integer, jsonb, pgTable, text, timestamptz } from '../postgres/drizzle.ts';

/**
 * Everything that happened and is not yet turned into work. A row is written in the statement or transaction of the
 * change that it describes, and deleted by the relay in the transaction that stores the work made from it.
 */
export const outbox = pgTable(
  'outbox',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    eventId: text('event_id').notNull(),
    /** `post.created`, … */
    name: text('name').notNull(),
    resource: text('resource'),
    recordId: text('record_id'),
    userId: text('user_id'),
    requestId: text('request_id'),
    /**
     * Record events: `{ record, previous }`, columns by name, as stored, without passwords. Of audited resources also `origin`
     * and, except of an update, `passwords`: which of them are there. `erased: true`: the erasure of an account made the change.
     */
    payload: jsonb('payload').notNull(),
    /** When it happened; changes of one record follow each other. */
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** A row that could not be turned into work waits until then. */
    availableAt: timestamptz('available_at').notNull().defaultNow(),
    attempts: integer('attempts').notNull().default(0),
    error: text('error'),
  },
  (table) => [index('outbox_available_at_index').on(table.availableAt)],
);

/** A row as consumers get it. */
export interface OutboxRow {
  id: number;
  eventId: string;
  name: string;
  resource: string | null;
  recordId: string | null;
  userId: string | null;
  requestId: string | null;
  payload: Record<string, unknown>;
  /** ISO 8601: when the event happened. */
  createdAt: string;
}

/** The columns that `readOutboxRow` reads, as SQL. */
export const OUTBOX_COLUMNS = 'id, event_id, name, resource, record_id, user_id, request_id, payload, created_at';

/** A row of these columns. */
export type RawOutboxRow = [
  id: number,
  eventId: string,
  name: string,
  resource: string | null,
  recordId: string | null,
  userId: string | null,
  requestId: string | null,
  payload: OutboxRow['payload'],
  createdAt: string,
];

/** Reads a row. */
export function readOutboxRow(raw: RawOutboxRow): OutboxRow {
  const [id, eventId, name, resource, recordId, userId, requestId, payload, createdAt] = raw;
  return { id, eventId, name, resource, recordId, userId, requestId, payload, createdAt };
}

/**
 * Whether a row is a change of a record. A row of an extension's own may name a resource, too, so that a change of encryption keys finds
 * what is encrypted in it.
 */
export function isRecordChange({ name, resource }: Pick<OutboxRow, 'name' | 'resource'>): boolean {
  return resource !== null && name.startsWith(`${resource}.`);
}
