import type { Host, ResourceView } from '../../declare/host.ts';
import type { UserData } from '../../declare/user-data.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { createEraseEvents } from './erase-events.ts';

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

/** The changes of a user's records that streams are told of when they come back. The records themselves are told by others. */
export function eventData(host: Pick<Host, 'database' | 'redis' | 'env' | 'resources'>, users: ResourceView): UserData {
  return {
    name: 'streamEvents',
    description: 'Changes of records of the user, for minutes, for streams that come back: none is told',
    tables: ['realtime_waiting'],
    async *rows() {},
    erase: createEraseEvents(host, users),
  };
}
