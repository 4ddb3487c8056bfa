import { deleteUnlockedSql, findsRowSql } from '../../../../extension/index.ts';
import { mayReceiveSql, type OwnersSql } from '../../endpoints/endpoints-sql.ts';
import { OWN_ROW_NAME } from '../fanout/outgoing-event.ts';

/** The states of a backfill. `stopped`: its endpoint was disabled or deleted before it was complete. */
export const BACKFILL_STATUSES = ['running', 'paused', 'finished', 'cancelled', 'stopped'] as const;

export type BackfillStatus = (typeof BACKFILL_STATUSES)[number];

/** A backfill's row, in the order of `COLUMNS`. */
export type BackfillRow = [
  id: string,
  endpointId: string,
  status: BackfillStatus,
  since: string,
  until: string,
  events: string[] | null,
  sent: number,
  /** Up to when events are handled, in whole minutes. The time of an event could be that of one that the owner may not know. */
  reachedAt: string,
  createdAt: string,
  finishedAt: string | null,
];

const COLUMNS = `
  id, endpoint_id, status, since, until, events, sent,
  case when status = 'finished' then until else greatest(since, date_trunc('minute', least(after_at, until))) end as reached_at, created_at, finished_at`;

/**
 * Starts a backfill. $1 id, $2 endpoint, $3 start of the range, $4 its end; null: now, $5 patterns of event names; null: all. Returns no row
 * if the endpoint is disabled or deleted, or has an unfinished backfill.
 */
export const BEGIN_BACKFILL = `
  insert into webhook_backfills (id, endpoint_id, since, until, events, after_at, created_at)
  select $1, id, $3::timestamptz, coalesce($4::timestamptz, now()), $5::text[], $3::timestamptz, now()
  from webhook_endpoints where id = $2 and enabled and removed_at is null
  on conflict (endpoint_id) where status in ('running', 'paused') do nothing
  returning ${COLUMNS}`;

/** Returns a row if the endpoint exists. $1 id. */
export const HAS_ENDPOINT = `select from webhook_endpoints where id = $1 and removed_at is null`;

/** Reads the unfinished backfill of an endpoint. $1 endpoint. Uses webhook_backfills_unfinished_unique. */
export const READ_UNFINISHED = `
  select ${COLUMNS} from webhook_backfills where endpoint_id = $1 and status in ('running', 'paused')`;

/** Reads a backfill of an endpoint. $1 id, $2 endpoint. */
export const READ_BACKFILL = `select ${COLUMNS} from webhook_backfills where id = $1 and endpoint_id = $2`;

/** Lists the backfills of an endpoint, newest first. $1 endpoint, $2 maximum number. Uses webhook_backfills_endpoint_index. */
export const LIST_BACKFILLS = `
  select ${COLUMNS} from webhook_backfills where endpoint_id = $1 order by id desc limit $2`;

/**
 * Changes the status of an unfinished backfill. $1 id, $2 endpoint, $3 new status. Returns no row if the backfill has ended. Waits for the page
 * in progress.
 */
export const CHANGE_STATUS = `
  update webhook_backfills set status = $3, finished_at = case when $3 = 'cancelled' then now() end
  where id = $1 and endpoint_id = $2 and status in ('running', 'paused')
  returning ${COLUMNS}`;

/** The condition that a backfill is running. Uses webhook_backfills_running_index. */
export const HAS_RUNNING = findsRowSql(`select from webhook_backfills where status = 'running' order by id limit 1`);

/** Finds running backfills. $1 the last id of the previous page, $2 maximum number of rows. Uses webhook_backfills_running_index. */
export const RUNNING_BACKFILLS = `
  select id from webhook_backfills where status = 'running' and id > $1 order by id limit $2`;

/** A running backfill with its endpoint, locked for a page. */
export type LockedRow = [
  endpointId: string,
  /** Whether the endpoint may be sent to now. */
  open: boolean,
  owner: string | null,
  scope: 'own' | 'global' | null,
  slow: boolean,
  ordered: boolean,
  apiKeyId: string | null,
  keyScopes: string[] | null,
  /** The patterns of event names: those of the request, or those of the endpoint. */
  names: string[] | null,
  until: string,
  afterAt: string,
  afterPosition: number,
  /** Whether a page has been handled before. */
  started: boolean,
  organisationRole: string | null,
  polled: boolean,
];

/**
 * Locks a running backfill. $1 backfill, $2 roles of the global policy. Returns no row if the backfill does not run, or another process
 * handles a page of it.
 */
export function lockBackfillSql(owners: OwnersSql): string {
  return `
  select b.endpoint_id, coalesce(${mayReceiveSql(owners, '$2')}, false), e.owner_id, e.scope, coalesce(e.slow, false), coalesce(e.ordered, false),
    e.api_key_id, e.key_scopes, coalesce(b.events, e.events), b.until, b.after_at, b.after_position, b.started_at is not null,
    e.organisation_role, coalesce(e.delivery = 'poll', false)
  from webhook_backfills b left join webhook_endpoints e on e.id = b.endpoint_id left join ${owners.table} u on u.id = e.owner_id
  where b.id = $1 and b.status = 'running' for update of b skip locked`;
}

