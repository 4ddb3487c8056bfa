import { bigint, index, pgTable, text, timestamptz } from '../../extension/index.ts';

/** Events that could not be added to Redis while Redis was unreachable. A sweep moves these events to Redis later. */
export const realtimeWaiting = pgTable(
  'realtime_waiting',
  {
    eventId: text('event_id').primaryKey(),
    /** The id of the event's outbox row, which defines the order of events. */
    position: bigint('position', { mode: 'number' }).notNull(),
    /** The text of the entry for the Redis stream. Empty in the row that stands for dropped events. */
    entry: text('entry').notNull(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
  },
  (table) => [index('realtime_waiting_position_index').on(table.position)],
);

/** Tickets that open one stream each. Only the SHA-256 of a ticket is stored. */
export const realtimeTickets = pgTable(
  'realtime_tickets',
  {
    ticketHash: text('ticket_hash').primaryKey(),
    userId: text('user_id').notNull(),
    sessionId: text('session_id').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [index('realtime_tickets_expires_at_index').on(table.expiresAt)],
);
