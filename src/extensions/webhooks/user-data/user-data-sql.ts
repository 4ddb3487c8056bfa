import {
  type EmptiedField,
  type ErasureTarget,
  type Fields,
  findErasureTargets,
  gatewaysByName,
  namesOfGateway,
  quoteIdentifier,
  quoteLiteral,
  type ResourceGateway,
  snakeCase,
  tablesOf,
} from '../../../extension/index.ts';
import { DELIVERY_TABLES } from '../deliveries/deliveries-sql.ts';
import { REMOVAL_ASSIGNMENTS } from '../endpoints/endpoints-sql.ts';
import { OWN_ROW_NAME } from '../engine/fanout/outgoing-event.ts';

/**
 * The body of delivery `d` as jsonb. Texts in published events may contain NUL and unpaired surrogates as JSON escapes, which jsonb
 * rejects. This expression replaces each of these escapes by a question mark.
 */
const BODY_JSON = String.raw`case when strpos(d.body, '\u') = 0 then d.body
    else regexp_replace(d.body, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1?', 'g') end::jsonb`;

const quoteValue = (value: string | number | boolean) => quoteLiteral(String(value));

// A condition: the body contains a personal value in this field. Fields that the receiver could not see are not in the body.
const holdsPersonalValue = ({ name, replacementText }: EmptiedField) =>
  `b.data->>${quoteValue(name)} ${replacementText === null ? 'is not null' : `<> ${quoteValue(replacementText)}`}`;

type Gateways = ReadonlyMap<string, ResourceGateway>;

/** A condition: an event has the current name or a former name of a resource. */
function isOfResourceSql(event: string, gateway: ResourceGateway, gateways: Gateways): string {
  return `split_part(${event}, '.', 1) in (${namesOfGateway(gateways, gateway).map(quoteValue).join(', ')})`;
}

/** A condition: the body contains a key that is no longer declared, perhaps under another name. Its value may be personal. */
function holdsUndeclaredKeySql({ declaration }: ResourceGateway): string {
  const declared = ['id', 'createdAt', 'updatedAt', 'deletedAt', ...Object.keys(declaration.fields)];
  // Postgres may evaluate this for published events too, whose data can be anything.
  const data = `case when jsonb_typeof(b.data) = 'object' then b.data else '{}' end`;
  return `exists (select from jsonb_object_keys(${data}) as held(key) where key not in (${declared.map(quoteValue).join(', ')}))`;
}

/** A condition: delivery `d` with the data `b.data` is about a record of user $1, according to the body or to the stored record. */
function isAboutRecordSql({ gateway, plan }: ErasureTarget, gateways: Gateways): string {
  const field = quoteValue(plan.ownerField!);
  const column = quoteIdentifier(plan.ownerColumn!);
  const stored = tablesOf(gateway).map(
    (table) => `exists (select from ${quoteIdentifier(table)} r where r."id" = b.data->>'id' and r.${column} = $1)`,
  );
  const personal = [...plan.personal.map(holdsPersonalValue), holdsUndeclaredKeySql(gateway)].join(' or ');
  // The deletion event of a record may still be delivered if its body has no personal values.
  const isPersonal =
    plan.action === 'delete' ? `(split_part(d.type, '.', 2) <> 'deleted' or ${personal})` : `(${personal})`;
  const ownerMatch = ['d.subject_id = $1', `b.data->>${field} = $1`, `b.data->${field}->>'id' = $1`, ...stored].join(
    ' or ',
  );
  return `${isOfResourceSql('d.type', gateway, gateways)} and ${isPersonal} and (${ownerMatch})`;
}

