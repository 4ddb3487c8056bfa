import { OLD_SECRETS } from './secrets.ts';
import type { UsersSql } from './users.ts';

/** The endpoint's part is the same in every row; without a due delivery there is one row, whose other part is null. */
export type ClaimRow = [
  url: string,
  secret: string,
  previousSecret: string | null,
  olderSecret: string | null,
  slow: boolean,
  id: string | null,
  messageId: string | null,
  body: string | null,
  attempts: number | null,
  scheduleAttempts: number | null,
];

/** A condition: endpoint `e` of user `u` may be sent to now. The parameter holds the roles of the global policy, or null when roles alone do not decide it. */
export function isOpen(users: UsersSql, globalRoles: string): string {
  return `e.enabled and e.removed_at is null and ${users.active}
      and (e.scope <> 'global' or ${globalRoles}::text[] is null or ${users.hasRole(globalRoles)})`;
}

/** Makes the deliveries `due` those of whoever runs it. The parameter holds the ms of the lease. */
function take(leaseMs: string): string {
  return `
    update webhook_deliveries d set status = 'sending', attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
      lease_until = now() + ${leaseMs} * interval '1 millisecond'
    from due where d.id = due.id
    returning d.id, d.message_id, d.body, d.attempts, d.schedule_attempts
  `;
}

/** The columns of a `ClaimRow`: the endpoint's are in `endpoint`, the delivery's in `c`. */
function claimed(endpoint: string): string {
  const ofEndpoint = ['url', 'secret', 'previous_secret', 'older_secret', 'slow'].map(
    (column) => `${endpoint}.${column}`,
  );
  return [...ofEndpoint, 'c.id', 'c.message_id', 'c.body', 'c.attempts', 'c.schedule_attempts'].join(', ');
}

/**
 * Claims due deliveries of an endpoint: who gets a row here sends it, nobody else can. No row at all: the endpoint is disabled,
 * removed, or its owner may not receive.
 *
 * $1 endpoint, $2 at most how many, $3 ms of the lease, $4 whether the claimer is of the slow lane (an endpoint of the other lane
 * gives no deliveries), $5 roles of the global policy. By webhook_deliveries_due_index.
 */
export function claim(users: UsersSql): string {
  return `
  with endpoint as (
    select e.id, e.url, e.secret, ${OLD_SECRETS}, e.slow from webhook_endpoints e join ${users.table} u on u.id = e.owner_id
    where e.id = $1 and ${isOpen(users, '$5')}
  ), due as (
    select d.id from webhook_deliveries d join endpoint on endpoint.id = d.endpoint_id
    where d.endpoint_id = $1 and d.status = 'pending' and d.next_attempt_at <= now() and endpoint.slow = $4
    order by d.next_attempt_at limit $2 for update of d skip locked
  ), claimed as (${take('$3')})
  select ${claimed('endpoint')} from endpoint left join claimed c on true order by c.id`;
}

/**
 * Claims one delivery, if it is due, nobody has claimed it and its endpoint is open. $1 delivery, $2 ms of the lease, $3 roles of the
 * global policy. Gives a `ClaimRow`, and the endpoint.
 */
export function claimOne(users: UsersSql): string {
  return `
  with due as (
    select d.id, d.endpoint_id, e.url, e.secret, ${OLD_SECRETS}, e.slow
    from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id join ${users.table} u on u.id = e.owner_id
    where d.id = $1 and d.status = 'pending' and d.next_attempt_at <= now() and ${isOpen(users, '$3')}
    for update of d skip locked
  ), claimed as (${take('$2')})
  select ${claimed('due')}, due.endpoint_id from due join claimed c on true`;
}

/** $1 ids, $2 attempts: gives claimed deliveries back unsent, as if they had never been claimed. */
export const RELEASE = `
  update webhook_deliveries d set status = 'pending', attempts = d.attempts - 1, schedule_attempts = d.schedule_attempts - 1,
    lease_until = null
  from unnest($1::text[], $2::int[]) as r(id, attempts)
  where d.id = r.id and d.status = 'sending' and d.attempts = r.attempts`;
