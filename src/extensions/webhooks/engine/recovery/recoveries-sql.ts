import { deleteUnlockedSql, findsRowSql } from '../../../../extension/index.ts';
import { columnsSql, DELIVERY_TABLES, LOG_COLUMNS, resumeFromLogSql } from '../../deliveries/deliveries-sql.ts';
import { mayReceiveSql, type OwnersSql } from '../../endpoints/endpoints-sql.ts';
import { TEST_EVENT } from '../../settings/events.ts';

/** The states of a recovery. `stopped`: its endpoint was disabled or deleted before it was complete. */
export const RECOVERY_STATUSES = ['running', 'finished', 'stopped'] as const;

/** A recovery's row, in the order of `RECOVERY_COLUMNS`. */
export type RecoveryRow = [
  id: string,
  endpointId: string,
  status: (typeof RECOVERY_STATUSES)[number],
  since: string,
  total: number,
  resent: number,
  createdAt: string,
  finishedAt: string | null,
];

/** The columns of `RecoveryRow`. */
const RECOVERY_COLUMNS = ['id', 'endpoint_id', 'status', 'since', 'total', 'resent', 'created_at', 'finished_at'];

const COLUMNS = RECOVERY_COLUMNS.join(', ');

/** A condition: delivery `d` has failed, is not a test, and has not expired. @param isKeptCondition see `isKeptSql` */
const hasFailedSql = (isKeptCondition: string) =>
  `d.status = 'failed' and d.type <> '${TEST_EVENT}' and ${isKeptCondition}`;

/**
 * When delivery `d` finished, as an expression that does not choose partitions. Compared with a value of another table, `d.finished_at` would
 * make Postgres choose them for each row. Up to 18.4 it then uses freed memory, and may crash, if the statement has waited for a row lock: see
 * commit 1b5dd3a of Postgres, "run-time partition pruning during EvalPlanQual rechecks".
 */
const FINISHED_AT = `date_trunc('milliseconds', d.finished_at)`;

/** A condition: delivery `d` had failed when the recovery was requested. */
const failedBySql = (requestedAtSql: string, isKeptCondition: string) =>
  `${hasFailedSql(isKeptCondition)} and ${FINISHED_AT} <= ${requestedAtSql}`;

/**
 * Counts the failed deliveries of an endpoint and starts a recovery. $1 id, $2 endpoint, $3 start time. Returns the new recovery, or the
 * recovery that is already running. Returns no row if the endpoint is disabled or deleted, or another request has just started a recovery. Uses
 * webhook_delivery_log_failed_index and webhook_deliveries_failed_index.
 */
export function beginRecoverySql(isKeptCondition: string): string {
  const counts = DELIVERY_TABLES.map(
    (table) =>
      `(select count(*) from ${table} d where d.endpoint_id = a.id and d.created_at >= $3 and ${failedBySql('a.at', isKeptCondition)})`,
  );
  return `
  with asked as (
    select id, date_trunc('milliseconds', now()) as at from webhook_endpoints where id = $2 and enabled and removed_at is null
  ), made as (
    insert into webhook_recoveries (id, endpoint_id, since, after_at, created_at, total)
    select $1, a.id, $3, $3, a.at, ${counts.join(' + ')} from asked a
    on conflict (endpoint_id) where status = 'running' do nothing returning ${COLUMNS}
  )
  select * from made
  union all
  select ${COLUMNS} from webhook_recoveries where endpoint_id = $2 and status = 'running' and exists (select from asked)`;
}

/** Reads a recovery of an endpoint. $1 id, $2 endpoint. */
export const READ_RECOVERY = `select ${COLUMNS} from webhook_recoveries where id = $1 and endpoint_id = $2`;

/**
 * Reopens recoveries that a process of an earlier version has ended too early during a deploy, because it does not know the log: failed
 * deliveries of the recovery remain. Uses webhook_recoveries_finished_at_index.
 *
 * A reopened recovery begins again at its start: the earlier version may have gone past deliveries that were already in the log. Deliveries
 * that the recovery has resent are not resent again, because they have left the log or finished later.
 *
 * An endpoint has only one running recovery. The one that goes back furthest is reopened first; the others are reopened after it has ended.
 * Their end is postponed meanwhile, so that they are not too old then.
 */
export function reopenRecoveriesSql(isKeptCondition: string): string {
  return `
  with early as materialized (
    select r.id, row_number() over (partition by r.endpoint_id order by r.since, r.created_at desc, r.id) = 1
      and not exists (select from webhook_recoveries o where o.endpoint_id = r.endpoint_id and o.status = 'running') as is_next
    from webhook_recoveries r
    where r.status = 'finished' and r.finished_at > now() - interval '1 hour'
      and exists (
        select from webhook_delivery_log d
        where d.endpoint_id = r.endpoint_id and d.created_at >= r.since and ${failedBySql('r.created_at', isKeptCondition)})
  ), reopened as (
    update webhook_recoveries r set status = 'running', finished_at = null, after_at = r.since, after_id = ''
    from early where r.id = early.id and early.is_next and r.status = 'finished' returning 1
  ), postponed as (
    update webhook_recoveries r set finished_at = now()
    from early where r.id = early.id and not early.is_next and r.status = 'finished' and r.finished_at < now() - interval '30 minutes'
  )
  select * from reopened`;
}