/** Conditions: the body of delivery `d` contains a record of user $1, expanded in a record of another user. */
function expandsRecordSql(
  gateway: ResourceGateway,
  targets: ReadonlyMap<string, ErasureTarget>,
  gateways: Gateways,
): string[] {
  const named = Object.entries(gateway.declaration.fields as Fields).flatMap(([name, { spec }]) =>
    [name, ...(spec.renamedFrom ?? [])].map((field) => ({ field, spec })),
  );
  return named.flatMap(({ field, spec }) => {
    const target = spec.populate ? targets.get(spec.target ?? spec.inner?.spec.target ?? '') : undefined;
    if (target === undefined) return [];
    const ownerMatch = `jsonb_build_object(${quoteValue(target.plan.ownerField!)}, $1::text)`;
    const data = `b.data->${quoteValue(field)}`;
    // The body may lack the owner of the expanded record, because the receiver may not see the owner.
    const stored = tablesOf(target.gateway).map(
      (table) => `exists (
        select from jsonb_path_query(${data}, '$.id') one(id) join ${quoteIdentifier(table)} r on r."id" = one.id #>> '{}'
        where r.${quoteIdentifier(target.plan.ownerColumn!)} = $1)`,
    );
    const expanded = [`${data} @> ${ownerMatch}`, `${data} @> jsonb_build_array(${ownerMatch})`, ...stored].join(
      ' or ',
    );
    return [`${isOfResourceSql('d.type', gateway, gateways)} and (${expanded})`];
  });
}

/** A condition: a stored record belongs to user $1. */
function isOwnRecordSql({ gateway }: ErasureTarget, gateways: Gateways): string {
  return `resource in (${namesOfGateway(gateways, gateway).map(quoteValue).join(', ')}) and owner_id = $1`;
}

/** The columns of a record with personal values, with their former names, as an SQL array. */
function personalColumnsSql({ plan }: ErasureTarget): string {
  const columns = plan.personal.flatMap(({ column, spec }) => [column, ...(spec.renamedFrom ?? []).map(snakeCase)]);
  return `array[${columns.map(quoteValue).join(', ')}]::text[]`;
}

/**
 * Empties the kept events of the user's records of one resource. $1 user, $2 maximum number of events. Events of deleted records, other than the
 * deletion, are deleted, and so are encrypted ones, because SQL cannot read them. Records that stay no longer name the user. Returns a row for each.
 * Uses webhook_event_log_owner_index.
 */
function emptyEventsSql(target: ErasureTarget, gateways: Gateways): string {
  const personal = personalColumnsSql(target);
  const { action, ownerColumn } = target.plan;
  const [emptied, owner] =
    action === 'delete' ? [personal, 'owner_id'] : [`(${personal} || ${quoteValue(ownerColumn!)}::text)`, 'null'];
  const isDeleted = action === 'delete' ? `or split_part(name, '.', 2) <> 'deleted'` : '';
  return `
  with page as materialized (
    select id, created_at, (encrypted_record is not null ${isDeleted}) as is_deleted from webhook_event_log
    where ${isOwnRecordSql(target, gateways)} and (encrypted_record is not null ${isDeleted} or record ?| ${emptied}) limit $2 for update
  ), gone as (
    delete from webhook_event_log e using page p where p.is_deleted and e.id = p.id and e.created_at = p.created_at returning 1
  ), emptied as (
    update webhook_event_log e set record = record - ${emptied}, owner_id = ${owner} from page p
    where not p.is_deleted and e.id = p.id and e.created_at = p.created_at returning 1
  )
  select 1 from gone union all select 1 from emptied`;
}

/** Deletes the kept events that the app published for the user. $1 user, $2 maximum number of events. Returns a row for each. */
const REMOVE_PUBLISHED_EVENTS = `
  delete from webhook_event_log where (id, created_at) in (
    select id, created_at from webhook_event_log where owner_id = $1 and resource is null limit $2)
  returning 1`;

