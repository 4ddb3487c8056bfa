import type { Host, ResourceGateway, UserData } from '../../declare/host.ts';
import { DecryptionError } from '../../platform/crypto/keyring.ts';
import { readRowsInPages } from '../../platform/postgres/scan.ts';
import { writeInBatches } from '../../platform/postgres/write-in-batches.ts';
import type { DeliverySerializer } from './log/delivery.ts';
import type { Audience } from './readability/readability.ts';
import { decryptStoredBody } from './readability/stored-body.ts';
import {
  aboutUserSql,
  DELETED_RECORDS_OF,
  ENDPOINTS_OF,
  EVENTS_OF,
  LOG_OF,
  REMOVE_DELIVERIES,
  REMOVE_ENDPOINTS_OF,
  REMOVE_EVENTS_OF,
  REMOVE_LOG_OF,
} from './user-data-sql.ts';

const ENDPOINT_NAMES = ['id', 'url', 'events', 'description', 'scope', 'enabled', 'createdAt', 'updatedAt'];
// Deliveries read at once for an export. Few, because a body may be as large as a record.
const BODIES_AT_ONCE = 20;
const DELETED_NAMES = ['id', 'resource', 'record', 'deletedAt'];
const LOG_NAMES = ['id', 'endpoint', 'type', 'status', 'attempts', 'statusCode', 'createdAt', 'finishedAt'];

type LogScope = Audience['scope'];
type LogRow = [id: string, ...unknown[]];
type AboutRow = [id: string, isAbout: boolean, encryptedBody: string | null];

// Deliveries checked by one statement of an erasure, which parses each body and must not exceed the statement timeout.
const DELIVERIES_AT_ONCE = 200;

/** Describes the user data of webhooks: how to export and to erase it. */
export function createWebhookUserData(
  { database, resources, keyring }: Pick<Host, 'database' | 'resources' | 'keyring'>,
  users: ResourceGateway,
  { readableBodies }: Pick<DeliverySerializer, 'readableBodies'>,
): UserData[] {
  const about = aboutUserSql(resources, users);

  /** Reads the deliveries to a user's endpoints, with the bodies that the user may read now. */
  async function* readDeliveriesWithBodies(userId: string): AsyncGenerator<Record<string, unknown>> {
    for (let after = ''; ; ) {
      const rows = await database.readSlowly<LogRow>({ text: LOG_OF, values: [userId, after, BODIES_AT_ONCE] });
      const bodies = new Map<string, string>();
      for (const [scope, some] of Map.groupBy(rows, (row) => row.at(-1) as LogScope)) {
        const ids = some.map(([id]) => id);
        for (const [id, body] of await readableBodies({ owner: userId, scope }, ids)) bodies.set(id, body);
      }
      for (const row of rows) {
        const columns = Object.fromEntries(LOG_NAMES.map((name, i) => [name, row[i]]));
        yield { ...columns, body: bodies.get(row[0]) ?? null };
      }
      if (rows.length < BODIES_AT_ONCE) return;
      after = rows.at(-1)![0];
    }
  }

  /**
   * Returns the ids of deliveries with an encrypted body that are about the user. A delivery whose body cannot be decrypted is included,
   * because its content is unknown.
   */
  async function findEncryptedAbout(userId: string, rows: readonly AboutRow[]): Promise<Set<string>> {
    const found = new Set<string>();
    const opened: [id: string, body: string][] = [];
    for (const [id, , encryptedBody] of rows) {
      if (encryptedBody === null) continue;
      try {
        opened.push([id, decryptStoredBody(keyring, id, { body: '', encryptedBody })]);
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        found.add(id);
      }
    }
    if (opened.length === 0) return found;
    const values = [userId, opened.map(([id]) => id), opened.map(([, body]) => body)];
    const checkedRows = await database.write<AboutRow>({ text: about.opened, values });
    for (const [id, isAbout] of checkedRows) if (isAbout) found.add(id);
    return found;
  }

  /** Removes personal values from copies of the user's deleted records. Returns the number of copies changed or deleted. */
  async function eraseDeletedRecords(userId: string): Promise<number> {
    let total = 0;
    for (const text of about.emptyDeletedRecordsSql) total += (await database.write({ text, values: [userId] })).length;
    return total;
  }

  /** Deletes deliveries about a user's records at endpoints of other users. Returns the number of deliveries. */
  async function eraseDeliveriesAbout(userId: string): Promise<number> {
    let total = await writeInBatches(database, about.removeWaiting, [userId]);
    for (let after = ''; ; ) {
      const values = [userId, after, DELIVERIES_AT_ONCE];
      const rows = await database.write<AboutRow>({ text: about.deliveries, values });
      const encrypted = await findEncryptedAbout(userId, rows);
      const ids = rows.filter(([id, isAbout]) => isAbout || encrypted.has(id)).map(([id]) => id);
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
      rows: (userId) => readRowsInPages(database, ENDPOINTS_OF, ENDPOINT_NAMES, [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_ENDPOINTS_OF, [userId]),
    },
    {
      name: 'webhookDeliveries',
      description: 'What was sent to these endpoints',
      tables: ['webhook_deliveries'],
      rows: readDeliveriesWithBodies,
      async erase(userId) {
        const own = await writeInBatches(database, REMOVE_LOG_OF, [userId]);
        return own + (await eraseDeliveriesAbout(userId));
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
      rows: (userId) => readRowsInPages(database, EVENTS_OF, ['id', 'name', 'createdAt'], [userId]),
      erase: (userId) => writeInBatches(database, REMOVE_EVENTS_OF, [userId]),
    },
  ];
}
