import {
  columnsSql,
  type DeliveryStatus,
  IS_LEASED,
  insertIntoLogSql,
  LOG_COLUMNS,
  MESSAGE_COLUMNS,
  RESULT_COLUMNS,
  resumeFromLogSql,
  WAITING_STATUS,
} from '../deliveries/deliveries-sql.ts';
import { TEST_EVENT } from '../settings/events.ts';

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
  attemptLog: { at: string; statusCode: number | null; durationMs: number | null; error: string | null }[],
  /** Ciphertext of the response to an encrypted body; in that case `response` is null. */
  encryptedResponse: string | null,
  /** True if a backfill created the delivery. */
  backfill: boolean | null,
];

const SIZE = 'octet_length(d.body) + coalesce(octet_length(d.encrypted_body), 0)';

/** The columns of `DeliveryRow`, of a waiting delivery, or of one that an earlier version finished. */
const WAITING_ROW = `d.id, d.type, d.message_id, ${WAITING_STATUS} as status,
    d.attempts + case when ${IS_LEASED} then 1 else 0 end as attempts, d.status_code, d.duration_ms, d.error, case when d.status <> 'waiting' then d.next_attempt_at end as next_attempt_at, d.response,
    ${SIZE} as bytes, d.attempt_log, d.encrypted_response, d.backfill`;

/** The columns of `DeliveryRow`, of a finished delivery. */
const FINISHED_ROW = `d.id, d.type, d.message_id, d.status, d.attempts, d.status_code, d.duration_ms, d.error, null::timestamptz, d.response,
    ${SIZE}, d.attempt_log, d.encrypted_response, d.backfill`;

/** A condition: clients see waiting delivery `d` with this status. */
function hasStatusSql(status: DeliveryStatus): string {
  if (status === 'pending') return `(d.status = 'waiting' or (d.status = 'pending' and not ${IS_LEASED}))`;
  if (status === 'sending') return `(d.status = 'sending' or ${IS_LEASED})`;
  // Only deliveries of an earlier version: see `finishedAt` in tables.ts. Their indexes avoid a scan of the waiting deliveries.
  return `d.status = '${status}' and d.finished_at is not null`;
}

const IS_BEING_SENT = hasStatusSql('sending');

// A condition: delivery `d` is among the few of endpoint $1 that are being sent. It avoids a scan of the waiting deliveries. Uses
// webhook_deliveries_lease_index.
const IS_IN_FLIGHT_OF_ENDPOINT = `d.id = any(array(
    select jsonb_object_keys(t.sending) from webhook_turns t where t.endpoint_id = $1
    union all
    select s.id from webhook_deliveries s where s.endpoint_id = $1 and s.lease_until is not null))`;

/** A term of a list's order. A position holds its value as a text, which `fromText` converts back. */
interface SortTerm {
  term: string;
  toText(value: string): string;
  fromText(parameter: string): string;
}

const asText = (term: string): SortTerm => ({
  term,
  toText: (value) => value,
  fromText: (parameter) => `${parameter}::text`,
});

// In microseconds, because a position must be as exact as the column.
const CREATED_AT: SortTerm = {
  term: 'd.created_at',
  toText: (value) => `(extract(epoch from ${value}) * 1000000)::bigint::text`,
  fromText: (parameter) => `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond')`,
};

const orderTerms = (status: DeliveryStatus | undefined) =>
  status === 'failed' ? [CREATED_AT, asText('d.id')] : [asText('d.event_id')];

/** Returns the number of values that the position of a delivery in a list consists of. */
export function countPositionValues(status: DeliveryStatus | undefined): number {
  return orderTerms(status).length;
}

/** Which deliveries of an endpoint a list contains. */
interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  /** Whether only deliveries of one event name are listed. */
  byType?: boolean;
  /** Whether the list continues after a position. */
  isContinued?: boolean;
}

/**
 * Lists the deliveries of an endpoint, newest first. $1 endpoint, $2 page size, then the event name with `byType`, then the values of the
 * position with `isContinued`. Each table is read in the order of an index: by event, because event ids begin with the time, or for failed
 * deliveries by creation time. The status is part of the text, because the planner can then use the partial indexes. The position of a row
 * is in its last columns, as texts.
 *
 * @param isKept see `isKeptSql`
 */
export function listDeliveriesSql({ status, byType, isContinued }: DeliveryFilter, isKept: string): string {
  const terms = orderTerms(status);
  const order = terms.map(({ term }) => term);
  const orderSql = (by: readonly string[]) => by.map((term) => `${term} desc`).join(', ');
  const ofType = byType ? 'and d.type = $3' : '';
  const values = terms.map(({ fromText }, i) => fromText(`$${(byType ? 4 : 3) + i}`));
  const isAfter = isContinued ? `and (${order.join(', ')}) < (${values.join(', ')})` : '';
  const page = (columns: string, table: string, condition: string) => `(
    select ${columns}, ${order.map((term, i) => `${term} as o${i}`).join(', ')} from ${table} d
    where d.endpoint_id = $1 ${ofType} ${isAfter} ${condition} order by ${orderSql(order)} limit $2)`;
  const inFlight = status === 'sending' ? `and ${IS_IN_FLIGHT_OF_ENDPOINT}` : '';
  const waiting = page(
    WAITING_ROW,
    'webhook_deliveries',
    `${inFlight} ${status === undefined ? '' : `and ${hasStatusSql(status)}`}`,
  );
  const ofStatus = status === undefined ? '' : `and d.status = '${status}'`;
  const finished = page(FINISHED_ROW, 'webhook_delivery_log', `and ${isKept} ${ofStatus}`);
  const pages = status === 'pending' || status === 'sending' ? [waiting] : [waiting, finished];
  return `
  select id, type, message_id, status, attempts, status_code, duration_ms, error, next_attempt_at, response, bytes, attempt_log,
    encrypted_response, backfill, ${terms.map(({ toText }, i) => toText(`d.o${i}`)).join(', ')}
  from (${pages.join(' union all ')}) d order by ${orderSql(order.map((_, i) => `d.o${i}`))} limit $2`;
}

