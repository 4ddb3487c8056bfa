import { isOpen } from './claim.ts';
import { REMOVED } from './endpoints.ts';
import type { UsersSql } from './users.ts';

/**
 * Deliveries whose worker died: an attempt with the error "worker lost", and then as after any failed one.
 * $1 waits of the schedule in ms, $2 how many. Gives endpoint and lane. By webhook_deliveries_lease_index.
 */
export const RETURN_LOST = `
  with lost as (
    select id, ($1::bigint[])[schedule_attempts] * (0.8 + 0.4 * random()) as wait from webhook_deliveries
    where status = 'sending' and lease_until < now() order by lease_until limit $2 for update skip locked
  ), returned as (
    update webhook_deliveries d set
      status = case when lost.wait is null then 'failed' else 'pending' end,
      next_attempt_at = now() + lost.wait * interval '1 millisecond',
      finished_at = case when lost.wait is null then now() end,
      lease_until = null, status_code = null, duration_ms = null, response = null, error = 'worker lost',
      attempt_log = d.attempt_log || jsonb_build_object(
        'at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'statusCode', null, 'durationMs', null, 'error', 'worker lost')
    from lost where d.id = lost.id returning d.endpoint_id
  )
  select endpoint_id from returned`;

/**
 * A page of the endpoints that have pending deliveries, each by one look into webhook_deliveries_due_index however many it has.
 * $1 the last endpoint of the page before, $2 endpoints of a page, $3 roles of the global policy. Gives endpoint, lane, whether it may
 * be sent to now, and by how many ms its earliest delivery is overdue.
 */
export function pendingEndpoints(users: UsersSql): string {
  const first = (after: string) => `
    select endpoint_id, next_attempt_at from webhook_deliveries where status = 'pending' and endpoint_id > ${after}
    order by endpoint_id, next_attempt_at limit 1`;
  return `
  with recursive waiting as (
    (${first('$1')})
    union all
    select next.* from waiting w cross join lateral (${first('w.endpoint_id')}) next
  ), page as materialized (select * from waiting limit $2)
  select p.endpoint_id, coalesce(e.slow, false), coalesce(${isOpen(users, '$3')}, false),
    floor(extract(epoch from now() - p.next_attempt_at) * 1000)::bigint
  from page p left join webhook_endpoints e on e.id = p.endpoint_id left join ${users.table} u on u.id = e.owner_id
  order by p.endpoint_id`;
}

/**
 * $1 ms since they finished, $2 how many. By the primary key: ids begin with the second of their making, and nothing finishes
 * before it is made. Gives the number deleted.
 */
export const DELETE_FINISHED = `
  with gone as (
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries
      where id < to_hex(ceil(extract(epoch from now() - $1 * interval '1 millisecond'))::bigint)
        and finished_at < now() - $1 * interval '1 millisecond'
      order by id limit $2 for update skip locked)
    returning 1
  )
  select count(*) from gone`;

/** $1 endpoint, $2 ms that they are overdue, $3 how many. By webhook_deliveries_due_index. Gives the number deleted. */
export const DELETE_OVERDUE = `
  with gone as (
    delete from webhook_deliveries where id in (
      select id from webhook_deliveries
      where endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - $2 * interval '1 millisecond'
      limit $3 for update skip locked)
    returning 1
  )
  select count(*) from gone`;

/** $1 how many. By webhook_endpoints_removed_index. */
export const REMOVED_ENDPOINTS =
  'select id from webhook_endpoints where removed_at is not null order by removed_at limit $1';

/** $1 endpoint, $2 how many. By webhook_deliveries_log_index. Gives the number deleted. */
export const DELETE_LOG = `
  with gone as (
    delete from webhook_deliveries where id in (select id from webhook_deliveries where endpoint_id = $1 limit $2) returning 1
  )
  select count(*) from gone`;

/** $1 endpoints whose log is empty. A relay may still be adding a delivery to an endpoint that was removed a moment ago: those wait. */
export const DELETE_ENDPOINTS = `
  delete from webhook_endpoints where id = any($1::text[]) and removed_at < now() - interval '1 hour'`;

/** Endpoints whose owner is gone, however that came about. */
export function removeOwnerless(users: UsersSql): string {
  return `
  update webhook_endpoints e set ${REMOVED}
  where e.removed_at is null and not exists (select from ${users.table} u where u.id = e.owner_id)`;
}
