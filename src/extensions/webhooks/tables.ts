import {
  bigint,
  boolean,
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
  vacuumOften,
} from '../../extension/index.ts';

/** The URLs to which users want events to be sent. */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    id: text('id').primaryKey(),
    /** A user or an organisation: see `organisationRole`. */
    ownerId: text('owner_id').notNull(),
    url: text('url').notNull(),
    /** Patterns such as `post.created`, `post.*`, `*`. */
    events: text('events').array().notNull(),
    description: text('description'),
    /** `own` or `global`. */
    scope: text('scope').notNull(),
    enabled: boolean('enabled').notNull().default(true),
    /** Ciphertext of the secret and, if there is one, of the private key. Empty after the endpoint is removed. */
    secret: text('secret').notNull(),
    /** `whpk_…`; only if messages are also signed with a private key. */
    publicKey: text('public_key'),
    /** Ciphertexts of the secrets before the last two rotations: messages carry their signatures for a grace period. */
    previousSecret: text('previous_secret'),
    previousSecretUntil: timestamptz('previous_secret_until'),
    olderSecret: text('older_secret'),
    /** When the grace period of `olderSecret` ends; never later than `previousSecretUntil`. */
    olderSecretUntil: timestamptz('older_secret_until'),
    /** Consecutive deliveries that used up their schedule. */
    consecutiveFailures: integer('consecutive_failures').notNull().default(0),
    /** Accurate to about a minute: of consecutive successes, not every one is written. */
    lastSuccessAt: timestamptz('last_success_at'),
    lastFailureAt: timestamptz('last_failure_at'),
    lastError: text('last_error'),
    /** `gone`, `failing`, `manual`, `password_reset` or `key_ended`. */
    disabledReason: text('disabled_reason'),
    /** Whether deliveries are sent one at a time, in the order of the events. */
    ordered: boolean('ordered').notNull().default(false),
    /** Maximum number of requests in a window. */
    rateLimit: integer('rate_limit'),
    rateWindowSeconds: integer('rate_window_seconds'),
    /** Whether the endpoint's last attempt failed or was slow. Slow endpoints have their own queue. */
    slow: boolean('slow').notNull().default(false),
    /**
     * The API key that the endpoint is bound to; null if it is bound to none. Only events that the key's scopes may read are sent, and the endpoint
     * is disabled when the key is revoked or expires.
     */
    apiKeyId: text('api_key_id'),
    keyScopes: text('key_scopes').array(),
    /** When the API key expires; null if it never does. */
    keyExpiresAt: timestamptz('key_expires_at'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    updatedAt: timestamptz('updated_at').notNull().defaultNow(),
    /** Set when the endpoint is removed. No user sees it any more; the row stays until its delivery log is deleted. */
    removedAt: timestamptz('removed_at'),
    /** The role as which the owner reads if it is an organisation; null if it is a user. */
    organisationRole: text('organisation_role'),
    /** Ciphertext of the custom headers: see `encryptHeaders`. Null if the endpoint has none. */
    headers: text('headers'),
    /** The names of these headers with masked values, as `[name, mask][]`. Null if the endpoint has none. */
    headerMasks: jsonb('header_masks'),
    /** When `webhook.failing` was first emitted since the endpoint last worked or was enabled; null: not since then. */
    alertedAt: timestamptz('alerted_at'),
    /** When the owner last got an e-mail that the endpoint fails: at most one a day. */
    failingMailAt: timestamptz('failing_mail_at'),
    /** Conditions that events must meet, by event or pattern; null: no filter. */
    filter: jsonb('filter'),
    /** `push`, or `poll`: the receiver fetches its messages, and `url` is empty. It never changes. */
    delivery: text('delivery').notNull().default('push'),
  },
  (table) => [
    index('webhook_endpoints_owner_id_index').on(table.ownerId).where(sql`removed_at is null`),
    // An erasure also looks for the logs of removed endpoints.
    index('webhook_endpoints_removed_owner_index').on(table.ownerId).where(sql`removed_at is not null`),
    // Without GIN's pending list (fastupdate), because every lookup would read the whole list.
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
export const endpointLeases = vacuumOften(
  pgTable(
    'webhook_turns',
    {
      endpointId: text('endpoint_id').primaryKey(),
      holder: text('holder'),
      /** When the lease expires. The holder renews the lease while it sends. */
      leaseUntil: timestamptz('lease_until'),
      /** The deliveries that the holder has claimed: the number of earlier attempts by delivery id. */
      sending: jsonb('sending').notNull().default({}),
      /** Deliveries that a client asked for (a test, a retry) and that no worker has claimed yet. The holder sends them first. */
      requested: text('requested').array().notNull().default(sql`'{}'`),
      /** The endpoint's recent requests, if it has a rate limit. */
      rate: jsonb('rate'),
      /**
       * Claims search only for deliveries that are due at or after this time, to skip the index entries of finished deliveries that vacuum has
       * not removed yet. A delivery that committed late with an earlier time is found by the sweep of overdue deliveries. Null: search all.
       */
      dueFrom: timestamptz('due_from'),
      /** The last `poll_number` that a delivery to a polled endpoint got. */
      lastPollNumber: bigint('last_poll_number', { mode: 'number' }).notNull().default(0),
    },
    // An index on `lease_until` would turn each renewal into a non-HOT update, which adds an entry to every index.
    (table) => [index('webhook_turns_holder_index').on(table.endpointId).where(sql`holder is not null`)],
  ),
  // Leaves most of each page free for updates, which then need no new index entries. Each new entry makes Postgres read all earlier ones again.
  { fillfactor: 10 },
);

/** The columns that a delivery has while it waits and after it has finished: the message, and the log of its attempts. */
const deliveryColumns = () => ({
  endpointId: text('endpoint_id').notNull(),
  eventId: text('event_id').notNull(),
  /** The position of the event among all events: the id of its outbox row. Tests have none. */
  position: bigint('position', { mode: 'number' }),
  /** `msg_…`, the same on every attempt. */
  messageId: text('message_id').notNull(),
  type: text('type').notNull(),
  /** The owner of the event's record. Stored because the body may lack the owner. */
  subjectId: text('subject_id'),
  /** The message, byte for byte the same on every attempt. It is text because jsonb reorders keys. */
  body: text('body').notNull(),
  /** Ciphertext of the body if the body has values of encrypted fields; in that case `body` is empty. */
  encryptedBody: text('encrypted_body'),
  /** `pending`, `sending`, `succeeded` or `failed`; `waiting`: to be polled and acknowledged, which no worker touches. */
  status: text('status').notNull().default('pending'),
  attempts: integer('attempts').notNull().default(0),
  /** Attempts since the retry schedule began. A retry that a client requests begins it again. */
  scheduleAttempts: integer('schedule_attempts').notNull().default(0),
  statusCode: integer('status_code'),
  durationMs: integer('duration_ms'),
  error: text('error'),
  /** Up to 1 KB of the last response. */
  response: text('response'),
  /** Ciphertext of the response if the body is encrypted, because the response may repeat it. */
  encryptedResponse: text('encrypted_response'),
  attemptLog: jsonb('attempt_log').notNull().default([]),
  createdAt: timestamptz('created_at').notNull().defaultNow(),
  /** The `traceparent` that attempts continue; null if the trace of the event is not recorded. */
  traceContext: text('trace_context'),
  /**
   * The ids of the users and records that the body may be about: see `collectMentions`. An erasure finds the deliveries about a user by them.
   * Null if they are not known, because an earlier version of Belfry created the delivery.
   */
  mentions: text('mentions').array(),
  /** True if a backfill created the delivery; otherwise null. */
  backfill: boolean('backfill'),
});

/**
 * Deliveries that wait for an attempt or are being sent: one event for one endpoint. The statement that writes the last result moves the
 * row to `webhook_delivery_log`, so that this table stays small, whatever the size of the log.
 */
// An empty table keeps its pages, so that Postgres does not plan to scan it as if it stayed empty.
export const webhookDeliveries = vacuumOften(
  pgTable(
    'webhook_deliveries',
    {
      id: text('id').primaryKey(),
      ...deliveryColumns(),
      nextAttemptAt: timestamptz('next_attempt_at'),
      /** Set while `status` is `sending`: the worker that claimed the delivery must write the result before this time. */
      leaseUntil: timestamptz('lease_until'),
      /** Set only by earlier versions of Belfry, which kept finished deliveries in this table. A sweep moves them to the log. */
      finishedAt: timestamptz('finished_at'),
      /** The place of a `waiting` delivery among those of its endpoint, in microseconds. Null until the endpoint is polled. */
      pollNumber: bigint('poll_number', { mode: 'number' }),
    },
    (table) => [
      // Also used to list an endpoint's deliveries: another full index only for lists would slow down every attempt.
      uniqueIndex('webhook_deliveries_endpoint_event_unique').on(table.endpointId, table.eventId),
      index('webhook_deliveries_due_index').on(table.endpointId, table.nextAttemptAt).where(sql`status = 'pending'`),
      // Without `status`, because the planner would then use this index to write results, and scan all recently claimed deliveries.
      index('webhook_deliveries_lease_index').on(table.leaseUntil).where(sql`lease_until is not null`),
      // This index and the next one find deliveries that an earlier version finished. Remove them together with `MOVE_EARLIER_DELIVERIES`.
      index('webhook_deliveries_failed_index')
        .on(table.endpointId, table.createdAt, table.id)
        .where(sql`status = 'failed'`),
      index('webhook_deliveries_finished_index').on(table.finishedAt).where(sql`finished_at is not null`),
      index('webhook_deliveries_waiting_index')
        .on(table.endpointId, table.pollNumber, table.position, table.eventId)
        .where(sql`status = 'waiting'`),
      // Counts the few waiting deliveries of a backfill.
      index('webhook_deliveries_backfill_index').on(table.endpointId).where(sql`backfill`),
    ],
  ),
  { vacuum_truncate: false },
);

/**
 * Finished deliveries, in one partition for each day on which they finished. Rows normally leave when their partition is dropped. Retries and
 * recoveries move them back to `webhook_deliveries`; removing an endpoint or erasing a user deletes them.
 */
export const webhookDeliveryLog = partitionByDay(
  pgTable(
    'webhook_delivery_log',
    { id: text('id').notNull(), ...deliveryColumns(), finishedAt: timestamptz('finished_at').notNull() },
    (table) => [
      // A unique index of a partitioned table must contain the column of its partitions. Without a key, logical replication refuses deletes.
      primaryKey({ columns: [table.id, table.finishedAt] }),
      index('webhook_delivery_log_endpoint_event_index').on(table.endpointId, table.eventId),
      index('webhook_delivery_log_failed_index')
        .on(table.endpointId, table.createdAt, table.id)
        .where(sql`status = 'failed'`),
      // Without GIN's pending list (fastupdate), because each of the many lookups of an erasure would read the whole list.
      index('webhook_delivery_log_mentions_index').using('gin', table.mentions).with({ fastupdate: false }),
      index('webhook_delivery_log_unknown_mentions_index').on(table.id).where(sql`mentions is null`),
    ],
  ),
  'finished_at',
);

/** The events that the app published: name and owner, kept for a limited time. Their data is in the deliveries. */
export const webhookEvents = pgTable(
  'webhook_events',
  {
    /** The id of the event. */
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    /** The user whose own endpoints get the event. */
    ownerId: text('owner_id'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  // For erasures and exports of a user's data. Rows of this table are never updated.
  (table) => [index('webhook_events_owner_index').on(table.ownerId, table.id).where(sql`owner_id is not null`)],
);

/** Copies of deleted records. They decide to which endpoint owners events of these records may still be sent. */
export const webhookDeletedRecords = pgTable(
  'webhook_deleted_records',
  {
    /** The id of the event. */
    id: text('id').primaryKey(),
    resource: text('resource').notNull(),
    recordId: text('record_id').notNull(),
    /** The owner of the record. */
    ownerId: text('owner_id'),
    /** Columns by name, as in the outbox. Null if the record has values of encrypted fields. */
    record: jsonb('record'),
    /** Ciphertext of the whole record, in which the values of encrypted fields are plain text. Null if the record has none. */
    encryptedRecord: text('encrypted_record'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [
    index('webhook_deleted_records_record_id_index').on(table.recordId),
    index('webhook_deleted_records_owner_id_index').on(table.ownerId),
  ],
);

/** Recoveries: requests to resend all deliveries of an endpoint that failed since a given time. */
export const webhookRecoveries = pgTable(
  'webhook_recoveries',
  {
    id: text('id').primaryKey(),
    endpointId: text('endpoint_id').notNull(),
    since: timestamptz('since').notNull(),
    /** `running`, `finished` or `stopped`. */
    status: text('status').notNull().default('running'),
    /** The number of failed deliveries at the time of the request. */
    total: integer('total').notNull(),
    /** How many failed deliveries have been resent so far. */
    resent: integer('resent').notNull().default(0),
    /** Creation time of the last delivery that the recovery has handled; `after_id` is its id. */
    afterAt: timestamptz('after_at').notNull(),
    afterId: text('after_id').notNull().default(''),
    /** The time of the request. Deliveries that fail later are not part of the recovery. */
    createdAt: timestamptz('created_at').notNull(),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    uniqueIndex('webhook_recoveries_running_unique').on(table.endpointId).where(sql`status = 'running'`),
    index('webhook_recoveries_finished_at_index').on(table.finishedAt),
  ],
);

/**
 * The results of attempts by endpoint and hour. The statement that writes results adds them, so that no statistics read the log. Only the
 * worker that holds the endpoint's lease writes its row, and the sweep that fails the attempts of dead workers.
 */
export const webhookEndpointStats = pgTable(
  'webhook_endpoint_stats',
  {
    endpointId: text('endpoint_id').notNull(),
    /** The start of an hour in UTC. */
    hour: timestamptz('hour').notNull(),
    attempts: integer('attempts').notNull(),
    /** Deliveries that succeeded in this hour. */
    succeeded: integer('succeeded').notNull(),
    /** Deliveries that failed in all attempts, the last one in this hour. */
    failed: integer('failed').notNull(),
    /** The attempts of these succeeded and failed deliveries, in this hour and before it. */
    deliveryAttempts: integer('delivery_attempts').notNull(),
    /** The sum of the durations of attempts in ms. */
    durationSum: bigint('duration_sum', { mode: 'number' }).notNull(),
    /** The number of attempts by duration: see `getBucket`. Shorter than the number of buckets if the last ones are empty. */
    durations: integer('durations').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.endpointId, table.hour] }),
    index('webhook_endpoint_stats_hour_index').on(table.hour),
  ],
);
