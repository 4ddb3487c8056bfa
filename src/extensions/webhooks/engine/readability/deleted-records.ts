import {
  DecryptionError,
  type EncryptedColumn,
  type Executor,
  type ExpandedRecord,
  type Fields,
  gatewaysByName,
  type Host,
  namesOfGateway,
  type OutboxRow,
  type ResourceGateway,
  type StoredRecord,
  snakeCase,
} from '../../../../extension/index.ts';
import type { WebhookSettings } from '../../settings/settings.ts';

/**
 * Stores copies of deleted records. Arrays: $1 deletion events, $2 resources, $3 ids of the records, $4 their owners, $5 the records as
 * JSON, or $6 as ciphertext.
 */
const insertDeletedSql = (condition: string) => `
  insert into webhook_deleted_records (id, resource, record_id, owner_id, record, encrypted_record)
  select r.* from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::text[]) as r
  where ${condition}
  on conflict (id) do nothing`;
const HAS_ENDPOINTS = 'exists (select from webhook_endpoints where removed_at is null)';

const KEPT = `
  select d.resource, d.id, d.record, d.encrypted_record, d.record_id
  from unnest($1::text[], $2::text[]) as r(resource, record_id)
    join webhook_deleted_records d on d.record_id = r.record_id and d.resource = r.resource`;

/** Selects the newest copy of each record. There can be several, because a restored record can be deleted again. */
const newestSql = (from: string) => `
  select distinct on (resource, record_id) resource, id, record, encrypted_record
  from (${from}) found order by resource, record_id, id desc`;

/** Reads the newest copies of deleted records. $1 resources, $2 ids of the records. Uses webhook_deleted_records_record_id_index. */
const READ_DELETED = newestSql(KEPT);

/** Like `READ_DELETED`, but also finds deletions in the outbox. For few records only, because the outbox has no index by record. */
const READ_DELETED_OR_WAITING = newestSql(`${KEPT}
  union all
  select o.resource, o.event_id, o.payload -> 'record', null, o.record_id
  from unnest($1::text[], $2::text[]) as r(resource, record_id)
    join outbox o on o.record_id = r.record_id and o.name = r.resource || '.deleted'`);

/** A deleted record with its values at the time of the deletion. */
interface DeletedRecord {
  resource: string;
  record: StoredRecord;
}

/**
 * Copies of deleted records, so that the read policy can still decide whether an endpoint's owner may be sent events of a record after its
 * deletion. A copy is kept for as long as a delivery about the record can be sent. An erasure removes the personal values.
 */
export interface DeletedRecords {
  /** Stores the records of deletion events, in the transaction that creates their deliveries. */
  keep(rows: readonly OutboxRow[], tx: Executor): Promise<void>;
  /**
   * Reads the newest copy of each record. Deletions that the relay has not handled yet are read from the outbox. A record that cannot be
   * decrypted is logged and left out, so that it does not block the others.
   */
  read(records: readonly ExpandedRecord[]): Promise<DeletedRecord[]>;
}

type Row = [resource: string, eventId: string, record: Record<string, unknown> | null, encrypted: string | null];

const recordEncryptionContext = (eventId: string) => `webhook_deleted_records/record/${eventId}`;

/** The column that holds deleted records with encrypted fields. */
export const encryptedRecords: EncryptedColumn = {
  name: 'webhook_deleted_records.encrypted_record',
  table: 'webhook_deleted_records',
  column: 'encrypted_record',
  context: recordEncryptionContext,
};

/** The encrypted fields of a resource, with their columns. */
function encryptedFieldsOf({ declaration }: ResourceGateway): [name: string, column: string][] {
  const fields = Object.entries(declaration.fields as Fields).filter(([, { spec }]) => spec.encrypted);
  return fields.map(([name]) => [name, snakeCase(name)]);
}

// A viewer without roles: if access to a resource ignores the record for this viewer, it does so for all viewers.
const VIEWER_WITHOUT_ROLES = { id: '', roles: [] };

/**
 * Creates the functions that convert records of events to their stored form and back.
 *
 * @param toContext returns the encryption context for the record of an event
 */
