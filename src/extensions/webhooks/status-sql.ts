import { TEST_EVENT } from './events.ts';
import { isOpen } from './delivery/claim-sql.ts';
import { IN_TURN } from './delivery/turns-sql.ts';
import type { UsersSql } from './endpoints/users-sql.ts';

/** What waits, by endpoint; what a turn is sending waits too. By webhook_deliveries_due_index. */
const PENDING = `
  select endpoint_id, count(*) as n, count(*) filter (where next_attempt_at <= now()) as due, min(next_attempt_at) as first
  from webhook_deliveries where status = 'pending' group by endpoint_id`;

/** What is being sent: claimed in a turn, or by itself. By the primary key, and by webhook_deliveries_lease_index. */
const SENDING = `
  select d.endpoint_id, true as in_turn from webhook_turns t cross join lateral jsonb_object_keys(t.sending) s(id)
    join webhook_deliveries d on d.id = s.id where t.lease_until is not null and ${IN_TURN}
  union all
  select endpoint_id, false from webhook_deliveries where status = 'sending' and lease_until is not null`;

/** Numbers of the queue: see `queueSql`. */
export type QueueRow = [
  due: number,
  later: number,
  held: number,
  inFlight: number,
  oldestMs: number | null,
  events: number,
  oldestEventMs: number | null,
];

/**
 * What waits and what is being sent. $1 roles of the global policy. Gives deliveries that are due, that wait for a retry, that are held
 * because their endpoint may not be sent to, that are in flight; by how many ms the earliest one is overdue; events that wait for the
 * relay, and for how many ms the first of them has.
 */
export function queueSql(users: UsersSql): string {
  return `
  with waiting as (
    select p.n, p.due, p.first, coalesce(${isOpen(users, '$1')}, false) as open
    from (${PENDING}) p left join webhook_endpoints e on e.id = p.endpoint_id left join ${users.table} u on u.id = e.owner_id
  ), sending as (select count(*) as n, count(*) filter (where in_turn) as in_turn from (${SENDING}) s)
  select greatest(coalesce(sum(due) filter (where open), 0) - (select in_turn from sending), 0)::bigint, coalesce(sum(n - due) filter (where open), 0)::bigint,
    coalesce(sum(n) filter (where not open), 0)::bigint,
    (select n from sending),
    floor(extract(epoch from now() - min(first) filter (where open and due > 0)) * 1000)::bigint,
    (select count(*) from outbox),
    (select floor(extract(epoch from now() - min(created_at)) * 1000)::bigint from outbox)
  from waiting`;
}

const STATE = `case when not e.enabled then 'disabled' when e.consecutive_failures > 0 then 'failing' else 'active' end`;

/** How many endpoints are in which state, and why they are disabled. */
export const ENDPOINT_STATES = `
  select ${STATE}, disabled_reason, count(*) from webhook_endpoints e where removed_at is null group by 1, 2 order by 1, 2`;

// Tests have no schedule, and nobody sends them again.
const IS_FAILED = `status = 'failed' and type <> '${TEST_EVENT}'`;

/** Deliveries that used up their schedule. By webhook_deliveries_failed_index. */
export const FAILED = `select count(*) from webhook_deliveries where ${IS_FAILED}`;

/**
 * How attempts of late ended: null for a success, else the error. $1 ms, $2 so many of the newest deliveries are looked at, so that it
 * costs the same however much there is. By the primary key.
 */
export const RECENT_ATTEMPTS = `
  select entry ->> 'error', count(*)
  from (select attempt_log from webhook_deliveries order by id desc limit $2) d
    cross join lateral jsonb_array_elements(d.attempt_log) entry
  where (entry ->> 'at')::timestamptz > now() - $1 * interval '1 millisecond'
  group by 1 order by 2 desc, 1`;

/** An endpoint with something to do: see `WORST`. */
export type WorstRow = [
  id: string,
  url: string,
  state: 'active' | 'failing' | 'disabled',
  due: number,
  later: number,
  failed: number,
  oldestMs: number | null,
  lastError: string | null,
];

/** The endpoints for which most is due, has failed, or waits. $1 how many. */
export const WORST = `
  with failed as (select endpoint_id, count(*) as n from webhook_deliveries where ${IS_FAILED} group by endpoint_id)
  select e.id, e.url, ${STATE}, coalesce(p.due, 0)::bigint, coalesce(p.n - p.due, 0)::bigint, coalesce(f.n, 0)::bigint,
    case when p.due > 0 then floor(extract(epoch from now() - p.first) * 1000)::bigint end, e.last_error
  from webhook_endpoints e left join (${PENDING}) p on p.endpoint_id = e.id left join failed f on f.endpoint_id = e.id
  where e.removed_at is null and (p.n > 0 or f.n > 0)
  order by coalesce(p.due, 0) desc, coalesce(f.n, 0) desc, p.n desc, e.id limit $1`;
