import { IS_LEASED } from '../delivery/lease-store.ts';
import { TEST_EVENT } from '../events.ts';

/** The states of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'sending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** A row that the delivery log selects for a delivery. */
export type DeliveryRow = [
  id: string,
  type: string,
  messageId: string,
  status: DeliveryStatus,
  attempts: number,
  statusCode: number | null,
  durationMs: number | null,
  error: string | null,
  nextAttemptAt: string | null,
  response: string | null,
  /** Size of the stored body in bytes. */
  bytes: number,
  attemptLog: object[],
  /** Ciphertext of the response to an encrypted body; in that case `response` is null. */
  encryptedResponse: string | null,
];

/** The columns of `DeliveryRow`. */
const COLUMNS = `d.id, d.type, d.message_id, case when ${IS_LEASED} then 'sending' else d.status end,
    d.attempts + case when ${IS_LEASED} then 1 else 0 end, d.status_code, d.duration_ms, d.error, d.next_attempt_at, d.response,
    octet_length(d.body) + coalesce(octet_length(d.encrypted_body), 0), d.attempt_log, d.encrypted_response`;

/** A condition: clients see delivery `d` with this status. */
function hasStatusSql(status: DeliveryStatus): string {
  if (status === 'pending') return `d.status = 'pending' and not ${IS_LEASED}`;
  return status === 'sending' ? `(d.status = 'sending' or ${IS_LEASED})` : `d.status = '${status}'`;
}

const IS_SENT = hasStatusSql('sending');

// A condition: delivery `d` is among the few of endpoint $1 that are being sent. It avoids a scan of the endpoint's log. Uses
// webhook_deliveries_lease_index.
const BEING_SENT = `d.id = any(array(
    select jsonb_object_keys(t.sending) from webhook_turns t where t.endpoint_id = $1
    union all
    select s.id from webhook_deliveries s where s.endpoint_id = $1 and s.lease_until is not null))`;

/**
 * Lists the deliveries of an endpoint, newest first. $1 endpoint, $2 page size. Uses webhook_deliveries_endpoint_event_unique, because ids
 * of events begin with the time; for failed deliveries webhook_deliveries_failed_index. The status is in the text, not in a parameter, so
 * that the planner sees that the partial index matches.
 */
export function listDeliveriesSql(status: DeliveryStatus | undefined): string {
  const few = status === 'sending' ? `and ${BEING_SENT}` : '';
  const order = status === 'failed' ? 'd.created_at desc, d.id desc' : 'd.event_id desc';
  return `
  select ${COLUMNS} from webhook_deliveries d where d.endpoint_id = $1 ${few} ${status === undefined ? '' : `and ${hasStatusSql(status)}`}
  order by ${order} limit $2`;
}

/**
 * Inserts deliveries. $1 ids, $2 endpoints, $3 events, $4 message ids, $5 types, $6 bodies, $7 encrypted bodies, $8 positions, $9 the
 * users that own the records, $10 trace contexts. A second delivery of the same event to the same endpoint is skipped.
 */
export const INSERT_DELIVERIES = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, encrypted_body, position, subject_id, trace_context, next_attempt_at)
  select *, now()
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
  on conflict (endpoint_id, event_id) do nothing`;

/** $1 endpoint. Returns the ms until its earliest delivery is due; negative if overdue. Uses webhook_deliveries_due_index. */
export const EARLIEST_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by next_attempt_at limit 1`;

/** Reads a delivery of an endpoint. $1 delivery, $2 endpoint. */
export const READ_DELIVERY = `select ${COLUMNS} from webhook_deliveries d where d.id = $1 and d.endpoint_id = $2`;

/** Reads the bodies of deliveries. $1 deliveries. */
export const READ_BODIES = `
  select id, type, body, encrypted_body from webhook_deliveries where id = any($1::text[])`;

/** $1 ordered endpoint. Returns the ms until its next delivery is due, in the order of events; negative if the delivery is overdue. */
export const NEXT_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by position nulls first, event_id limit 1`;

// A number of attempts that no retry schedule has, so the first attempt of a test is its last.
const SCHEDULE_USED_UP = 1_000_000;

/** Inserts a test delivery, due now. $1 id, $2 endpoint, $3 message id, $4 body, $5 trace context. No row: the endpoint was disabled or deleted. */
export const INSERT_TEST = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, trace_context, next_attempt_at, schedule_attempts)
  select $1, id, $1, $3, '${TEST_EVENT}', $4, $5, now(), ${SCHEDULE_USED_UP} from webhook_endpoints
  where id = $2 and enabled and removed_at is null
  returning 1`;

/**
 * Makes a delivery due now and restarts its schedule; the schedule of a test stays used up. A delivery that is being sent at the
 * moment does not change. Attempt numbers continue. $1 delivery, $2 endpoint.
 */
export const SEND_AGAIN = `
  update webhook_deliveries d set
    status = case when ${IS_SENT} then d.status else 'pending' end,
    next_attempt_at = case when ${IS_SENT} then d.next_attempt_at else now() end,
    schedule_attempts = case when ${IS_SENT} or d.type = '${TEST_EVENT}' then d.schedule_attempts else 0 end,
    finished_at = null
  where d.id = $1 and d.endpoint_id = $2
  returning ${COLUMNS}`;

/** Fails a delivery without an attempt. $1 delivery, $2 endpoint, $3 error. No row: a worker is sending the delivery at the moment. */
export const REFUSE_DELIVERY = `
  update webhook_deliveries d set
    status = 'failed', next_attempt_at = null, finished_at = now(),
    status_code = null, duration_ms = null, response = null, encrypted_response = null, error = $3
  where d.id = $1 and d.endpoint_id = $2 and not ${IS_SENT}
  returning ${COLUMNS}`;
