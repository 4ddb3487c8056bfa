import {
  type EncryptedColumn,
  type Executor,
  gatewaysByName,
  type Host,
  plainArrayLiteral,
  type ResourceGateway,
  type StoredRecord,
} from '../../../../extension/index.ts';
import { createRecordCodec } from '../readability/deleted-records.ts';
import { listChangedFields, type OutgoingEvent } from './outgoing-event.ts';

/** The columns of the event log with their types, in the order of the parameters of `insertEventsSql`. */
const COLUMNS = [
  ['id', 'text'],
  ['position', 'bigint'],
  ['name', 'text'],
  ['resource', 'text'],
  ['owner_id', 'text'],
  ['record', 'jsonb'],
  ['encrypted_record', 'text'],
  ['data', 'text'],
  ['bytes', 'int'],
  ['created_at', 'timestamptz'],
  // Each as the text of an array, because `unnest` would flatten an array of arrays.
  ['changed', 'text'],
] as const;

/**
 * Inserts events, one array for each of `COLUMNS`.
 *
 * @param first the number of the first parameter
 */
function insertEventsSql(first: number, condition = 'true'): string {
  const names = COLUMNS.map(([name]) => name).join(', ');
  return `
  insert into webhook_event_log (${names})
  select ${names.replace('changed', 'changed::text[]')} from unnest(${COLUMNS.map(([, type], i) => `$${first + i}::${type}[]`).join(', ')}) as r(${names})
  where ${condition}
  on conflict (id, created_at) do nothing`;
}

const INSERT_EVENTS = insertEventsSql(1);

/** Like `INSERT_EVENTS`, for events in the common table expression `claimed (event_id)`. @param first the number of the first parameter */
export const insertClaimedEventsSql = (first: number) =>
  insertEventsSql(first, 'r.id in (select event_id from claimed)');

const recordEncryptionContext = (eventId: string) => `webhook_event_log/record/${eventId}`;

/** The column that holds records of events with encrypted fields. */
export const encryptedEvents: EncryptedColumn = {
  name: 'webhook_event_log.encrypted_record',
  table: 'webhook_event_log',
  column: 'encrypted_record',
  context: recordEncryptionContext,
};

/** Finds an event. $1 id. Uses the primary keys of the partitions. */
const FIND_EVENT = `
  select name, created_at, position, resource, owner_id, record, encrypted_record, data, changed from webhook_event_log where id = $1 limit 1`;

type FoundRow = [
  name: string,
  at: string,
  position: number,
  resource: string | null,
  ownerId: string | null,
  record: Record<string, unknown> | null,
  encryptedRecord: string | null,
  data: string | null,
  changed: string[] | null,
];

/** An event as read from the log. */
export interface LoggedEvent {
  id: string;
  name: string;
  at: string;
  position: number;
  resource: string | null;
  ownerId: string | null;
  record: Record<string, unknown> | null;
  encryptedRecord: string | null;
  data: string | null;
  /** The fields that an update changed; null for other events. */
  changed: string[] | null;
}

/** The log of outgoing events. Backfills read it. */
export interface EventLog {
  /** Stores events, in the transaction that creates their first deliveries. */
  keep(events: readonly OutgoingEvent[], tx: Executor): Promise<void>;
  /** Creates the parameters of a statement that stores events. */
  createParameters(events: readonly OutgoingEvent[]): unknown[];
  /**
   * Converts a logged event. Returns undefined if its resource is no longer declared, or its record cannot be decrypted, which is logged.
   *
   * @param after see `OutgoingEvent`
   */
  read(logged: LoggedEvent, after: string): OutgoingEvent | undefined;
  /** Finds an event; undefined if it is not in the log, or cannot be read. */
  find(id: string): Promise<OutgoingEvent | undefined>;
}

/** Creates the log of outgoing events. */
export function createEventLog(
  host: Pick<Host, 'database' | 'keyring' | 'log' | 'resources'>,
  users: Pick<ResourceGateway, 'name'>,
): EventLog {
  const gateways = gatewaysByName(host.resources);
  const codec = createRecordCodec(host, gateways, recordEncryptionContext);

  const findOwner = (gateway: ResourceGateway, record: StoredRecord) =>
    gateway.name === users.name ? record.id : gateway.ownerOf(record);

  function toRow(event: OutgoingEvent): unknown[] {
    const { id, position, name, at } = event;
    if (event.gateway === undefined) {
      const { owner, data } = event;
      return [id, position, name, null, owner, null, null, data, Buffer.byteLength(data), at, null];
    }
    const { gateway, record, stored } = event;
    const [plain, encrypted] = codec.encodeRecord(gateway, stored, id);
    const bytes = Buffer.byteLength(plain ?? encrypted ?? '');
    const changed = listChangedFields(event);
    return [
      ...[id, position, name, gateway.name, findOwner(gateway, record) ?? null, plain, encrypted, null, bytes, at],
      changed === undefined ? null : plainArrayLiteral(changed),
    ];
  }

  function createParameters(events: readonly OutgoingEvent[]): unknown[] {
    const rows = events.map(toRow);
    return COLUMNS.map((_, column) => rows.map((row) => row[column]));
  }

  const read: EventLog['read'] = (logged, after) => {
    const { id, name, at, position, resource, ownerId, record, encryptedRecord, data, changed } = logged;
    const common = { id, name, at, position, after, trace: null };
    if (resource === null) return { ...common, gateway: undefined, owner: ownerId, data: data! };
    const gateway = gateways.get(resource);
    if (gateway === undefined) return undefined;
    const [decoded] = codec.decodeRecordOrLog([resource, id, record, encryptedRecord]);
    const hasChanged = (field: string) => changed?.includes(field) ?? false;
    return decoded && { ...common, gateway, record: decoded.record, stored: record ?? {}, hasChanged };
  };

  return {
    createParameters,
    read,
    async find(id) {
      const [row] = await host.database.read<FoundRow>({ text: FIND_EVENT, values: [id] });
      if (row === undefined) return undefined;
      const [name, at, position, resource, ownerId, record, encryptedRecord, data, changed] = row;
      return read({ id, name, at, position, resource, ownerId, record, encryptedRecord, data, changed }, '');
    },
    async keep(events, tx) {
      if (events.length === 0) return;
      await tx.write({ name: 'webhook_events_keep', text: INSERT_EVENTS, values: createParameters(events) });
    },
  };
}
