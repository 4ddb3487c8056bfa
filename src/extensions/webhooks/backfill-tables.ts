import {
  bigint,
  index,
  integer,
  jsonb,
  partitionByDay,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../../extension/index.ts';

/**
 * The outgoing events of the last days, in one partition for each day, so that endpoints can get events that they have missed. Written only if
 * `keepEventsDays` is set, by the relay, in the transaction that creates the deliveries of the events.
 */
export const webhookEventLog = partitionByDay(
  pgTable(
    'webhook_event_log',
    {
      /** The id of the event. */
      id: text('id').notNull(),
      /** The position of the event among all events: see `deliveryColumns`. */
      position: bigint('position', { mode: 'number' }).notNull(),
      /** `post.created`, `invoice.paid`, … */
      name: text('name').notNull(),
      /** The resource of the record; null for an event that the app published. */
      resource: text('resource'),
      /** The owner of the record, or the user or organisation for which the app published the event; an erasure of that user reaches the event. */
      ownerId: text('owner_id'),
      /** The record when the event happened: columns by name, as in the outbox. Null if it has values of encrypted fields. */
      record: jsonb('record'),
      /** Ciphertext of the whole record, in which the values of encrypted fields are plain text. */
      encryptedRecord: text('encrypted_record'),
      /** The data of a published event as JSON, exactly as sent. It is text because jsonb reorders keys. */
      data: text('data'),
      /** Size of the record or the data in bytes, so that a page of events is limited before its records are read. */
      bytes: integer('bytes').notNull(),
      /** When the event happened. */
      createdAt: timestamptz('created_at').notNull(),
      /** The fields that an update changed; null for other events. */
      changed: text('changed').array(),
    },
    (table) => [
      // By id first, because a rotation of encryption keys reads the rows in the order of ids.
      primaryKey({ columns: [table.id, table.createdAt] }),
      index('webhook_event_log_created_at_index').on(table.createdAt, table.position),
      index('webhook_event_log_owner_index').on(table.ownerId).where(sql`owner_id is not null`),
    ],
  ),
  'created_at',
);

/** Backfills: requests to send an endpoint the kept events that it has missed. */
export const webhookBackfills = pgTable(
  'webhook_backfills',
  {
    id: text('id').primaryKey(),
    endpointId: text('endpoint_id').notNull(),
    /** `running`, `paused`, `finished`, `cancelled` or `stopped`. */
    status: text('status').notNull().default('running'),
    /** The first and the last time of the range of events, both included. */
    since: timestamptz('since').notNull(),
    until: timestamptz('until').notNull(),
    /** Patterns such as `post.created`; null: everything to which the endpoint subscribes. */
    events: text('events').array(),
    /** How many deliveries were created. */
    sent: integer('sent').notNull().default(0),
    /** When the last event happened that the backfill has handled; `after_position` is its position. */
    afterAt: timestamptz('after_at').notNull(),
    afterPosition: bigint('after_position', { mode: 'number' }).notNull().default(-1),
    /** When its first page was handled. Null while the relay still handles events that happened before the request. */
    startedAt: timestamptz('started_at'),
    createdAt: timestamptz('created_at').notNull(),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    uniqueIndex('webhook_backfills_unfinished_unique').on(table.endpointId).where(sql`status in ('running', 'paused')`),
    index('webhook_backfills_running_index').on(table.id).where(sql`status = 'running'`),
    index('webhook_backfills_endpoint_index').on(table.endpointId, table.id),
    index('webhook_backfills_finished_at_index').on(table.finishedAt),
  ],
);
