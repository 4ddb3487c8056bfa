import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../../platform/postgres/drizzle.ts';

/** Where a user wants events to be sent. */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text('id').primaryKey(),
    ownerId: text('owner_id').notNull(),
    url: text('url').notNull(),
    /** `post.created`, `post.*`, `*`. */
    events: text('events').array().notNull(),
    description: text('description'),
    /** `own` or `global`. */
    scope: text('scope').notNull(),
    enabled: boolean('enabled').notNull().default(true),
    /** Ciphertext: the secret, and the private key if there is one. Empty once the endpoint is removed. */
    secret: text('secret').notNull(),
    /** `whpk_…`, of an endpoint whose messages are signed by a private key too. */
    publicKey: text('public_key'),
    /** The secrets before the last two rotations, ciphertext too: messages carry their signatures for a grace time. */
    previousSecret: text('previous_secret'),
    previousSecretUntil: timestamptz('previous_secret_until'),
    olderSecret: text('older_secret'),
    /** Never after that of the previous one. */
    olderSecretUntil: timestamptz('older_secret_until'),
    /** Deliveries in a row that used up their schedule. */
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    /** True to the second: while all goes well, not every success is worth a write. */
    lastSuccessAt: timestamptz('last_success_at'),
    lastFailureAt: timestamptz('last_failure_at'),
    lastError: text('last_error'),
    /** `gone`, `failing`, `manual`, `password_reset` or `key_ended`. */
    disabledReason: text('disabled_reason'),
    /** One delivery at a time, in the order of the events. */
    ordered: boolean('ordered').notNull().default(false),
    /** At most so many requests in any so many seconds. */
    rateLimit: integer('rate_limit'),
    rateWindowSeconds: integer('rate_window_seconds'),
    /** Its last attempt failed or took long: it is served in a lane of its own. */
    slow: boolean('slow').notNull().default(false),
    /** The API key that the endpoint is bound to. The key's scopes limit what is sent, and the endpoint is disabled when the key ends. */
    apiKeyId: text('api_key_id'),
    keyScopes: text('key_scopes').array(),
    /** Null: never. */
    keyExpiresAt: timestamptz('key_expires_at'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
    /** Gone for everybody; the row stays until its delivery log is deleted. */
    removedAt: timestamptz('removed_at'),
  },
  (table) => [
    index('webhook_endpoints_owner_id_index').on(table.ownerId).where(sql`removed_at is null`),
    // An erasure looks for the logs of removed endpoints, too.
    index('webhook_endpoints_removed_owner_index').on(table.ownerId).where(sql`removed_at is not null`),
    // Without the list of entries that are not sorted in yet: every look-up would read the whole of it.
    index('webhook_endpoints_events_index')
      .using('gin', table.events)
      .with({ fastupdate: false })
      .where(sql`enabled and removed_at is null`),
    index('webhook_endpoints_global_index')
      .on(table.id)
      .where(sql`scope = 'global' and enabled and removed_at is null`),
    index('webhook_endpoints_previous_secret_index')
      .on(table.previousSecretUntil)
      .where(sql`previous_secret_until is not null`),
    index('webhook_endpoints_api_key_index')
      .on(table.apiKeyId)
      .where(sql`api_key_id is not null and enabled and removed_at is null`),
    index('webhook_endpoints_removed_index').on(table.removedAt).where(sql`removed_at is not null`),
  ],
);

/**
 * The right to send to an endpoint. The holder of a lease may send the deliveries in `sending`; they stay `pending` in their own rows
 * until their results are written. A row is created when an endpoint is first sent to.
 *
 * The SQL name is older than the word lease. It stays: during a rolling deploy, processes of both versions use the table.
 */
export const endpointLeases = pgTable(
  'webhook_turns',
  {
    endpointId: text('endpoint_id').primaryKey(),
    holder: text('holder'),
    /** The holder renews the lease while it lives. */
    leaseUntil: timestamptz('lease_until'),
    /** Attempts that each delivery had before this one, by delivery id. */
    sending: jsonb('sending').notNull().default({}),
    /** Deliveries that a client asked for (a test, a retry) and that no worker has claimed yet. The holder sends them first. */
    requested: text('requested').array().notNull().default(sql`'{}'`),
    /** The endpoint's recent requests, if it has a rate limit. */
    rate: jsonb('rate'),
  },
  (table) => [index('webhook_turns_lease_index').on(table.leaseUntil).where(sql`lease_until is not null`)],
);

