import { type DeliveryStatus, PREVIEW_BYTES } from '../delivery.ts';

/**
 * The log of an endpoint, newest first. $1 endpoint, $2 how many. By webhook_deliveries_log_index, for failed ones by
 * webhook_deliveries_failed_index: the status stands in the text so that the planner can see that the index fits.
 */
export function listDeliveries(status: DeliveryStatus | undefined): string {
  return `
  select id, type, message_id, status, attempts, status_code, duration_ms, error, next_attempt_at, response,
    left(body, ${PREVIEW_BYTES}), octet_length(body), attempt_log
  from webhook_deliveries where endpoint_id = $1 ${status === undefined ? '' : `and status = '${status}'`}
  order by created_at desc, id desc limit $2`;
}

/** $1 ids, $2 endpoints, $3 events, $4 message ids, $5 types, $6 bodies. An event that was handled before makes no second delivery. */
export const INSERT = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
  select *, now() from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
  on conflict (event_id, endpoint_id) do nothing`;

/** $1 endpoint: ms until its earliest delivery is due, negative when it is overdue. By webhook_deliveries_due_index. */
export const EARLIEST = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by next_attempt_at limit 1`;