/** Empties the user's deleted records of one resource. Encrypted records are deleted, because SQL cannot read them. */
function emptyDeletedRecordsSql(target: ErasureTarget, gateways: Gateways): string {
  const ownerMatch = isOwnRecordSql(target, gateways);
  const personal = personalColumnsSql(target);
  return `
  with gone as (
    delete from webhook_deleted_records where ${ownerMatch} and encrypted_record is not null returning 1
  ), emptied as (
    update webhook_deleted_records set record = record - ${personal} where ${ownerMatch} and record ?| ${personal} returning 1
  )
  select 1 from gone union all select 1 from emptied`;
}

/**
 * Finds deliveries that finished in a range of time and mention users or records. $1 ids of users and records, $2 start of the range, $3 its end
 * (exclusive), $4 the last delivery of the previous page, $5 page size. Uses webhook_delivery_log_mentions_index.
 *
 * Each page finds all matches in the range, so the range should be one day, which is one partition. The statement searches for one id after
 * the other: `offset 0` keeps Postgres from joining the ids with a scan of the whole partition, which it prefers while the partition has no
 * statistics. `materialized` keeps it from reading the log in the order of ids.
 */
export const FIND_MENTIONING = `
  with found as materialized (
    select distinct d.id from unnest($1::text[]) as mentioned(id) cross join lateral (
      select id from webhook_delivery_log
      where finished_at >= $2::timestamptz and finished_at < $3::timestamptz and mentions @> array[mentioned.id] offset 0) d
  )
  select id from found where id > $4 order by id limit $5`;

/**
 * Reads finished deliveries whose mentions are unknown. $1 the last delivery of the previous page, $2 page size. Uses
 * webhook_delivery_log_unknown_mentions_index.
 */
export const UNKNOWN_MENTIONS = `
  select id from webhook_delivery_log where mentions is null and id > $1 order by id limit $2`;

/**
 * Deliveries `d` with the given ids. The search for one id after the other (`offset 0`) uses the primary key. Without statistics, as after the
 * start of a day or a restored backup, Postgres expects hundreds of rows for an id, and would scan each partition for all ids at once.
 *
 * @param ids a parameter with an array
 */
const byIdSql = (table: string, ids: string, columns: string) =>
  `unnest(${ids}::text[]) as wanted(id) cross join lateral (select ${columns} from ${table} where id = wanted.id offset 0) d`;

/** The statements that find deliveries about a user at endpoints of other users. */
interface AboutUserSql {
  /**
   * Reads a page of the waiting deliveries. $1 user, $2 the last delivery of the previous page, $3 page size. Returns ids of deliveries, and
   * whether each may be about the user, because it mentions the user or one of their records or because its mentions are not known.
   */
  waitingDeliveries: string;
  /**
   * $1 user, $2 the last record of the previous page, $3 page size. Each returns the ids of the user's records in one table. The user's own
   * record is one of them.
   */
  recordIds: readonly string[];
  /**
   * $1 user, $2 deliveries. Returns ids of deliveries, whether each is about the user, and its encrypted body.
   * For encrypted bodies, the statement `decryptedDeliveries` decides after decryption.
   */
  deliveries: string;
  /** $1 user, $2 deliveries, $3 their decrypted bodies. Returns the deliveries, whether they are about the user, and null. */
  decryptedDeliveries: string;
  /** $1 user. Removes personal values from copies of the user's deleted records, and deletes encrypted copies. Returns a row for each. */
  emptyDeletedRecordsSql: readonly string[];
  /** $1 user, $2 maximum number of events. Each removes personal values from kept events about the user, or deletes such events. */
  eraseEvents: readonly string[];
  /** $1 user, $2 maximum number of rows. Removes the extension's own outbox rows about the user. Other rows are already redacted. */
  removeOutboxRows: string;
}

/** Returns the statement that reads a page of the ids of a user's records from one of the tables of a resource. */
const recordIdsSql = ([table, owner]: readonly [table: string, ownerColumn: string]) => `
  select id from ${table} where ${owner} = $1 and id > $2 order by id limit $3`;

