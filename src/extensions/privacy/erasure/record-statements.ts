import {
  type EmptiedField,
  type ErasurePlan,
  type Fields,
  fieldTypeOf,
  type Host,
  quoteIdentifier,
  quoteLiteral,
  type ResourceGateway,
  snakeCase,
} from '../../../extension/index.ts';

/** The SQL that erases a user's records of one resource. */
interface RecordStatements {
  /** $1 owner, $2 maximum number of rows. Reads and locks records; skips those that another transaction has locked. */
  lockBatch: string;
  /** Like `lockBatch`, but waits for transactions that have locked a record. For the records that `lockBatch` skipped. */
  lockBatchWaiting: string;
  /**
   * SQL that deletes records and stores an event for each. $1 record ids, $2 an event id for each. Returns the records in the same JSON
   * form as in the events.
   */
  remove: string;
  /**
   * Anonymizes records and stores their events. $1 record ids, $2 an event id for each, then the values of `replacementValues`. Returns
   * each record after and before the change as JSON, as in the events.
   */
  anonymize: string;
  /**
   * Returns the ids of a page of the owner's deleted records. $1 owner, $2 the last id of the previous page, $3 page size. Uses the owner
   * index of the archive. Undefined without soft delete.
   */
  findArchived: string | undefined;
  /** Deletes archived records. $1 record ids. Returns one row for each deleted record. */
  removeArchived: string | undefined;
  /** Anonymizes archived records. $1 record ids, from $2 on the values of `replacementValues`. Returns one row for each record. */
  anonymizeArchived: string | undefined;
  /** $1 owner. Counts the owner's records, including archived ones that can still be restored. */
  count: string;
  /** Returns the new values of the emptied fields for records with these ids: one parameter for each field. */
  replacementValues(ids: readonly string[]): unknown[];
}

/** Returns the columns that events must not contain after an erasure: personal columns, and password hashes, which no event may contain. */
function listErasedColumns({ declaration }: ResourceGateway, { personal }: ErasurePlan): string[] {
  const passwords = Object.entries(declaration.fields as Fields).filter(([, { spec }]) => fieldTypeOf(spec).concealed);
  return [...personal.map(({ column }) => column), ...passwords.map(([name]) => snakeCase(name))];
}

/** Returns whether the replacement value differs for each record: a ciphertext is bound to the id of its record. */
function needsReplacementPerRecord({ spec, replacement }: EmptiedField): boolean {
  return spec.encrypted === true && replacement !== null;
}

/** Returns the SQL parameter with a field's replacement value: an array with one value per id, or one value for all records. */
function encodeReplacementParameter(gateway: ResourceGateway, field: EmptiedField, ids: readonly string[]): unknown {
  const encodeReplacement = (id: string) => gateway.toColumn(field.name, field.replacement, id);
  return needsReplacementPerRecord(field) ? ids.map(encodeReplacement) : encodeReplacement('');
}

/** Returns a list of column names as an SQL array. */
function textArraySql(names: readonly string[]): string {
  return `array[${names.map(quoteLiteral).join(', ')}]::text[]`;
}

/**
 * Builds the SQL that erases a user's records of one resource.
 *
 * @param plan the erasure plan of a resource whose records have an owner
 */