/** Reads a delivery of an endpoint. $1 delivery, $2 endpoint, $3 see `earliestFinishOf`. @param isKept see `isKeptSql` */
export function readDeliverySql(isKept: string): string {
  return `
  select ${WAITING_ROW} from webhook_deliveries d where d.id = $1 and d.endpoint_id = $2
  union all
  select ${FINISHED_ROW} from webhook_delivery_log d
  where d.id = $1 and d.endpoint_id = $2 and d.finished_at >= $3::timestamptz and ${isKept}`;
}

/** Reads the bodies of deliveries. $1 deliveries, $2 see `earliestFinishOf`. */
export const READ_BODIES = `
  select id, type, body, encrypted_body from webhook_deliveries where id = any($1::text[])
  union all
  select id, type, body, encrypted_body from webhook_delivery_log where id = any($1::text[]) and finished_at >= $2::timestamptz`;

// A number of attempts that no retry schedule has, so the first attempt of a test is its last.
const SCHEDULE_USED_UP = 1_000_000;

/**
 * Inserts a test delivery, due now. $1 id, $2 endpoint, $3 message id, $4 body, $5 trace context. Returns no row if the endpoint was disabled or
 * deleted.
 */
export const INSERT_TEST = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, trace_context, mentions, next_attempt_at, schedule_attempts, status)
  select $1, id, $1, $3, '${TEST_EVENT}', $4, $5, '{}', now(), ${SCHEDULE_USED_UP},
    case when delivery = 'poll' then 'waiting' else 'pending' end from webhook_endpoints
  where id = $2 and enabled and removed_at is null
  returning 1`;

/** Makes waiting delivery `d` due now and restarts its schedule; the schedule of a test stays used up. Leaves it alone if it is being sent. */
const MAKE_DUE = `
      status = case when d.status = 'waiting' or ${IS_BEING_SENT} then d.status else 'pending' end,
      next_attempt_at = case when ${IS_BEING_SENT} then d.next_attempt_at else now() end,
      schedule_attempts = case when ${IS_BEING_SENT} or d.type = '${TEST_EVENT}' then d.schedule_attempts else 0 end,
      finished_at = null, poll_number = null`;

/**
 * Makes a delivery due now and restarts its schedule. The schedule of a test stays used up. A finished delivery leaves the log. If another
 * delivery of its event already waits for the endpoint, that delivery becomes due and is returned instead. A delivery that is being sent
 * does not change. Attempt numbers continue. $1 delivery, $2 endpoint, $3 see `earliestFinishOf`. Returns no row if the delivery does not
 * exist, or if a concurrent statement has just moved it to or from the log.
 *
 * @param isKept see `isKeptSql`
 */
export function sendAgainSql(isKept: string): string {
  return `
  with finished as (
    delete from webhook_delivery_log d where d.id = $1 and d.endpoint_id = $2 and d.finished_at >= $3::timestamptz and ${isKept}
    returning ${columnsSql(LOG_COLUMNS, 'd')}
  ), resumed as (
    ${resumeFromLogSql('finished', `update set ${MAKE_DUE}`)} returning d.*
  ), waiting as (
    update webhook_deliveries d set ${MAKE_DUE}
    where d.id = $1 and d.endpoint_id = $2
    returning d.*
  )
  select ${WAITING_ROW} from resumed d union all select ${WAITING_ROW} from waiting d`;
}

/**
 * Fails a delivery without an attempt, and moves it to the log. $1 delivery, $2 endpoint, $3 see `earliestFinishOf`, $4 error. Returns no
 * row if the delivery does not exist, is being sent by a worker, or was just moved by a concurrent statement.
 *
 * @param isKept see `isKeptSql`
 */
export function refuseDeliverySql(isKept: string): string {
  return `
  with waiting as (
    delete from webhook_deliveries d where d.id = $1 and d.endpoint_id = $2 and not ${IS_BEING_SENT}
    returning ${columnsSql([...MESSAGE_COLUMNS, ...RESULT_COLUMNS], 'd')}
  ), finished as (
    delete from webhook_delivery_log d where d.id = $1 and d.endpoint_id = $2 and d.finished_at >= $3::timestamptz and ${isKept}
    returning ${columnsSql([...MESSAGE_COLUMNS, ...RESULT_COLUMNS], 'd')}
  )
  ${insertIntoLogSql('(select * from waiting union all select * from finished)', {
    status: `'failed'`,
    finished_at: 'now()',
    error: '$4',
    status_code: 'null::int',
    duration_ms: 'null::int',
    response: 'null',
    encrypted_response: 'null',
  })}
  returning ${FINISHED_ROW}`;
}