export function createRecordCodec(
  { keyring, log }: Pick<Host, 'keyring' | 'log'>,
  gateways: ReadonlyMap<string, ResourceGateway>,
  toContext: (eventId: string) => string,
) {
  /**
   * Encodes the record of an event. With encrypted values, encrypts it as a whole: a key rotation does not reach ciphertexts inside JSON.
   *
   * @param columns the record as stored in the outbox
   */
  function encodeRecord(
    gateway: ResourceGateway,
    columns: Record<string, unknown>,
    eventId: string,
  ): [record: string | null, encrypted: string | null] {
    const encrypted = encryptedFieldsOf(gateway).filter(([, column]) => (columns[column] ?? null) !== null);
    if (encrypted.length === 0) return [JSON.stringify(columns), null];
    const record = gateway.fromOutbox(columns);
    const opened = Object.fromEntries(encrypted.map(([name, column]) => [column, record[name] ?? null]));
    return [null, keyring.encrypt(JSON.stringify({ ...columns, ...opened }), toContext(eventId))];
  }

  function decodeRecord([resource, eventId, plain, encrypted]: Row): DeletedRecord {
    const gateway = gateways.get(resource)!;
    const { name } = gateway;
    if (encrypted === null) return { resource: name, record: gateway.fromOutbox(plain!) };
    const columns: Record<string, unknown> = JSON.parse(keyring.decrypt(encrypted, toContext(eventId)));
    for (const [name, column] of encryptedFieldsOf(gateway)) {
      columns[column] = gateway.toColumn(name, columns[column], columns.id as string);
    }
    return { resource: name, record: gateway.fromOutbox(columns) };
  }

  function decodeRecordOrLog(row: Row): DeletedRecord[] {
    try {
      return [decodeRecord(row)];
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      const [resource, event] = row;
      log.error(
        { err: error, resource, event },
        'the stored record of an event cannot be decrypted; it is not readable',
      );
      return [];
    }
  }

  return { encodeRecord, decodeRecordOrLog };
}

/** Creates the store of deleted records. Without kept events, it stores nothing while there are no endpoints. */
export function createDeletedRecords(
  { database, keyring, resources, log }: Pick<Host, 'database' | 'keyring' | 'resources' | 'log'>,
  { keepEventsDays }: Pick<WebhookSettings, 'keepEventsDays'>,
): DeletedRecords {
  const gateways = gatewaysByName(resources);
  const { encodeRecord, decodeRecordOrLog } = createRecordCodec({ keyring, log }, gateways, recordEncryptionContext);
  const insertText = insertDeletedSql(keepEventsDays > 0 ? 'true' : HAS_ENDPOINTS);

  /** Whether copies of a resource's records are needed: only if its policies, scope filter or field visibility read the record. */
  const needsDeletedCopy = ({ name, resource }: OutboxRow) =>
    resource !== null &&
    name === `${resource}.deleted` &&
    (gateways.get(resource)?.needsRecord(VIEWER_WITHOUT_ROLES, false) ?? false);

  return {
    async keep(rows, tx) {
      const kept = rows.filter(needsDeletedCopy);
      if (kept.length === 0) return;
      const records = kept.map(({ resource, payload, eventId }) =>
        encodeRecord(gateways.get(resource!)!, payload.record as Record<string, unknown>, eventId),
      );
      const owners = kept.map(({ resource, payload }) => {
        const gateway = gateways.get(resource!)!;
        return gateway.ownerOf(gateway.fromOutbox(payload.record as Record<string, unknown>));
      });
      const values = [
        kept.map(({ eventId }) => eventId),
        kept.map(({ resource }) => resource),
        kept.map(({ recordId }) => recordId),
        owners,
        records.map(([record]) => record),
        records.map(([, encrypted]) => encrypted),
      ];
      await tx.write({ name: 'webhook_deleted_insert', text: insertText, values });
    },

    async read(records) {
      const valuesOf = (some: readonly ExpandedRecord[]) => {
        const named = some.flatMap(({ resource, id }) =>
          namesOfGateway(gateways, { name: resource }).map((name) => ({ name, id })),
        );
        return [named.map(({ name }) => name), named.map(({ id }) => id)];
      };
      const kept = await database.read<Row>({
        name: 'webhook_deleted_read',
        text: READ_DELETED,
        values: valuesOf(records),
      });
      const known = kept.flatMap(decodeRecordOrLog);
      const unknown = records.filter(
        ({ resource, id }) => !known.some((one) => one.resource === resource && one.record.id === id),
      );
      if (unknown.length === 0) return known;
      // Read both places in one statement, because the relay may be moving a record from the outbox to the table.
      const waiting = await database.read<Row>({
        name: 'webhook_deleted_or_waiting',
        text: READ_DELETED_OR_WAITING,
        values: valuesOf(unknown),
      });
      return [...known, ...waiting.flatMap(decodeRecordOrLog)];
    },
  };
}
