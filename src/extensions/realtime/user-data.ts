import type { UserData } from '../../declare/user-data.ts';
import type { Database } from '../../platform/postgres/database.ts';

const REMOVE = 'delete from realtime_tickets where user_id = $1 returning 1';

/** The tickets of a user. They live for seconds, so that there is nothing to tell of them. */
export function ticketData(database: Database): UserData {
  return {
    name: 'streamTickets',
    description: 'Tickets that open a stream, good for seconds: none is told',
    tables: ['realtime_tickets'],
    async *rows() {},
    erase: async (userId) => (await database.write({ text: REMOVE, values: [userId] })).length,
  };
}
