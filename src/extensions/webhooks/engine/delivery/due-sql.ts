/**
 * Time that `due_from` is kept behind the earliest pending delivery. A transaction may commit a delivery after others that are due later;
 * up to this delay, claims still find it. A sweep finds deliveries that commit later.
 */
const LATE_COMMIT_TOLERANCE = `interval '2 seconds'`;

/** Returns an SQL expression for the time at which a search for due deliveries begins: see `dueFrom` in tables.ts. @param value may be null */
export function dueFromSql(value: string): string {
  return `coalesce(${value}, '-infinity')`;
}

/**
 * Returns an SQL expression for the next value of `due_from`: the time of the earliest pending delivery. That includes claimed ones, which
 * stay `pending` until their results are written. It is at most now, because a new delivery is due at once. Uses
 * webhook_deliveries_due_index.
 *
 * @param endpoint the id of the endpoint
 * @param dueFrom the current value, not null
 */
export function nextDueFromSql(endpoint: string, dueFrom: string): string {
  return `least((select min(d.next_attempt_at) from webhook_deliveries d
        where d.endpoint_id = ${endpoint} and d.status = 'pending' and d.next_attempt_at >= ${dueFrom}), now()) - ${LATE_COMMIT_TOLERANCE}`;
}

/** The start of the search of endpoint $1: see `dueFrom` in tables.ts. */
const DUE_FROM = dueFromSql('(select due_from from webhook_turns where endpoint_id = $1)');

/** $1 endpoint. Returns the ms until its earliest delivery is due; negative if overdue. Uses webhook_deliveries_due_index. */
export const EARLIEST_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' and next_attempt_at >= ${DUE_FROM} order by next_attempt_at limit 1`;

/** $1 ordered endpoint. Returns the ms until its next delivery is due, in the order of events; negative if the delivery is overdue. */
export const NEXT_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by position nulls first, event_id limit 1`;
