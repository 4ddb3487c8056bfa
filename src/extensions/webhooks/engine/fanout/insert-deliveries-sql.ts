/**
 * @param condition a further condition on the rows `r`, beginning with `and`
 * @param columns further columns, beginning with a comma, with their `values`
 */
const insertDeliveriesSql = (condition = '', columns = '', values = '') => `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, encrypted_body, position, subject_id, trace_context,
    mentions, next_attempt_at${columns})
  select r.id, r.endpoint_id, r.event_id, r.message_id, r.type, r.body, r.encrypted_body, r.position, r.subject_id, r.trace_context,
    r.mentions::text[], clock_timestamp()${values}
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[],
    $11::text[])
    as r(id, endpoint_id, event_id, message_id, type, body, encrypted_body, position, subject_id, trace_context, mentions)
  where (
    select true from webhook_delivery_log l
    where l.endpoint_id = r.endpoint_id and l.event_id = r.event_id and l.finished_at >= $12::timestamptz limit 1) is null ${condition}
  on conflict (endpoint_id, event_id) do nothing`;

/**
 * Inserts deliveries. $1 ids, $2 endpoints, $3 events, $4 message ids, $5 types, $6 bodies, $7 encrypted bodies, $8 positions, $9 the
 * users that own the records, $10 trace contexts, $11 mentions, each as the text of an array, $12 a time before which none of the events
 * happened. A second delivery of the same event to the same endpoint is skipped, also if the first one has finished.
 *
 * The search in the log is a scalar sub-select, not `not exists`: Postgres could turn the latter into a join that reads the whole log. It
 * has `limit 1` because the log has no unique index. Deliveries are due at `clock_timestamp()`, not `now()`: the transaction may have begun
 * long before, and claims may already begin their search after that.
 */
export const INSERT_DELIVERIES = insertDeliveriesSql();

const IS_CLAIMED = 'and r.event_id in (select event_id from claimed)';
const INSERT_DELIVERIES_OF_CLAIMED = insertDeliveriesSql(IS_CLAIMED);

/** $13 the endpoints that are polled. Only batches with such endpoints pay for the comparison. */
const POLLED_STATUS = `, case when r.endpoint_id = any($13::text[]) then 'waiting' else 'pending' end`;
const INSERT_WITH_POLLED = insertDeliveriesSql('', ', status', POLLED_STATUS);
const INSERT_WITH_POLLED_OF_CLAIMED = insertDeliveriesSql(IS_CLAIMED, ', status', POLLED_STATUS);

/**
 * Creates the statement that inserts deliveries: see `INSERT_DELIVERIES`. Those to polled endpoints wait to be polled.
 *
 * @param values the parameters of `INSERT_DELIVERIES`
 * @param polled the endpoints of these deliveries that are polled
 * @param ofClaimed whether only events in the common table expression `claimed (event_id)` count
 */
export function createInsertStatement(values: unknown[], polled: readonly string[], ofClaimed: boolean) {
  if (polled.length === 0)
    return {
      name: 'webhook_deliveries_insert',
      text: ofClaimed ? INSERT_DELIVERIES_OF_CLAIMED : INSERT_DELIVERIES,
      values,
    };
  return {
    name: 'webhook_deliveries_insert_polled',
    text: ofClaimed ? INSERT_WITH_POLLED_OF_CLAIMED : INSERT_WITH_POLLED,
    values: [...values, polled],
  };
}

/**
 * Like `INSERT_DELIVERIES`, for deliveries of a backfill. $13 the polled endpoints. Returns a row for each new delivery. It also searches for
 * waiting deliveries: one that finishes while the statement runs is in neither table when the statement looks there, but the snapshot contains
 * it once.
 */
export const INSERT_BACKFILL_DELIVERIES = `${insertDeliveriesSql(
  `and (
    select true from webhook_deliveries d where d.endpoint_id = r.endpoint_id and d.event_id = r.event_id limit 1) is null`,
  ', status, backfill',
  `${POLLED_STATUS}, true`,
)}
  returning 1`;
