import {
  type Database,
  type Host,
  type ResourceGateway,
  readRowsInPages,
  type UserData,
  writeInBatches,
} from '../../../extension/index.ts';
import type { DeliverySerializer } from '../api/serialize-delivery.ts';
import { DELIVERY_TABLES, isKeptSql } from '../deliveries/deliveries-sql.ts';
import { AWAIT_PAGES } from '../engine/backfill/backfills-sql.ts';
import type { Audience } from '../engine/readability/readability.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { eraseDeliveriesAbout } from './erase-deliveries.ts';
import {
  aboutUserSql,
  DELETED_RECORDS_OF,
  deliveriesOfEndpointSql,
  ENDPOINT_SCOPES_OF,
  ENDPOINTS_OF,
  EVENTS_OF,
  KEPT_EVENTS_OF,
  REMOVE_ENDPOINTS_OF,
  REMOVE_EVENTS_OF,
  removeLogOfSql,
} from './user-data-sql.ts';

const ENDPOINT_NAMES = [
  ...['id', 'url', 'events', 'description', 'scope', 'enabled', 'createdAt', 'updatedAt', 'filter', 'delivery'],
];
// Deliveries read at once for an export. Few, because a body may be as large as a record.
const BODIES_AT_ONCE = 20;
const DELETED_NAMES = ['id', 'resource', 'record', 'deletedAt'];
const EVENT_NAMES = ['id', 'name', 'createdAt'];
const LOG_NAMES = ['id', 'endpoint', 'type', 'status', 'attempts', 'statusCode', 'createdAt', 'finishedAt'];

type LogRow = [id: string, ...columns: unknown[], eventId: unknown];

/** Reads the deliveries to a user's endpoints, with the bodies that the user may read now. @param deliveriesText see `deliveriesOfEndpointSql` */
async function* readDeliveriesWithBodies(
  database: Database,
  { readableBodies }: Pick<DeliverySerializer, 'readableBodies'>,
  deliveriesText: string,
  userId: string,
): AsyncGenerator<Record<string, unknown>> {
  const statement = { text: ENDPOINT_SCOPES_OF, values: [userId] };
  for (const [endpointId, scope] of await database.read<[string, Audience['scope']]>(statement)) {
    let rows: LogRow[];
    let after = '';
    do {
      const values = [endpointId, after, BODIES_AT_ONCE];
      rows = await database.readSlowly<LogRow>({ text: deliveriesText, values });
      const ids = rows.map(([id]) => id);
      const bodies = await readableBodies({ owner: userId, scope }, ids);
      for (const row of rows) {
        const columns = Object.fromEntries(LOG_NAMES.map((name, i) => [name, row[i]]));
        yield { ...columns, body: bodies.get(row[0]) ?? null };
      }
      after = rows.at(-1)?.at(-1) as string;
    } while (rows.length === BODIES_AT_ONCE);
  }
}

/** Describes the user data of webhooks: how to export and to erase it. */
export function createWebhookUserData(
  { database, resources, keyring }: Pick<Host, 'database' | 'resources' | 'keyring'>,
  users: ResourceGateway,
  settings: Pick<WebhookSettings, 'keepDeliveriesDays'>,
  serializer: Pick<DeliverySerializer, 'readableBodies'>,
): UserData[] {
  const about = aboutUserSql(resources, users);
  const deliveriesText = deliveriesOfEndpointSql(isKeptSql(settings));

  /** Removes personal values from copies of the user's deleted records. Returns the number of copies changed or deleted. */
  async function eraseDeletedRecords(userId: string): Promise<number> {
    let total = 0;
    for (const text of about.emptyDeletedRecordsSql) total += (await database.write({ text, values: [userId] })).length;
    return total;
  }

  async function eraseKeptEvents(userId: string): Promise<number> {
    let total = 0;
    for (const text of about.eraseEvents) total += await writeInBatches(database, text, [userId]);
    // A page in progress may have read them before. The deliveries that it creates are there when those about the user are erased.
    await database.write({ text: AWAIT_PAGES, values: [] });
    return total;
  }

  return [
    {
      name: 'webhookEndpoints',
      description: 'Webhook endpoints, without their secrets',
      tables: [
        ...['webhook_endpoints', 'webhook_turns', 'webhook_recoveries', 'webhook_backfills', 'webhook_endpoint_stats'],
      ],
      rows: (userId) => readRowsInPages(database, ENDPOINTS_OF, ENDPOINT_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_ENDPOINTS_OF, [userId]),
    },
    {
      // Erased before the deliveries, because a backfill could create more of them.
      name: 'webhookKeptEvents',
      description:
        'Events of the account and its records, kept for a time so that webhook endpoints can get those that they have missed',
      tables: ['webhook_event_log'],
      rows: (userId) => readRowsInPages(database, KEPT_EVENTS_OF, EVENT_NAMES, [userId]),
      erase: eraseKeptEvents,
    },
    {
      name: 'webhookDeliveries',
      description: 'What was sent to these endpoints',
      tables: [...DELIVERY_TABLES],
      rows: (userId) => readDeliveriesWithBodies(database, serializer, deliveriesText, userId),
      async erase(userId) {
        let total = 0;
        for (const table of DELIVERY_TABLES) total += await writeInBatches(database, removeLogOfSql(table), [userId]);
        return total + (await eraseDeliveriesAbout({ database, keyring, about, settings }, userId));
      },
    },
    {
      name: 'webhookDeletedRecords',
      description:
        'Copies of deleted records, kept for a time to decide which webhook endpoints may receive their events',
      tables: ['webhook_deleted_records'],
      rows: (userId) => readRowsInPages(database, DELETED_RECORDS_OF, DELETED_NAMES, [userId]),
      erase: eraseDeletedRecords,
    },
    {
      name: 'webhookEvents',
      description: 'Events of the app that were published for the user',
      tables: ['webhook_events'],
      rows: (userId) => readRowsInPages(database, EVENTS_OF, EVENT_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_EVENTS_OF, [userId]),
    },
  ];
}
