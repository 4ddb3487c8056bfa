import { bigint, index, integer, jsonb, pgTable, text, timestamptz, vacuumOften } from '../../data/postgres/drizzle.ts';

/**
 * All events that have not been turned into work yet. A row is written in the statement or transaction of the
 * change that it describes. The relay deletes it in the transaction that stores the resulting work.
 */
export const outbox = vacuumOften(
  pgTable(
    'outbox',
    {
      id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
      eventId: text('event_id').notNull(),
      /** The name of the event: `post.created`. */
      name: text('name').notNull(),
      resource: text('resource'),
      recordId: text('record_id'),
      userId: text('user_id'),
      requestId: text('request_id'),
      /**
       * Record events: `{ record, previous }`, columns by name, as stored, without passwords. For audited resources, and all in
       * apps whose console is open in production, also `origin` and, except for updates, `passwords`: the password fields that are set. `erased: true`: the change is part of an account erasure.
       */
      payload: jsonb('payload').notNull(),
      /** When the event happened; changes of one record are in order. */
      createdAt: timestamptz('created_at').notNull().defaultNow(),
      /** The earliest time to process the row: a row that could not be turned into work is deferred. */
      availableAt: timestamptz('available_at').notNull().defaultNow(),
      attempts: integer('attempts').notNull().default(0),
      error: text('error'),
      /** The `traceparent` of the span that made the change; null if it was not recorded. */
      traceContext: text('trace_context'),
    },
    (table) => [index('outbox_available_at_index').on(table.availableAt)],
  ),
);

/** An outbox row as passed to consumers. */
export interface OutboxRow {
  id: number;
  eventId: string;
  name: string;
  resource: string | null;
  recordId: string | null;
  userId: string | null;
  requestId: string | null;
  payload: Record<string, unknown>;
  /** When the event happened, ISO 8601. */
  createdAt: string;
  /** The `traceparent` that work for this event continues; null if no trace is recorded. */
  traceContext: string | null;
}

/** The columns that `toOutboxRow` expects, in its order, as SQL. */
export const OUTBOX_COLUMNS =
  'id, event_id, name, resource, record_id, user_id, request_id, payload, created_at, trace_context';

/** An outbox row as Postgres returns the `OUTBOX_COLUMNS`. */
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
  traceContext: string | null,
];

export function toOutboxRow(raw: readonly [...RawOutboxRow, ...unknown[]]): OutboxRow {
  const [id, eventId, name, resource, recordId, userId, requestId, payload, createdAt, traceContext] = raw;
  return { id, eventId, name, resource, recordId, userId, requestId, payload, createdAt, traceContext };
}

/**
 * Whether a row is a record change. An extension's own event may also name a resource, so that key rotation finds the encrypted values in
 * that event.
 */
export function isRecordChange({ name, resource }: Pick<OutboxRow, 'name' | 'resource'>): boolean {
  return resource !== null && name.startsWith(`${resource}.`);
}
