import { createdMsOf } from '../../../platform/ids.ts';
import { dueFromSql, IS_LEASED } from '../engine/delivery/lease-store.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';

const DAY_MS = 86_400_000;

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

/** The tables that hold deliveries, waiting ones first: deliveries move to the log while both tables are processed. */
export const DELIVERY_TABLES = ['webhook_deliveries', 'webhook_delivery_log'] as const;

/** The columns that never change after a delivery was created. */
export const MESSAGE_COLUMNS = [
  'id',
  'endpoint_id',
  'event_id',
  'position',
  'message_id',
  'type',
  'subject_id',
  'body',
  'encrypted_body',
  'created_at',
  'trace_context',
  'mentions',
];

/** The columns that an attempt changes, besides the status and the times. */
const RESULT_COLUMNS = [
  'attempts',
  'schedule_attempts',
  'status_code',
  'duration_ms',
  'error',
  'response',
  'encrypted_response',
  'attempt_log',
];

/** The columns of the delivery log. */
export const LOG_COLUMNS = [...MESSAGE_COLUMNS, ...RESULT_COLUMNS, 'status', 'finished_at'];

/** Returns a list of columns with the alias of their table. @param values SQL expressions for some of the columns */
export function columnsSql(
  names: readonly string[],
  alias: string,
  values: Readonly<Record<string, string>> = {},
): string {
  return names.map((name) => (name in values ? `${values[name]} as ${name}` : `${alias}.${name}`)).join(', ');
}

/**
 * Inserts finished deliveries into the log.
 *
 * @param from rows with the columns of the log, except those in `values`
 * @param values SQL expressions for some of the columns, in which `r` is a row
 */
export function insertIntoLogSql(from: string, values: Readonly<Record<string, string>> = {}): string {
  return `insert into webhook_delivery_log as d (${LOG_COLUMNS.join(', ')})
    select ${columnsSql(LOG_COLUMNS, 'r', values)} from ${from} r`;
}

/**
 * Makes deliveries from the log wait again: due now, with a new schedule. The schedule of a test stays used up. A process of an earlier version,
 * which does not know the log, may have added a second delivery of the same event to the same endpoint. If that one waits, it delivers the
 * event, and the one from the log is dropped.
 *
 * @param from the rows that were deleted from the log, with `LOG_COLUMNS`
 * @param onConflict what to do if another delivery of the event already waits, which is row `d`
 */
export function resumeFromLogSql(from: string, onConflict = 'nothing'): string {
  const kept = [...MESSAGE_COLUMNS, ...RESULT_COLUMNS];
  const restarted = `case when l.type = '${TEST_EVENT}' then l.schedule_attempts else 0 end`;
  return `insert into webhook_deliveries as d (${kept.join(', ')}, next_attempt_at)
    select ${columnsSql(kept, 'l', { schedule_attempts: restarted })}, now() from ${from} l
    on conflict (endpoint_id, event_id) do ${onConflict}`;
}

/** A condition: row `d` of the log is not older than the retention period, although its partition may still exist. */
export function isKeptSql({ keepDeliveriesDays }: Pick<WebhookSettings, 'keepDeliveriesDays'>): string {
  return `d.finished_at > now() - interval '${Math.round(keepDeliveriesDays * DAY_MS)} milliseconds'`;
}

/** Tolerance for clock differences between Postgres and the processes that create ids. */
const CLOCK_TOLERANCE_MS = DAY_MS;

/**
 * Returns a time before which none of the deliveries can have finished, so that Postgres skips the older partitions of the log.
 *
 * @param ids ids of deliveries or events, which begin with the Unix second of their creation
 * @returns ISO 8601
 */
export function earliestFinishOf(ids: readonly string[]): string {
  const earliestMs = ids.reduce((least, id) => Math.min(least, createdMsOf(id)), Date.now());
  return new Date(earliestMs - CLOCK_TOLERANCE_MS).toISOString();
}

const SIZE = 'octet_length(d.body) + coalesce(octet_length(d.encrypted_body), 0)';

/** The columns of `DeliveryRow`, of a waiting delivery, or of one that an earlier version finished. */
const WAITING_ROW = `d.id, d.type, d.message_id, case when ${IS_LEASED} then 'sending' else d.status end as status,
    d.attempts + case when ${IS_LEASED} then 1 else 0 end as attempts, d.status_code, d.duration_ms, d.error, d.next_attempt_at, d.response,
    ${SIZE} as bytes, d.attempt_log, d.encrypted_response`;