/** Creates the statements about a user. */
export function aboutUserSql(resources: readonly ResourceGateway[], users: ResourceGateway): AboutUserSql {
  const targets = new Map(findErasureTargets(resources, users).map((target) => [target.gateway.name, target]));
  const gateways = gatewaysByName(resources);
  const terms = [
    ...Array.from(targets.values(), (target) => isAboutRecordSql(target, gateways)),
    ...resources.flatMap((gateway) => expandsRecordSql(gateway, targets, gateways)),
    'exists (select from webhook_events e where e.id = d.event_id and e.owner_id = $1)',
  ];
  const outboxConditions = Array.from(
    targets.values(),
    ({ gateway, plan }) =>
      `${isOfResourceSql("payload->>'name'", gateway, gateways)} and payload->'record'->>${quoteValue(plan.ownerColumn!)} = $1`,
  );
  const isAbout = `coalesce(${terms.map((term) => `(${term})`).join(' or ')}, false)`;
  const DELIVERIES = `(${DELIVERY_TABLES.map(
    (table) => `select d.* from ${byIdSql(table, '$2', 'id, event_id, type, subject_id, body, encrypted_body')}`,
  ).join(' union all ')})`;
  const ownedTables = Array.from(targets.values(), ({ gateway, plan }) =>
    tablesOf(gateway).map((table) => [quoteIdentifier(table), quoteIdentifier(plan.ownerColumn!)] as const),
  ).flat();
  const mentionRecord = ownedTables.map(
    ([table, owner]) => `
    or id in (select m.id from mentioned m join ${table} r on r."id" = m.record where r.${owner} = $1)`,
  );
  return {
    // A join for the whole page, because a search for each mention of each delivery would read a hundred times as many blocks.
    waitingDeliveries: `
  with page as materialized (
    select id, mentions from webhook_deliveries where id > $2 order by id limit $3
  ), mentioned as (
    select p.id, m.record from page p cross join unnest(p.mentions) as m(record)
  )
  select id, mentions is null or $1 = any(mentions) ${mentionRecord.join('')} from page order by id`,
    recordIds: ownedTables.map(recordIdsSql),
    // `offset 0` makes Postgres parse each body only once.
    deliveries: `
  select d.id, ${isAbout}, d.encrypted_body
  from ${DELIVERIES} d, lateral (
    select case when d.encrypted_body is null then (${BODY_JSON})->'data' end as data offset 0) b`,
    decryptedDeliveries: `
  select d.id, ${isAbout}, null
  from (
    select d.id, d.event_id, d.type, d.subject_id, o.body from unnest($2::text[], $3::text[]) as o(id, body)
      join ${DELIVERIES} d on d.id = o.id
  ) d, lateral (select (${BODY_JSON})->'data' as data offset 0) b`,
    emptyDeletedRecordsSql: Array.from(targets.values(), (target) => emptyDeletedRecordsSql(target, gateways)),
    eraseEvents: [
      REMOVE_PUBLISHED_EVENTS,
      ...Array.from(targets.values(), (target) => emptyEventsSql(target, gateways)),
    ],
    removeOutboxRows: `
  delete from outbox where id in (
    select id from outbox where name = '${OWN_ROW_NAME}'
      and (payload->>'owner' = $1 or ${outboxConditions.map((term) => `(${term})`).join(' or ')}) limit $2)
  returning 1`,
  };
}

/** Reads a page of a user's endpoints. $1 owner, $2 last id of the previous page, $3 page size. Uses webhook_endpoints_owner_id_index. */
export const ENDPOINTS_OF = `
  select id, nullif(url, ''), events, description, scope, enabled, created_at, updated_at, filter, delivery from webhook_endpoints
  where owner_id = $1 and removed_at is null and id > $2 order by id limit $3`;

