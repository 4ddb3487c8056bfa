import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  sql,
  text,
  timestamp,
} from '../platform/postgres/drizzle.ts';

const time = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: 'string' });
const pushId = () =>
  text('push_id')
    .notNull()
    .references(() => pushes.id, { onDelete: 'cascade' });

/** Push messages. Raw tokens are not in `message`: they stand in the results. */
const pushes = pgTable(
  'pushes',
  {
    id: text('id').primaryKey(),
    message: jsonb('message').notNull(),
    /** `queued` until the last chunk is answered. */
    status: text('status').notNull(),
    devices: integer('devices').notNull(),
    /** Chunks without answer. Whoever brings it to zero sets the final status: once, however many workers there are. */
    openChunks: integer('open_chunks').notNull(),
    /** Devices that accepted it, captured ones included. */
    okDevices: integer('ok_devices').notNull().default(0),
    capturedDevices: integer('captured_devices').notNull().default(0),
    createdAt: time('created_at').notNull().defaultNow(),
    finishedAt: time('finished_at'),
  },
  (table) => [index('pushes_created_at_index').on(table.createdAt)],
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
    /** Until then it belongs to the worker that claimed it. */
    claimedUntil: time('claimed_until'),
    createdAt: time('created_at').notNull().defaultNow(),
    finishedAt: time('finished_at'),
  },
  (table) => [
    primaryKey({ columns: [table.pushId, table.chunk] }),
    index('push_chunks_open_index').on(table.createdAt).where(sql`finished_at is null`),
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
    maskedToken: text('masked_token').notNull(),
    /** Null: no answer yet. */
    ok: boolean('ok'),
    /** The provider's id of the notification. */
    providerId: text('provider_id'),
    error: text('error'),
    answeredAt: time('answered_at'),
    /** What the provider reported later: `{ ok, error, unregistered, transport, at }`. */
    receipt: jsonb('receipt'),
  },
  (table) => [
    primaryKey({ columns: [table.pushId, table.position] }),
    index('push_results_device_index').on(table.deviceId, table.pushId).where(sql`device_id is not null`),
  ],
);

/** The tables of push, by name. */
export const pushTables = { pushes, push_chunks: pushChunks, push_results: pushResults };
