import type { Host } from '../../declare/host.ts';
import type { UserData } from '../../declare/user-data.ts';
import { rowsInPages } from '../../platform/postgres/rows-in-pages.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import {
  ENDPOINTS_OF,
  EVENTS_OF,
  LOG_OF,
  REMOVE_ENDPOINTS_OF,
  REMOVE_EVENTS_OF,
  REMOVE_LOG_OF,
} from './sql/user-data.ts';

const ENDPOINT_NAMES = ['id', 'url', 'events', 'description', 'scope', 'enabled', 'createdAt', 'updatedAt'];
const LOG_NAMES = ['id', 'endpoint', 'type', 'status', 'attempts', 'statusCode', 'createdAt', 'finishedAt', 'body'];

/** What webhooks hold of a user. */
export function webhookData({ database }: Pick<Host, 'database'>): UserData[] {
  return [
    {
      name: 'webhookEndpoints',
      description: 'Webhook endpoints, without their secrets',
      rows: (userId) => rowsInPages(database, ENDPOINTS_OF, ENDPOINT_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_ENDPOINTS_OF, [userId]),
    },
    {
      name: 'webhookDeliveries',
      description: 'What was sent to these endpoints',
      rows: (userId) => rowsInPages(database, LOG_OF, LOG_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_LOG_OF, [userId]),
    },
    {
      name: 'webhookEvents',
      description: 'Events of the app that were published for the user',
      rows: (userId) => rowsInPages(database, EVENTS_OF, ['id', 'name', 'createdAt'], [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_EVENTS_OF, [userId]),
    },
  ];
}
