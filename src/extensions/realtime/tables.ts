import { bigint, index, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';

/** Events that could not be added to Redis while it was away. A sweep moves them when it is back. */
export const realtimeWaiting = pgTable(
  'realtime_waiting',
  {
    eventId: text('event_id').primaryKey(),
    /** The id of the outbox row that it came with: their order. */
    position: bigint('position', { mode: 'number' }).notNull(),
    /** As it stands in the Redis stream; empty: events that waited for too long were dropped here. */
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