export function createRecordStatements(gateway: ResourceGateway, plan: ErasurePlan): RecordStatements {
  const table = quoteIdentifier(gateway.table);
  const owner = quoteIdentifier(plan.ownerColumn!);
  const erasedNames = textArraySql(listErasedColumns(gateway, plan));
  const passwords = textArraySql(listErasedColumns(gateway, { ...plan, personal: [] }));
  const json = gateway.rowJson;
  const origin = gateway.declaration.audit === true ? `, 'origin', '{"via":"system"}'::jsonb` : '';
  // `erased` marks events of an erasure: a realtime client that reconnects later receives only the id of such a record.
  const outboxCteSql = (action: string, parts: string, from: string) => `_outbox as (
    insert into outbox (event_id, name, resource, record_id, created_at, payload)
    select _event.id, '${gateway.name}.${action}', '${gateway.name}', _new."id", clock_timestamp(), jsonb_build_object(${parts}, 'erased', true${origin})
    from ${from} join unnest($1::text[], $2::text[]) _event(record_id, id) on _event.record_id = _new."id")`;
  const lockBatch = `select ${gateway.columns('_row')} from ${table} _row where _row.${owner} = $1`;
  const setClauseSql = (parametersBefore: number, time: string) => {
    const values = plan.personal.map((field, i) => {
      const name = quoteIdentifier(field.column);
      return `${name} = ${needsReplacementPerRecord(field) ? `_left.${name}` : `$${parametersBefore + i + 1}`}`;
    });
    const own = plan.ownerColumn === 'id' ? [] : [`${owner} = null`];
    return [...values, ...own, ...(gateway.declaration.timestamps === false || time === '' ? [] : [time])].join(', ');
  };
  const replacementTableSql = (parametersBefore: number) => {
    const each = plan.personal.flatMap((field, i) =>
      needsReplacementPerRecord(field) ? [[field.column, parametersBefore + i + 1] as const] : [],
    );
    const values = ['$1::text[]', ...each.map(([, at]) => `$${at}::text[]`)];
    const names = ['id', ...each.map(([column]) => column)].map(quoteIdentifier);
    return `unnest(${values.join(', ')}) _left(${names.join(', ')})`;
  };
  const touchUpdatedAtSql = `"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`;
  const archive = gateway.archiveTable === undefined ? undefined : quoteIdentifier(gateway.archiveTable);
  return {
    lockBatch: `${lockBatch} limit $2 for update skip locked`,
    lockBatchWaiting: `${lockBatch} order by _row."id" limit $2 for update`,
    remove: `with _new as (delete from ${table} where "id" = any($1) returning *),
  ${outboxCteSql('deleted', `'record', (${json('_new')}) - ${erasedNames}`, '_new')}
  select (${json('_new')}) - ${erasedNames} from _new`,
    anonymize: `with _old as (select * from ${table} where "id" = any($1)),
  _new as (update ${table} _row set ${setClauseSql(2, touchUpdatedAtSql)} from _old join ${replacementTableSql(2)} on _left."id" = _old."id"
    where _row."id" = _old."id" returning _row.*),
  ${outboxCteSql('updated', `'record', (${json('_new')}) - ${passwords}, 'previous', (${json('_old')}) - ${erasedNames}`, '_new join _old on _old."id" = _new."id"')}
  select (${json('_new')}) - ${passwords}, (${json('_old')}) - ${erasedNames} from _new join _old on _old."id" = _new."id"`,
    findArchived: archive && `select "id" from ${archive} where ${owner} = $1 and "id" > $2 order by "id" limit $3`,
    removeArchived: archive && `delete from ${archive} where "id" = any($1) returning 1`,
    anonymizeArchived:
      archive &&
      `update ${archive} _row set ${setClauseSql(1, '')} from ${replacementTableSql(1)}
    where _row."id" = any($1) and _row."id" = _left."id" returning 1`,
    count: `select ${[table, ...(archive === undefined ? [] : [archive])]
      .map((from) => `(select count(*) from ${from} where ${owner} = $1)`)
      .join(' + ')}`,
    replacementValues: (ids) => plan.personal.map((field) => encodeReplacementParameter(gateway, field, ids)),
  };
}

/**
 * $1 owner. Removes personal data from outbox events of the owner's records. Waits for a relay that has locked these events. One statement for
 * all resources, because the outbox has no index by owner and is scanned.
 */
function redactOutboxSql(shares: readonly { gateway: ResourceGateway; plan: ErasurePlan }[]): string {
  const rows = shares.map(({ gateway, plan }) => {
    const names = [gateway.name, plan.ownerColumn!].map(quoteLiteral);
    return `(${names.join(', ')}, ${textArraySql(listErasedColumns(gateway, plan))})`;
  });
  const holdsOwnersPersonalDataSql = (part: string) =>
    `(payload->'${part}'->>s.owner = $1 and payload->'${part}' ?| s.erased)`;
  return `
  update outbox set payload = payload || jsonb_build_object('record', (payload->'record') - s.erased)
    || case when payload ? 'previous' then jsonb_build_object('previous', (payload->'previous') - s.erased) else '{}' end
  from (values ${rows.join(', ')}) s(resource, owner, erased)
  where outbox.resource = s.resource and (${holdsOwnersPersonalDataSql('record')} or ${holdsOwnersPersonalDataSql('previous')}) returning 1`;
}

/**
 * Creates the function that removes a user's personal data from waiting events, so that events sent after the erasure contain none.
 *
 * @param shares the resources whose records the erasure deletes or anonymizes, with their plans
 */
export function createOutboxRedactor(
  { database }: Pick<Host, 'database'>,
  shares: readonly { gateway: ResourceGateway; plan: ErasurePlan }[],
): (userId: string) => Promise<void> {
  const text = redactOutboxSql(shares);
  return async (userId) => {
    await database.write({ text, values: [userId] });
  };
}