/** The condition that `reopenRecoveriesSql` may find any. Uses webhook_recoveries_finished_at_index. */
export const HAS_ENDED_LATELY = findsRowSql(
  `select from webhook_recoveries where finished_at > now() - interval '1 hour' and status = 'finished' limit 1`,
);

/** The condition that a recovery is running. Uses webhook_recoveries_running_unique. */
export const HAS_RUNNING = findsRowSql(`select from webhook_recoveries where status = 'running' limit 1`);

/** Finds running recoveries. $1 maximum number of rows. Uses webhook_recoveries_running_unique. */
export const RUNNING_RECOVERIES = `select id from webhook_recoveries where status = 'running' limit $1`;

/**
 * One page of a recovery, in one transaction: failed deliveries leave the log, become due at once and restart their schedules. $1 recovery, $2 page
 * size, $3 roles of the global policy. Nothing is resent while $2 or more deliveries of the endpoint are overdue, so that new deliveries
 * do not wait for old ones. If the endpoint is disabled, the recovery ends. Returns no row if the recovery has ended, or another process
 * resends it.
 *
 * A delivery is not resent, and leaves the log, if another delivery of its event already waits for the endpoint.
 *
 * Returns the endpoint's lane and owner, the number of resent deliveries, whether another page may follow at once, and the recovery.
 */
export function recoverPageSql(owners: OwnersSql, isKeptCondition: string): string {
  return `
  with seen as materialized (
    select after_at, after_id from webhook_recoveries where id = $1
  ), r as (
    select r.*, coalesce(e.slow, false) as slow, coalesce(e.delivery = 'poll', false) as polled, e.owner_id,
      coalesce(${mayReceiveSql(owners, '$3')}, false) as open
    from webhook_recoveries r left join webhook_endpoints e on e.id = r.endpoint_id left join ${owners.table} u on u.id = e.owner_id
    where r.id = $1 and r.status = 'running' for update of r skip locked
  ), waiting as (
    -- Include the next second: times are rounded to ms, and another process's page may be due after now(), which is older than the
    -- snapshot of this statement.
    select count(*) as n from (
      select from webhook_deliveries d join r on r.endpoint_id = d.endpoint_id
      where d.status = 'pending' and d.next_attempt_at <= now() + interval '1 second' limit $2) w
  ), current as (
    -- Another process may have written a page between this statement's snapshot and its lock, so more may be waiting than it sees.
    select r.*, r.open and (select n from waiting) < $2
      -- Failed deliveries of an earlier version move to the log first.
      and not exists (select from webhook_deliveries d where d.endpoint_id = r.endpoint_id and d.status = 'failed') as ready
    from r join seen on (seen.after_at, seen.after_id) = (r.after_at, r.after_id)
  ), page as (
    select d.id, d.created_at, d.finished_at from webhook_delivery_log d join current t on t.endpoint_id = d.endpoint_id
    where t.ready and (d.created_at, d.id) > (t.after_at, t.after_id) and ${failedBySql('t.created_at', isKeptCondition)}
    order by d.created_at, d.id limit $2
  ), finished as (
    delete from webhook_delivery_log d using page, current t
    where d.id = page.id and ${FINISHED_AT} = page.finished_at and ${failedBySql('t.created_at', isKeptCondition)}
    returning ${columnsSql(LOG_COLUMNS, 'd')}
  ), again as (
    ${resumeFromLogSql('finished')} returning d.id
  ), done as (
    select count(*)::int as handled, (select count(*)::int from again) as sent, max(created_at) as last_at,
      (array_agg(id order by created_at desc, id desc))[1] as last_id
    from page
  ), moved as (
    update webhook_recoveries w set resent = w.resent + done.sent,
      after_at = coalesce(done.last_at, w.after_at), after_id = coalesce(done.last_id, w.after_id),
      status = case when not t.open then 'stopped' when t.ready and done.handled < $2 then 'finished' else 'running' end,
      finished_at = case when not t.open or (t.ready and done.handled < $2) then now() end
    from current t, done where w.id = t.id
    returning t.slow, t.owner_id, t.polled, done.sent, t.ready and done.handled = $2 as more, ${RECOVERY_COLUMNS.map((column) => `w.${column}`).join(', ')}
  )
  select * from moved`;
}

/**
 * Deletes old recoveries, and those of deleted endpoints. $1 ms that ended recoveries are kept, $2 maximum number of rows. Returns a row
 * for each deleted recovery.
 */
export const DELETE_RECOVERIES = deleteUnlockedSql(
  'webhook_recoveries r',
  `(finished_at < now() - $1 * interval '1 millisecond'
    or not exists (select from webhook_endpoints e where e.id = r.endpoint_id and e.removed_at is null)) limit $2`,
);

/**
 * Finds endpoints with failed deliveries. $1 start time, $2 an endpoint, or null for all. Includes deliveries that an earlier version left in
 * `webhook_deliveries`. Uses webhook_delivery_log_failed_index and webhook_deliveries_failed_index.
 */
export function failedEndpointsSql(isKeptCondition: string): string {
  const failed = DELIVERY_TABLES.map(
    (table) =>
      `select d.endpoint_id from ${table} d where ${hasFailedSql(isKeptCondition)} and d.created_at >= $1 and ($2::text is null or d.endpoint_id = $2)`,
  );
  return `
  select distinct d.endpoint_id from (${failed.join(' union all ')}) d join webhook_endpoints e on e.id = d.endpoint_id
  where e.removed_at is null
  order by 1`;
}