/** The columns of `DeliveryRow`, of a finished delivery. */
const FINISHED_ROW = `d.id, d.type, d.message_id, d.status, d.attempts, d.status_code, d.duration_ms, d.error, null::timestamptz, d.response,
    ${SIZE}, d.attempt_log, d.encrypted_response`;

/** A condition: clients see waiting delivery `d` with this status. */
function hasStatusSql(status: DeliveryStatus): string {
  if (status === 'pending') return `d.status = 'pending' and not ${IS_LEASED}`;
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

/** A term by which a list is sorted, and how a position holds its value: as a text, which `fromText` converts back. */
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

const orderOf = (status: DeliveryStatus | undefined) =>
  status === 'failed' ? [CREATED_AT, asText('d.id')] : [asText('d.event_id')];

/** Returns the number of values that the position of a delivery in a list consists of. */
export function positionLengthOf(status: DeliveryStatus | undefined): number {
  return orderOf(status).length;
}

/** Which deliveries of an endpoint a list contains. */
export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  /** Whether only deliveries of one event name are listed. */
  byType?: boolean;
  /** Whether the list continues after a position. */
  isContinued?: boolean;
}

/**
 * Lists the deliveries of an endpoint, newest first. $1 endpoint, $2 page size, then the event name with `byType`, then the values of the
 * position with `isContinued`. Each table is read in the order of an index: by event, because event ids begin with the time, or for failed
 * deliveries by creation time. The status is part of the text, so that the planner can use the partial indexes. The position of a row is in
 * its last columns, as texts.
 *
 * @param isKept see `isKeptSql`
 */
export function listDeliveriesSql({ status, byType, isContinued }: DeliveryFilter, isKept: string): string {
  const terms = orderOf(status);
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
    encrypted_response, ${terms.map(({ toText }, i) => toText(`d.o${i}`)).join(', ')}
  from (${pages.join(' union all ')}) d order by ${orderSql(order.map((_, i) => `d.o${i}`))} limit $2`;
}

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

/** The start of the search of endpoint $1: see `dueFrom` in tables.ts. */
const DUE_FROM = dueFromSql('(select due_from from webhook_turns where endpoint_id = $1)');

/** $1 endpoint. Returns the ms until its earliest delivery is due; negative if overdue. Uses webhook_deliveries_due_index. */
export const EARLIEST_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' and next_attempt_at >= ${DUE_FROM} order by next_attempt_at limit 1`;

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

/** $1 ordered endpoint. Returns the ms until its next delivery is due, in the order of events; negative if the delivery is overdue. */
export const NEXT_DUE_MS = `
  select ceil(extract(epoch from next_attempt_at - now()) * 1000)::bigint
  from webhook_deliveries where endpoint_id = $1 and status = 'pending' order by position nulls first, event_id limit 1`;

// A number of attempts that no retry schedule has, so the first attempt of a test is its last.
const SCHEDULE_USED_UP = 1_000_000;

/**
 * Inserts a test delivery, due now. $1 id, $2 endpoint, $3 message id, $4 body, $5 trace context. Returns no row if the endpoint was disabled or
 * deleted.
 */
export const INSERT_TEST = `
  insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, trace_context, mentions, next_attempt_at, schedule_attempts)
  select $1, id, $1, $3, '${TEST_EVENT}', $4, $5, '{}', now(), ${SCHEDULE_USED_UP} from webhook_endpoints
  where id = $2 and enabled and removed_at is null
  returning 1`;

/** Makes waiting delivery `d` due now and restarts its schedule; the schedule of a test stays used up. Leaves it alone if it is being sent. */
const MAKE_DUE = `
      status = case when ${IS_BEING_SENT} then d.status else 'pending' end,
      next_attempt_at = case when ${IS_BEING_SENT} then d.next_attempt_at else now() end,
      schedule_attempts = case when ${IS_BEING_SENT} or d.type = '${TEST_EVENT}' then d.schedule_attempts else 0 end,
      finished_at = null`;

/**
 * Makes a delivery due now and restarts its schedule; the schedule of a test stays used up. A finished delivery leaves the log. If another
 * delivery of its event already waits for the endpoint, that one becomes due and is returned instead. A delivery that is being sent at the
 * moment does not change. Attempt numbers continue. $1 delivery, $2 endpoint, $3 see `earliestFinishOf`. Returns no row if there is no such
 * delivery, or if a concurrent statement has just moved it to or from the log, so that this one did not see it.
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
 * Fails a delivery without an attempt, and moves it to the log. $1 delivery, $2 endpoint, $3 see `earliestFinishOf`, $4 error. Returns no row if
 * there is no such delivery, if a worker is sending it at the moment, or if a concurrent statement has just moved it.
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
