import { devices } from '../accounts/devices/index.ts';
import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamptz,
  uniqueIndex,
  vacuumOften,
} from '../platform/data/postgres/drizzle.ts';

const pushId = () =>
  text('push_id')
    .notNull()
    .references(() => pushes.id, { onDelete: 'cascade' });

/** Push messages. Raw tokens are stored in the results, or in the audience while its devices are being looked up. */
const pushes = pgTable(
  'pushes',
  {
    id: text('id').primaryKey(),
    /** The content passed to transports. */
    message: jsonb('message').notNull(),
    /** `to` and `deviceIds` as passed by the caller. */
    audience: jsonb('audience').notNull(),
    /** `queued` until every device was tried once. */
    status: text('status').notNull(),
    /** Devices found so far. */
    devices: integer('devices').notNull(),
    /**
     * Chunks that were not tried yet, plus one while the audience is not fully looked up. The statement that brings the count to zero
     * sets the status, so it is set once, however many workers there are.
     */
    openChunks: integer('open_chunks').notNull(),
    /** Devices for which the push was accepted, including captured ones. */
    okDevices: integer('ok_devices').notNull().default(0),
    capturedDevices: integer('captured_devices').notNull().default(0),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When the push expires because of its `ttl`; null without a `ttl`. */
    expiresAt: timestamptz('expires_at'),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    index('pushes_created_at_index').on(table.createdAt),
    // For erasures of a user's data: a push without devices has no results that lead to its user. The start of a text is enough for one
    // recipient, and a long list of recipients would exceed the size of an index entry.
    index('pushes_unsent_to_index').on(sql`left(audience->>'to', 40)`).where(sql`status = 'no-devices'`),
  ],
);

/** Recipients whose devices are not yet in `push_results`. The row is deleted once all devices are stored. */
const pushAudiences = pgTable(
  'push_audiences',
  {
    pushId: pushId().primaryKey(),
    userIds: text('user_ids').array().notNull(),
    deviceIds: text('device_ids').array().notNull(),
    tokens: text('tokens').array().notNull(),
    /** The platform of the raw tokens. */
    platform: text('platform').notNull(),
    /** Length of the longer of the lists `user_ids` and `device_ids`. */
    registered: integer('registered').notNull(),
    /** Number of raw tokens. */
    raw: integer('raw').notNull(),
    /** What is being looked up: first `registered` (users and registered devices), then `tokens` (raw tokens). */
    stage: text('stage').notNull(),
    /** Number of entries of the current stage that were processed. */
    done: integer('done').notNull(),
    /** Id of the last device found for the entries after `done`; null before the first device. */
    afterDevice: text('after_device'),
    /** The number for the next chunk of the push. `next_position`: the position for its next device. */
    nextChunk: integer('next_chunk').notNull(),
    nextPosition: integer('next_position').notNull(),
    /** When devices of the audience were last looked up. */
    touchedAt: timestamptz('touched_at').notNull().defaultNow(),
  },
  (table) => [index('push_audiences_touched_at_index').on(table.touchedAt)],
);

/** The chunks of a push: one job sends one chunk through one transport. */
const pushChunks = pgTable(
  'push_chunks',
  {
    pushId: pushId(),
    chunk: integer('chunk').notNull(),
    /** The name of the transport; null if no transport accepts these devices. */
    transport: text('transport'),
    /** Position of the chunk's first device in `push_results`; `last_position` is the position of its last device. */
    firstPosition: integer('first_position').notNull(),
    lastPosition: integer('last_position').notNull(),
    /** Whether the chunk is part of a large audience. If so, small pushes are sent first. */
    bulk: boolean('bulk').notNull().default(false),
    /** Number of claims by workers. Also the fencing token: only the latest claim may store results. */
    attempts: integer('attempts').notNull().default(0),
    /** Claims since results were last stored. In each of them except the latest, the worker was lost. */
    unanswered: integer('unanswered').notNull().default(0),
    /** When the next try of a device of the chunk is due. */
    dueAt: timestamptz('due_at').notNull().defaultNow(),
    /** When the worker's claim of the chunk expires. */
    claimedUntil: timestamptz('claimed_until'),
    /** When all devices of the chunk had been tried once. */
    answeredAt: timestamptz('answered_at'),
    /** When the last device of the chunk got its final result. */
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    primaryKey({ columns: [table.pushId, table.chunk] }),
    index('push_chunks_open_index').on(table.dueAt).where(sql`finished_at is null`),
  ],
);

