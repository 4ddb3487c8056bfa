/**
 * Time that `due_from` is kept behind the earliest pending delivery, unless all earlier ones are known to be committed. A transaction may commit
 * a delivery after others that are due later; up to this delay, claims still find it. A sweep finds deliveries that commit later.
 */
export const LATE_COMMIT_TOLERANCE = `interval '1 second'`;

/**
 * $1 endpoint, $2 the time at which the search begins: see `dueFrom` in tables.ts. Returns the ms until its earliest delivery is due; negative
 * if overdue. Uses webhook_deliveries_due_index.
 */
export const EARLIEST_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' and next_attempt_at >= coalesce($2::timestamptz, '-infinity')
  order by next_attempt_at limit 1`;

/** $1 ordered endpoint. Returns the ms until its next delivery is due, in the order of events; negative if the delivery is overdue. */
export const NEXT_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by position nulls first, event_id limit 1`;
