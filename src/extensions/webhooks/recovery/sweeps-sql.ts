import { isOpen } from '../delivery/claim.ts';
import type { UsersSql } from '../endpoints/endpoints-sql.ts';
import { REMOVED } from '../endpoints/endpoints-sql.ts';

/**
 * Ends turns that were not renewed, so that their endpoints go on at once. What they had claimed may be on its way, their workers may
 * even be alive: it becomes `sending` in its own row, under a lease of its own. $1 ms of that beyond the turn's, $2 how many turns.
 * By webhook_turns_lease_index.
 */
export const END_LOST_TURNS = `
  with lost as materialized (
    select endpoint_id, sending, lease_until from webhook_turns where lease_until < now() order by lease_until limit $2
    for update skip locked
  ), claimed as (
    select key as id, value::int as attempts, lease_until from lost, jsonb_each_text(sending)
  ), kept as (
    update webhook_deliveries d set status = 'sending', attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
      lease_until = c.lease_until + $1 * interval '1 millisecond'
    from claimed c where d.id = c.id and d.status = 'pending' and d.attempts = c.attempts
  )
  update webhook_turns t set holder = null, lease_until = null, sending = '{}',
    rate = coalesce(t.rate, '{}') || jsonb_build_object(
      'lost', coalesce((t.rate ->> 'lost')::int, 0) + (select count(*) from jsonb_object_keys(t.sending)))
  from lost
  where t.endpoint_id = lost.endpoint_id returning t.endpoint_id`;

/**
 * Deliveries whose worker died while it was sending them. `attempts` includes the lost attempt. $1 how many. By
 * webhook_deliveries_lease_index.
 */
export const LOST_DELIVERIES = `
  select id, attempts, schedule_attempts from webhook_deliveries where status = 'sending' and lease_until < now()
  order by lease_until limit $1`;

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

/**
 * Deletes the logs of removed endpoints. $1 how many deliveries. By webhook_endpoints_removed_index and
 * webhook_deliveries_endpoint_event_unique. Gives the number deleted.
 */
export const DELETE_LOGS = `
  with gone as (
    delete from webhook_deliveries where id in (
      select d.id from webhook_endpoints e cross join lateral (
        select id from webhook_deliveries where endpoint_id = e.id limit $1 for update skip locked) d
      where e.removed_at is not null limit $1)
    returning 1
  )
  select count(*) from gone`;

/**
 * Deletes removed endpoints whose log is empty. A relay may still be adding a delivery to an endpoint that was removed a moment
 * ago: those wait. $1 how many. By webhook_endpoints_removed_index. Gives the number deleted.
 */
export const DELETE_ENDPOINTS = `
  with gone as (
    delete from webhook_endpoints where id in (
      select e.id from webhook_endpoints e
      where e.removed_at < now() - interval '1 hour' and not exists (select from webhook_deliveries d where d.endpoint_id = e.id)
      limit $1 for update skip locked)
    returning id
  ), turns as (
    delete from webhook_turns where endpoint_id in (select id from gone)
  )
  select count(*) from gone`;

/** Endpoints whose owner is gone, however that came about. */
export function removeOwnerless(users: UsersSql): string {
  return `
  update webhook_endpoints e set ${REMOVED}
  where e.removed_at is null and not exists (select from ${users.table} u where u.id = e.owner_id)`;
}