/** One row per device of a push. A row is updated once or twice, with values that fill half of it. */
const pushResults = vacuumOften(
  pgTable(
    'push_results',
    {
      pushId: pushId(),
      position: integer('position').notNull(),
      /** The registered device; null for a raw token. */
      deviceId: text('device_id'),
      userId: text('user_id'),
      platform: text('platform').notNull(),
      /** A raw token. Null for a registered device, whose token is read at the time of sending. */
      token: text('token'),
      tokenHash: text('token_hash'),
      maskedToken: text('masked_token').notNull(),
      /** Name of the device when the push was stored, because the device can be removed later. Null without a name or for a raw token. */
      deviceName: text('device_name'),
      /** Whether the provider accepted the notification; null before the first result. */
      ok: boolean('ok'),
      /** The provider's id of the notification. */
      providerId: text('provider_id'),
      error: text('error'),
      /** Time of the last try. */
      sentAt: timestamptz('sent_at'),
      answeredAt: timestamptz('answered_at'),
      /** Time of the next try; null if the result in `ok` is final. */
      retryAt: timestamptz('retry_at'),
      /** Earlier tries: `[{ sentAt, answeredAt, error, retryAt }]`. */
      earlier: jsonb('earlier'),
      /** The provider's later report: `{ ok, error, unregistered, transport, at }`. */
      receipt: jsonb('receipt'),
      /** When the user first tapped the notification. */
      openedAt: timestamptz('opened_at'),
    },
    (table) => [
      primaryKey({ columns: [table.pushId, table.position] }),
      uniqueIndex('push_results_device_index').on(table.deviceId, table.pushId).where(sql`device_id is not null`),
      uniqueIndex('push_results_token_index').on(table.pushId, table.tokenHash).where(sql`token_hash is not null`),
      // For erasures and exports of a user's data. Storing results changes none of these columns, so only inserts update the index.
      index('push_results_user_index').on(table.userId, table.pushId, table.position).where(sql`user_id is not null`),
    ],
  ),
  { fillfactor: 45 },
);

/** Consecutive devices that a provider reported as gone, per transport. The next success deletes the row. */
const pushGone = pgTable('push_gone', {
  transport: text('transport').primaryKey(),
  devices: integer('devices').notNull(),
  lastAt: timestamptz('last_at').notNull().defaultNow(),
});

const deviceId = () =>
  text('device_id')
    .notNull()
    .references(() => devices.id, { onDelete: 'cascade' });

/** The behavior of simulated devices. The table is empty in production. */
const simulatedDevices = pgTable('push_simulated_devices', {
  deviceId: deviceId().primaryKey(),
  behavior: text('behavior').notNull(),
});

/** Notifications that simulated devices received. */
const simulatedNotifications = pgTable(
  'push_simulated_notifications',
  {
    id: text('id').primaryKey(),
    deviceId: deviceId(),
    pushId: text('push_id').notNull(),
    /** `shown`, `held` or `hidden`. */
    state: text('state').notNull(),
    message: jsonb('message').notNull(),
    /** When a held notification expires. */
    expiresAt: timestamptz('expires_at'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    tappedAt: timestamptz('tapped_at'),
  },
  (table) => [index('push_simulated_notifications_device_index').on(table.deviceId, table.id)],
);

/** The tables of push, by name. */
export const pushTables = {
  pushes,
  push_audiences: pushAudiences,
  push_chunks: pushChunks,
  push_results: pushResults,
  push_gone: pushGone,
  push_simulated_devices: simulatedDevices,
  push_simulated_notifications: simulatedNotifications,
};
