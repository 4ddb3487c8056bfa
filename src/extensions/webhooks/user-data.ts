import type { Host, ResourceView } from '../../declare/host.ts';
import type { UserData } from '../../declare/user-data.ts';
import { rowsInPages } from '../../platform/postgres/rows-in-pages.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { aboutUser } from './sql/about-user.ts';
import {
  ENDPOINTS_OF,
  EVENTS_OF,
  LOG_OF,
  REMOVE_DELIVERIES,
  REMOVE_ENDPOINTS_OF,
  REMOVE_EVENTS_OF,
  REMOVE_LOG_OF,
} from './sql/user-data.ts';

const ENDPOINT_NAMES = ['id', 'url', 'events', 'description', 'scope', 'enabled', 'createdAt', 'updatedAt'];
// A body may be as large as a record.
const BODIES_AT_ONCE = 20;
const LOG_NAMES = ['id', 'endpoint', 'type', 'status', 'attempts', 'statusCode', 'createdAt', 'finishedAt', 'body'];

// Each body is parsed, within the time that a statement has.
const DELIVERIES_AT_ONCE = 200;

/** What webhooks hold of a user. */
export function webhookData(
  { database, resources }: Pick<Host, 'database' | 'resources'>,
  users: ResourceView,
): UserData[] {
  const about = aboutUser(resources, users);

  /** Removes what endpoints of others got, or are to get, about a user's records. Gives how many. */
  async function eraseAbout(userId: string): Promise<number> {
    let total = await writeInBatches(database, about.removeWaiting, [userId]);
    for (let after = ''; ; ) {
      const values = [userId, after, DELIVERIES_AT_ONCE];
      const rows = await database.write<[id: string, isAbout: boolean]>({ text: about.deliveries, values });
      const ids = rows.filter(([, isAbout]) => isAbout).map(([id]) => id);
      if (ids.length > 0) total += (await database.write({ text: REMOVE_DELIVERIES, values: [ids] })).length;
      if (rows.length < DELIVERIES_AT_ONCE) return total;
      after = rows.at(-1)![0];
    }
  }

  return [
    {
      name: 'webhookEndpoints',
      description: 'Webhook endpoints, without their secrets',
      tables: ['webhook_endpoints', 'webhook_turns', 'webhook_recoveries'],
      rows: (userId) => rowsInPages(database, ENDPOINTS_OF, ENDPOINT_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_ENDPOINTS_OF, [userId]),
    },
    {
      name: 'webhookDeliveries',
      description: 'What was sent to these endpoints',
      tables: ['webhook_deliveries'],
      rows: (userId) => rowsInPages(database, LOG_OF, LOG_NAMES, [userId], BODIES_AT_ONCE),
      async erase(userId) {
        const own = await writeInBatches(database, REMOVE_LOG_OF, [userId]);
        return own + (await eraseAbout(userId));
      },
    },
    {
      name: 'webhookEvents',
      description: 'Events of the app that were published for the user',
      tables: ['webhook_events'],
      rows: (userId) => rowsInPages(database, EVENTS_OF, ['id', 'name', 'createdAt'], [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_EVENTS_OF, [userId]),
    },
  ];
}