/**
 * What decides whether a page may follow. $1 endpoint, $2 maximum number of deliveries to count, $3 backfill. Returns how many deliveries of
 * backfills the endpoint has waiting, and whether the relay still handles an event that happened before the request. Such an event may be neither
 * in the log nor among the endpoint's deliveries, if the relay had read the endpoints before this one was created or enabled. Events
 * that wait because they could not be handled are handled later, and then reach this endpoint. Uses webhook_deliveries_backfill_index.
 */
export const READ_OBSTACLES = `
  select (select count(*)::int from (select from webhook_deliveries where endpoint_id = $1 and backfill limit $2) d),
    exists (
      select from outbox o join webhook_backfills b on b.id = $3 and b.started_at is null
      where o.created_at <= b.created_at and o.available_at <= now() + interval '1 millisecond'
        and (o.resource is not null or o.name = '${OWN_ROW_NAME}'))`;

/**
 * A row of a page: an event, without its content if the endpoint has got it already. The last row has no event, but the end of the search: `at`
 * and `position` of the last event that was searched, how many were `searched`, how many of them are `matching` (at most a page), and the
 * `latest` position of any event.
 */
export type PageRow = [
  id: string | null,
  name: string | null,
  at: string | null,
  position: number | null,
  resource: string | null,
  ownerId: string | null,
  record: Record<string, unknown> | null,
  encryptedRecord: string | null,
  data: string | null,
  changed: string[] | null,
  isDelivered: boolean | null,
  searched: number | null,
  matching: number | null,
  latest: number | null,
];

/** A condition: the endpoint has a delivery of event `m`. Scalar sub-selects: see `insertDeliveriesSql`. */
const IS_DELIVERED = `(
      (select true from webhook_deliveries d where d.endpoint_id = $1 and d.event_id = m.id limit 1) is not null
      or (select true from webhook_delivery_log l where l.endpoint_id = $1 and l.event_id = m.id and l.finished_at >= $9::timestamptz limit 1) is not null)`;

/**
 * Reads a page of events from the log, in the order in which they happened. $1 endpoint, $2 and $3 time and position of the last event of
 * the previous page, $4 end of the range, $5 patterns of event names, $6 maximum number of events to return, $7 maximum number of events
 * to search, $8 maximum size of their content in bytes, unless the first event is larger, $9 a time before which none of them was delivered. Uses
 * webhook_event_log_created_at_index.
 */
export const READ_PAGE = `
  with searched as materialized (
    select id, created_at, position, name, bytes from webhook_event_log
    where created_at >= $2::timestamptz and created_at <= $4::timestamptz and (created_at, position) > ($2::timestamptz, $3::bigint)
    order by created_at, position limit $7
  ), matching as materialized (
    select * from searched
    where array[name, split_part(name, '.', 1) || '.*', '*'] && $5::text[] order by created_at, position limit $6
  ), marked as materialized (
    select m.*, ${IS_DELIVERED} as is_delivered from matching m
  ), sized as (
    select m.*, row_number() over in_order as place,
      sum(case when is_delivered then 0 else bytes end) over in_order as total
    from marked m window in_order as (order by created_at, position)
  )
  select p.id, p.name, p.created_at, p.position, l.resource, l.owner_id, l.record, l.encrypted_record, l.data, l.changed, p.is_delivered, null::int, null::int,
    null::bigint
  from sized p left join lateral (
    select resource, owner_id, record, encrypted_record, data, changed from webhook_event_log l
    where not p.is_delivered and l.id = p.id and l.created_at = p.created_at offset 0) l on true
  where p.place = 1 or p.total <= $8
  union all
  select null, null, max(created_at), (array_agg(position order by created_at desc, position desc))[1], null, null, null, null, null, null, null,
    count(*)::int, (select count(*)::int from matching), greatest((select max(id) from outbox), (
      select position from webhook_event_log order by created_at desc, position desc limit 1), 0)
  from searched`;

/**
 * Stores the progress of a backfill. $1 backfill, $2 and $3 time and position of the last handled event, $4 deliveries
 * created, $5 new status.
 */
export const STORE_PROGRESS = `
  update webhook_backfills set after_at = $2, after_position = $3, sent = sent + $4, status = $5,
    started_at = coalesce(started_at, now()), finished_at = case when $5 <> 'running' then now() end
  where id = $1`;

/** Waits until the pages of backfills that are in progress are complete: each holds the lock of its backfill. */
export const AWAIT_PAGES = `select from webhook_backfills where status = 'running' order by id for share`;

/** Ends a backfill whose endpoint may not be sent to. $1 backfill. */
export const STOP_BACKFILL = `update webhook_backfills set status = 'stopped', finished_at = now() where id = $1`;

/** Deletes old backfills, and those of deleted endpoints. $1 ms that ended backfills are kept, $2 maximum number of rows. */
export const DELETE_BACKFILLS = deleteUnlockedSql(
  'webhook_backfills b',
  `(finished_at < now() - $1 * interval '1 millisecond'
    or not exists (select from webhook_endpoints e where e.id = b.endpoint_id and e.removed_at is null)) limit $2`,
);

/** Deletes events from the log, after events are no longer kept. $1 maximum number of rows. */
export const DELETE_EVENTS = `
  delete from webhook_event_log where (id, created_at) in (select id, created_at from webhook_event_log limit $1) returning 1`;
