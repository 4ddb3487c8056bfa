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
} from '../platform/postgres/drizzle.ts';

const pushId = () =>
  text('push_id')
    .notNull()
    .references(() => pushes.id, { onDelete: 'cascade' });

/** Push messages. Raw tokens stand in the results, or in the audience that is still looked up. */
const pushes = pgTable(
  'pushes',
  {
    id: text('id').primaryKey(),
    /** What transports get. */
    message: jsonb('message').notNull(),
    /** `to` and `deviceIds` as they were given. */
    audience: jsonb('audience').notNull(),
    /** `queued` until every device was tried once. */
    status: text('status').notNull(),
    /** Devices found so far. */
    devices: integer('devices').notNull(),
    /**
     * Chunks that were not tried yet, and one for an audience that is not looked up whole. Whoever brings it to zero sets the
     * status: once, however many workers there are.
     */
    openChunks: integer('open_chunks').notNull(),
    /** Devices that accepted it, captured ones included. */
    okDevices: integer('ok_devices').notNull().default(0),
    capturedDevices: integer('captured_devices').notNull().default(0),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** When its `ttl` runs out; null without one. */
    expiresAt: timestamptz('expires_at'),
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    index('pushes_created_at_index').on(table.createdAt),
    // For erasures: a push that found no device has no results by which to find its user. Few rows.
    index('pushes_unsent_index').on(table.id).where(sql`status = 'no-devices'`),
  ],
);

/** Whom a push goes to besides the devices in `push_results`. A row goes once all of its devices are there. */
const pushAudiences = pgTable(
  'push_audiences',
  {
    pushId: pushId().primaryKey(),
    userIds: text('user_ids').array().notNull(),
    deviceIds: text('device_ids').array().notNull(),
    tokens: text('tokens').array().notNull(),
    /** Of the raw tokens. */
    platform: text('platform').notNull(),
    /** Of the longer of the lists of users and devices. */
    registered: integer('registered').notNull(),
    /** Raw tokens. */
    raw: integer('raw').notNull(),
    /** `registered` (users and devices), then `tokens`. */
    stage: text('stage').notNull(),
    /** Entries of the lists of this stage that are done. */
    done: integer('done').notNull(),
    /** The last device that was found for the next entries; null: none yet. */
    afterDevice: text('after_device'),
    /** Of the next chunk and the next result. */
    nextChunk: integer('next_chunk').notNull(),
    nextPosition: integer('next_position').notNull(),
    /** When somebody last looked devices up. */
    touchedAt: timestamptz('touched_at').notNull().defaultNow(),
  },
  (table) => [index('push_audiences_touched_at_index').on(table.touchedAt)],
);

/** A push's work: each chunk is what one job sends, by one transport. */
const pushChunks = pgTable(
  'push_chunks',
  {
    pushId: pushId(),
    chunk: integer('chunk').notNull(),
    /** Null: no transport accepts these devices. */
    transport: text('transport'),
    /** Its devices: positions in `push_results`, both ends included. */
    firstPosition: integer('first_position').notNull(),
    lastPosition: integer('last_position').notNull(),
    /** Of a large audience: small pushes go before it. */
    bulk: boolean('bulk').notNull().default(false),
    /** How often it was claimed: who has it, too. */
    attempts: integer('attempts').notNull().default(0),
    /** Claims since its last answers: so many workers were lost with it, but for the last. */
    unanswered: integer('unanswered').notNull().default(0),
    /** Not before then: some of its devices are tried again. */
    dueAt: timestamptz('due_at').notNull().defaultNow(),
    /** Until then it belongs to the worker that claimed it. */
    claimedUntil: timestamptz('claimed_until'),
    /** When all of its devices were tried once. */
    answeredAt: timestamptz('answered_at'),
    /** When there was nothing more to try. */
    finishedAt: timestamptz('finished_at'),
  },
  (table) => [
    primaryKey({ columns: [table.pushId, table.chunk] }),
    index('push_chunks_open_index').on(table.dueAt).where(sql`finished_at is null`),
  ],
);

/** One row per device of a push. */
const pushResults = pgTable(
  'push_results',
  {
    pushId: pushId(),
    position: integer('position').notNull(),
    /** Null: a raw token. */
    deviceId: text('device_id'),
    userId: text('user_id'),
    platform: text('platform').notNull(),
    /** Raw tokens only: a registered device's is read when it is sent to, and not at all when it is gone by then. */
    token: text('token'),
    tokenHash: text('token_hash'),
    maskedToken: text('masked_token').notNull(),
    /** What the device was called when the push was stored: the device may be removed later. Null: it had no name, or a raw token. */
    deviceName: text('device_name'),
    /** Null: no answer yet. */
    ok: boolean('ok'),
    /** The provider's id of the notification. */
    providerId: text('provider_id'),
    error: text('error'),
    /** Of the last try. */
    sentAt: timestamptz('sent_at'),
    answeredAt: timestamptz('answered_at'),
    /** When it is tried again; null: `ok` is final. */
    retryAt: timestamptz('retry_at'),
    /** Tries before the last: `[{ sentAt, answeredAt, error, retryAt }]`. */
    earlier: jsonb('earlier'),
    /** What the provider reported later: `{ ok, error, unregistered, transport, at }`. */
    receipt: jsonb('receipt'),
    /** When its user tapped it first. */
    openedAt: timestamptz('opened_at'),
  },
  (table) => [
    primaryKey({ columns: [table.pushId, table.position] }),
    uniqueIndex('push_results_device_index').on(table.deviceId, table.pushId).where(sql`device_id is not null`),
    uniqueIndex('push_results_token_index').on(table.pushId, table.tokenHash).where(sql`token_hash is not null`),
    // For erasures and exports. Answers do not change its columns, so only inserts pay for it.
    index('push_results_user_index').on(table.userId, table.pushId, table.position).where(sql`user_id is not null`),
  ],
);

/** Transports whose providers call device after device gone: a row each, from the first such answer to the next success. */
const pushGone = pgTable('push_gone', {
  transport: text('transport').primaryKey(),
  devices: integer('devices').notNull(),
  lastAt: timestamptz('last_at').notNull().defaultNow(),
});

/** The tables of push, by name. */
export const pushTables = {
  pushes,
  push_audiences: pushAudiences,
  push_chunks: pushChunks,
  push_results: pushResults,
  push_gone: pushGone,
};