/** One event for one endpoint: what is sent, and the log of its attempts. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: text('id').primaryKey(),
    endpointId: text('endpoint_id').notNull(),
    eventId: text('event_id').notNull(),
    /** Of the event among all events: the id of its outbox row. Tests have none. */
    position: bigint('position', { mode: 'number' }),
    /** `msg_…`, the same on every attempt. */
    messageId: text('message_id').notNull(),
    type: text('type').notNull(),
    /** The user that the event's record belongs to; the body may not contain it. */
    subjectId: text('subject_id'),
    /** What is sent, byte for byte on every attempt: hence text, since jsonb reorders keys. */
    body: text('body').notNull(),
    /** Ciphertext of the body, when it has values of encrypted fields; `body` is empty then. */
    encryptedBody: text('encrypted_body'),
    /** `pending`, `sending`, `succeeded` or `failed`. */
    status: text('status').notNull().default('pending'),
    attempts: integer('attempts').notNull().default(0),
    /** Attempts since the schedule began. */
    scheduleAttempts: integer('schedule_attempts').notNull().default(0),
    statusCode: integer('status_code'),
    durationMs: integer('duration_ms'),
    error: text('error'),
    /** Up to 1 KB of the last answer. */
    response: text('response'),
    /** Ciphertext of the same, when the body is encrypted: the answer may repeat it. */
    encryptedResponse: text('encrypted_response'),
    attemptLog: jsonb('attempt_log').notNull().default([]),
    nextAttemptAt: timestamptz('next_attempt_at'),
    /** Who claimed it must have written back by then. */
    leaseUntil: timestamptz('lease_until'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    // Of the log, too. Every attempt writes an entry into each index that is not partial, so there is no other one for that.
    uniqueIndex('webhook_deliveries_endpoint_event_unique').on(table.endpointId, table.eventId),
    index('webhook_deliveries_due_index').on(table.endpointId, table.nextAttemptAt).where(sql`status = 'pending'`),
    // Not by status: writing results back, the planner would walk through all that was claimed of late.
    index('webhook_deliveries_lease_index').on(table.leaseUntil).where(sql`lease_until is not null`),
    index('webhook_deliveries_failed_index')
      .on(table.endpointId, table.createdAt, table.id)
      .where(sql`status = 'failed'`),
  ],
);

/** The events that the app published: name and owner, kept for a time. Their data is in the deliveries. */
export const webhookEvents = pgTable(
  'webhook_events',
  {
    /** The event's. */
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    /** The user whose own endpoints get it. */
    ownerId: text('owner_id'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  // For erasures and exports. Rows are never updated.
  (table) => [index('webhook_events_owner_index').on(table.ownerId, table.id).where(sql`owner_id is not null`)],
);

/** Copies of deleted records. They decide which owners of endpoints may still be sent events of these records. */
export const webhookDeletedRecords = pgTable(
  'webhook_deleted_records',
  {
    /** The event's. */
    id: text('id').primaryKey(),
    resource: text('resource').notNull(),
    recordId: text('record_id').notNull(),
    /** The record's owner. */
    ownerId: text('owner_id'),
    /** Columns by name, as in the outbox. Null when it has values of encrypted fields. */
    record: jsonb('record'),
    /** Ciphertext of the whole record; its encrypted fields are in plain text inside. */
    encryptedRecord: text('encrypted_record'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('webhook_deleted_records_record_id_index').on(table.recordId),
    index('webhook_deleted_records_owner_id_index').on(table.ownerId),
  ],
);

/** That everything is sent again which failed for an endpoint since a time. */
export const webhookRecoveries = pgTable(
  'webhook_recoveries',
  {
    id: text('id').primaryKey(),
    endpointId: text('endpoint_id').notNull(),
    since: timestamptz('since').notNull(),
    /** `running`, `finished` or `stopped`. */
    status: text('status').notNull().default('running'),
    /** What had failed when it was asked for. */
    total: integer('total').notNull(),
    /** What of it is sent again. */
    resent: integer('resent').notNull().default(0),
    /** The last delivery that it has looked at. */
    afterAt: timestamptz('after_at').notNull(),
    afterId: text('after_id').notNull().default(''),
    /** What failed later is none of it. */
    createdAt: timestamptz('created_at').notNull(),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    uniqueIndex('webhook_recoveries_running_unique').on(table.endpointId).where(sql`status = 'running'`),
    index('webhook_recoveries_finished_at_index').on(table.finishedAt),
  ],
);
