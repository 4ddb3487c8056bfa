/** @param condition a further condition on the rows `r`, beginning with `and` */
const insertDeliveriesSql = (condition = '') => `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, encrypted_body, position, subject_id, trace_context,
    mentions, next_attempt_at)
  select r.id, r.endpoint_id, r.event_id, r.message_id, r.type, r.body, r.encrypted_body, r.position, r.subject_id, r.trace_context,
    r.mentions::text[], clock_timestamp()
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

/** Like `INSERT_DELIVERIES`, for events in the common table expression `claimed (event_id)`. */
export const INSERT_DELIVERIES_OF_CLAIMED = insertDeliveriesSql('and r.event_id in (select event_id from claimed)');
