import type { Host, ResourceGateway, UserData } from '../../declare/host.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { createEraseEvents } from './erase-events.ts';

const REMOVE = 'delete from realtime_tickets where user_id = $1 returning 1';

/** The tickets of a user. They live for seconds, so that there is nothing to tell of them. */
export function ticketData(database: Database): UserData {
  return {
    name: 'streamTickets',
    description: 'Tickets that open a stream and expire within seconds; not exported',
    tables: ['realtime_tickets'],
    async *rows() {},
    erase: async (userId) => (await database.write({ text: REMOVE, values: [userId] })).length,
  };
}

/** The changes of a user's records, kept for streams that resume. The records themselves are exported by their resources. */
export function eventData(
  host: Pick<Host, 'database' | 'redis' | 'env' | 'resources'>,
  users: ResourceGateway,
): UserData {
  return {
    name: 'streamEvents',
    description: 'Changes of the user’s records, kept for minutes for streams that resume; not exported',
    tables: ['realtime_waiting'],
    async *rows() {},
    erase: createEraseEvents(host, users),
  };
}