/** Reads the ids and scopes of a user's endpoints. $1 owner. Uses webhook_endpoints_owner_id_index. */
export const ENDPOINT_SCOPES_OF = `
  select id, scope from webhook_endpoints where owner_id = $1 and removed_at is null order by id`;

/**
 * Reads a page of the deliveries to an endpoint, in the order of events. $1 endpoint, $2 last event of the previous page, $3 page size. Uses
 * the indexes by endpoint and event.
 *
 * @param isKept see `isKeptSql`
 */
export function deliveriesOfEndpointSql(isKept: string): string {
  const page = (table: string, condition = '') => `(
    select id, endpoint_id, type, case when status = 'waiting' then 'pending' else status end as status, attempts, status_code, created_at, finished_at, event_id from ${table} d
    where endpoint_id = $1 and event_id > $2 ${condition} order by event_id limit $3)`;
  return `
  select * from (${page('webhook_deliveries')} union all ${page('webhook_delivery_log', `and ${isKept}`)}) d order by event_id limit $3`;
}

/** Reads a page of copies of a user's deleted records. $1 owner, $2 last id of the previous page, $3 page size. */
export const DELETED_RECORDS_OF = `
  select id, resource, record_id, created_at from webhook_deleted_records where owner_id = $1 and id > $2 order by id limit $3`;

/** Reads a page of the kept events of a user's records, and of those published for the user. $1 owner, $2 last id of the previous page, $3 page size. */
export const KEPT_EVENTS_OF = `
  select id, name, created_at from webhook_event_log where owner_id = $1 and id > $2 order by id limit $3`;

/** Reads a page of the app's own events for a user. $1 owner, $2 last id of the previous page, $3 page size. */
export const EVENTS_OF = `
  select id, name, created_at from webhook_events where owner_id = $1 and id > $2 order by id limit $3`;

/** All endpoints of $1, including removed ones. Uses webhook_endpoints_owner_id_index and _removed_owner_index, both partial. */
const ALL_ENDPOINTS_OF = `
    select id, url, removed_at from webhook_endpoints where owner_id = $1 and removed_at is null
    union all select id, url, removed_at from webhook_endpoints where owner_id = $1 and removed_at is not null`;

/** Marks endpoints as removed and deletes their texts. A sweep deletes the rows later. $1 owner, $2 maximum number of rows. */
export const REMOVE_ENDPOINTS_OF = `
  update webhook_endpoints set ${REMOVAL_ASSIGNMENTS}, url = '', description = null, last_error = null, filter = null
  where id in (select id from (${ALL_ENDPOINTS_OF}) e where removed_at is null or url <> '' limit $2)
  returning 1`;

/**
 * Deletes deliveries to a user's endpoints. $1 owner, $2 maximum number of rows. It searches for one endpoint after the other, because a join
 * could scan the whole table. Uses webhook_deliveries_endpoint_event_unique or
 * webhook_delivery_log_endpoint_event_index.
 */
export const removeLogOfSql = (table: (typeof DELIVERY_TABLES)[number]) => `
  delete from ${table} where id = any(array(
    select d.id from (${ALL_ENDPOINTS_OF}) e cross join lateral (select id from ${table} where endpoint_id = e.id limit $2) d limit $2))
  returning 1`;

/** Deletes the app's own events for a user. $1 owner, $2 maximum number of rows. */
export const REMOVE_EVENTS_OF = `
  delete from webhook_events where id in (select id from webhook_events where owner_id = $1 limit $2) returning 1`;

/**
 * Deletes deliveries. $1 ids. Run it for the log last, because deliveries move there meanwhile. It finds the rows by their `ctid`, which is not
 * unique among partitions, because a search by id is planned as a scan: see `byIdSql`.
 */
export const removeDeliveriesSql = (table: (typeof DELIVERY_TABLES)[number]) => `
  delete from ${table} where ctid = any(array(select d.ctid from ${byIdSql(table, '$1', 'ctid')})) and id = any($1::text[])
  returning 1`;
