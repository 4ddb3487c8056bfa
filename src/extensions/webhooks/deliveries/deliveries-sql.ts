import { DAY_MS, parseCreatedMs } from '../../../extension/index.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';

/** The states of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'sending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

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
  'backfill',
];

/** The columns that an attempt changes, besides the status and the times. */
export const RESULT_COLUMNS = [
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
 * @param values SQL expressions for some of the columns, where `r` is a row
 */
export function insertIntoLogSql(from: string, values: Readonly<Record<string, string>> = {}): string {
  return `insert into webhook_delivery_log as d (${LOG_COLUMNS.join(', ')})
    select ${columnsSql(LOG_COLUMNS, 'r', values)} from ${from} r`;
}

/**
 * Makes deliveries from the log wait again: due now, with a new schedule. The schedule of a test stays used up. A process of an earlier
 * version, which does not know the log, may have added a second delivery of the same event to the same endpoint. If the second delivery
 * waits, it delivers the event, and the one from the log is dropped. Deliveries to polled endpoints wait to be polled.
 *
 * @param from the rows that were deleted from the log, with `LOG_COLUMNS`
 * @param onConflict what to do if another delivery of the event already waits, which is row `d`
 */
export function resumeFromLogSql(from: string, onConflict = 'nothing'): string {
  const kept = [...MESSAGE_COLUMNS, ...RESULT_COLUMNS];
  const restarted = `case when l.type = '${TEST_EVENT}' then l.schedule_attempts else 0 end`;
  const status = `case when exists (select from webhook_endpoints e where e.id = l.endpoint_id and e.delivery = 'poll') then 'waiting' else 'pending' end`;
  return `insert into webhook_deliveries as d (${kept.join(', ')}, next_attempt_at, status)
    select ${columnsSql(kept, 'l', { schedule_attempts: restarted })}, clock_timestamp(), ${status} from ${from} l
    on conflict (endpoint_id, event_id) do ${onConflict}`;
}

/**
 * A condition: delivery `d` is being sent under a lease. Such a delivery stays `pending` in its own row: each attempt writes the row only
 * once. Clients see it as `sending`.
 */
export const IS_LEASED = `(d.status = 'pending' and exists (
      select from webhook_turns t where t.endpoint_id = d.endpoint_id and (t.sending ->> d.id)::int = d.attempts))`;

/** The status of delivery `d`, which has not finished, as clients see it. A delivery that waits to be polled is `pending`. */
export const WAITING_STATUS = `case when d.status = 'waiting' then 'pending' when ${IS_LEASED} then 'sending' else d.status end`;

/** A condition: row `d` of the log is not older than the retention period, although its partition may still exist. */
export function isKeptSql({ keepDeliveriesDays }: Pick<WebhookSettings, 'keepDeliveriesDays'>): string {
  return `d.finished_at > now() - interval '${Math.round(keepDeliveriesDays * DAY_MS)} milliseconds'`;
}

/** Tolerance for clock differences between Postgres and the processes that create ids. */
const CLOCK_TOLERANCE_MS = DAY_MS;

/**
 * Returns a lower bound for the finish times of the deliveries. Postgres then skips the older partitions of the log.
 *
 * @param ids ids of deliveries or events, which begin with the Unix second of their creation
 * @returns ISO 8601
 */
export function earliestFinishSql(ids: readonly string[]): string {
  const earliestMs = ids.reduce((least, id) => Math.min(least, parseCreatedMs(id)), Date.now());
  return new Date(earliestMs - CLOCK_TOLERANCE_MS).toISOString();
}
