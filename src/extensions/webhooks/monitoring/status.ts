import type { Backlog, Host } from '../../../extension/index.ts';
import { IS_LEASED, isKeptSql } from '../deliveries/deliveries-sql.ts';
import { LANE_QUEUES, REQUESTED_QUEUE } from '../endpoints/endpoint-jobs.ts';
import { ENDPOINT_STATE, type EndpointState } from '../endpoints/endpoint-state.ts';
import { mayReceiveSql, type OwnersSql, ownersSql } from '../endpoints/endpoints-sql.ts';
import type { OwnerTables } from '../endpoints/owners.ts';
import { firstWaitingSql } from '../engine/polling/waiting-sql.ts';
import { TEST_EVENT } from '../settings/events.ts';
import { listGlobalRoles, type WebhookSettings } from '../settings/settings.ts';
import { type DeliveryTotals, readLastDay } from '../statistics/all-endpoints.ts';

/** Pending deliveries by endpoint, including those that are being sent under a lease. Uses webhook_deliveries_due_index. */
const PENDING = `
  select endpoint_id, count(*) as n, count(*) filter (where next_attempt_at <= now()) as due, min(next_attempt_at) as first
  from webhook_deliveries where status = 'pending' group by endpoint_id`;

/** Messages that wait to be fetched, by polled endpoint. Uses webhook_deliveries_waiting_index. */
const UNFETCHED = `
  select endpoint_id, count(*) as n, min(next_attempt_at) as first from webhook_deliveries where status = 'waiting' group by endpoint_id`;

/** Counts the messages that wait to be fetched, and reads for how many ms the first has waited. */
const COUNT_UNFETCHED = `
  select coalesce(sum(n), 0)::bigint, floor(extract(epoch from now() - min(first)) * 1000)::bigint from (${UNFETCHED}) w`;

/** A condition: the receiver of endpoint `e` has not fetched a message for a day. */
export const IS_NEGLECTED = `(e.enabled and e.delivery = 'poll' and ${firstWaitingSql('e.id')} < now() - interval '1 day')`;

/** Deliveries that are being sent under a lease, or remain from an expired one. Uses primary key and webhook_deliveries_lease_index. */
const SENDING = `
  select d.endpoint_id, true as is_leased from webhook_turns t cross join lateral jsonb_object_keys(t.sending) s(id)
    join webhook_deliveries d on d.id = s.id where t.holder is not null and ${IS_LEASED}
  union all
  select endpoint_id, false from webhook_deliveries where status = 'sending' and lease_until is not null`;

/** The numbers of deliveries and events that wait: see `queueStateSql`. */
type QueueRow = [
  due: number,
  later: number,
  held: number,
  inFlight: number,
  oldestMs: number | null,
  events: number,
  oldestEventMs: number | null,
];

/**
 * Reads how many deliveries and events wait. $1 roles of the global policy. The columns of the row:
 *
 * - the deliveries that are due, that wait for a retry, that are held because their endpoint may not be sent to, and that are in flight
 * - ms by which the earliest due delivery is overdue
 * - the events that wait for the relay, and for how many ms the oldest event has waited
 */
function queueStateSql(owners: OwnersSql): string {
  return `
  with waiting as (
    select p.n, p.due, p.first, coalesce(${mayReceiveSql(owners, '$1')}, false) as open
    from (${PENDING}) p left join webhook_endpoints e on e.id = p.endpoint_id left join ${owners.table} u on u.id = e.owner_id
  ), sending as (select count(*) as n, count(*) filter (where is_leased) as is_leased from (${SENDING}) s)
  select greatest(coalesce(sum(due) filter (where open), 0) - (select is_leased from sending), 0)::bigint, coalesce(sum(n - due) filter (where open), 0)::bigint,
    coalesce(sum(n) filter (where not open), 0)::bigint,
    (select n from sending),
    floor(extract(epoch from now() - min(first) filter (where open and due > 0)) * 1000)::bigint,
    (select count(*) from outbox),
    (select floor(extract(epoch from now() - min(created_at)) * 1000)::bigint from outbox)
  from waiting`;
}

/** Counts the endpoints by state and by the reason why they are disabled. */
const COUNT_BY_STATE = `
  select ${ENDPOINT_STATE}, disabled_reason, count(*) from webhook_endpoints e where removed_at is null group by 1, 2 order by 1, 2`;

// Tests have no schedule and are not recovered.
const IS_FAILED = `status = 'failed' and type <> '${TEST_EVENT}'`;

/** Counts the deliveries that used up their retry schedule. Uses the index of failed deliveries of each partition. @param isKeptCondition see `isKeptSql` */
const countFailedSql = (isKeptCondition: string) =>
  `select count(*) from webhook_delivery_log d where ${IS_FAILED} and ${isKeptCondition}`;

/** The number of failed deliveries at which counting stops. */
export const MAX_COUNTED_FAILURES = 1000;

/**
 * Counts the endpoints that fail, those that are retried and those that Belfry has disabled, and the deliveries that used up their retry schedule within 24 hours, up to
 * one more than the limit. Uses the index of failed deliveries of each partition. @param isKeptCondition see `isKeptSql`
 */
const problemsSql = (isKeptCondition: string) => `
  select count(*) filter (where state = 'failing')::int, count(*) filter (where state = 'retrying')::int,
    count(*) filter (where state = 'disabled' and coalesce(disabled_reason, 'manual') <> 'manual')::int,
    count(*) filter (where is_neglected)::int,
    (select count(*)::int from (
      select from webhook_delivery_log d
      where ${IS_FAILED} and d.finished_at > now() - interval '1 day' and ${isKeptCondition} limit ${MAX_COUNTED_FAILURES + 1}) failed)
  from (
    select ${ENDPOINT_STATE} as state, disabled_reason, ${IS_NEGLECTED} as is_neglected from webhook_endpoints e where removed_at is null) endpoints`;

/**
 * Counts recent attempts by result: null for a success, otherwise the error. $1 maximum age in ms, $2 maximum number of newest deliveries
 * to read, which limits the cost for a large log. Uses the indexes by id.
 */
const RECENT_ATTEMPTS = `
  select entry ->> 'error', count(*)
  from (
    select attempt_log from (
      (select id, attempt_log from webhook_deliveries order by id desc limit $2)
      union all
      (select id, attempt_log from webhook_delivery_log order by id desc limit $2)) newest
    order by id desc limit $2) d
    cross join lateral jsonb_array_elements(d.attempt_log) entry
  where (entry ->> 'at')::timestamptz > now() - $1 * interval '1 millisecond'
  group by 1 order by 2 desc, 1`;

/** An endpoint with outstanding deliveries: see `worstEndpointsSql`. */
type WorstRow = [
  id: string,
  url: string,
  state: EndpointState,
  due: number,
  later: number,
  failed: number,
  unfetched: number,
  oldestMs: number | null,
  lastError: string | null,
];

/** Selects the endpoints with the most deliveries that are due, have failed, or wait. $1 maximum number of rows. @param isKeptCondition see `isKeptSql` */
const worstEndpointsSql = (isKeptCondition: string) => `
  with failed as (
    select endpoint_id, count(*) as n from webhook_delivery_log d where ${IS_FAILED} and ${isKeptCondition} group by endpoint_id)
  select e.id, e.url, ${ENDPOINT_STATE}, coalesce(p.due, 0)::bigint, coalesce(p.n - p.due, 0)::bigint, coalesce(f.n, 0)::bigint,
    coalesce(w.n, 0)::bigint,
    floor(extract(epoch from now() - case when p.due > 0 then p.first else w.first end) * 1000)::bigint, e.last_error
  from webhook_endpoints e left join (${PENDING}) p on p.endpoint_id = e.id left join failed f on f.endpoint_id = e.id
    left join (${UNFETCHED}) w on w.endpoint_id = e.id
  where e.removed_at is null and (p.n > 0 or f.n > 0 or w.n > 0)
  order by coalesce(p.due, 0) desc, coalesce(f.n, 0) desc, p.n desc nulls last, w.n desc, e.id limit $1`;

/** The deliveries that wait and that are being sent, over all processes. */
export interface WebhookQueue {
  /** Deliveries that could be sent now. */
  due: number;
  /** Deliveries that wait for the time of their next attempt. */
  retrying: number;
  /** Pending deliveries of endpoints that must not be sent to: removed or disabled ones, or their owner or API key may not be sent events. */
  held: number;
  inFlight: number;
  /** ms by which the earliest due delivery is overdue; null if none is due. */
  oldestMs: number | null;
  /** Events that the relay has not yet turned into deliveries. */
  events: number;
  /** ms since the oldest of the events that wait for the relay; null if no events wait. */
  oldestEventMs: number | null;
}

/** The status of webhooks. */
export interface WebhookStatus {
  /** The endpoints by state; disabled ones by reason. `retrying`: the last attempt failed, but no delivery has failed for good since a success. */
  endpoints: { active: number; retrying: number; failing: number; disabled: Record<string, number> };
  queue: WebhookQueue;
  /** Messages that wait until receivers fetch them; `oldestMs`: for how long the first has waited, null if none does. */
  unfetched: { messages: number; oldestMs: number | null };
  /** Deliveries that used up their schedule and are still in the log. */
  failed: number;
  /** Results of the attempts of the last `recentMs`: `succeeded` or the error. Covers the newest 10,000 deliveries. */
  attempts: Record<string, number>;
  recentMs: number;
  /** The current hour and the 23 hours before it. */
  last24Hours: DeliveryTotals;
  /** The endpoints with the most due, failed or waiting deliveries. */
  worst: {
    id: string;
    /** The host of the endpoint's URL; `polled` if it has none. The full URL is not shown, because it may contain a secret of the receiver. */
    host: string;
    status: EndpointState;
    due: number;
    retrying: number;
    failed: number;
    /** Messages that wait until the receiver fetches them. */
    unfetched: number;
    oldestMs: number | null;
    lastError: string | null;
  }[];
}

const NEWEST = 10_000;
const RECENT_MS = 3_600_000;

/** What does not work. */
interface WebhookProblems {
  failing: number;
  /** The endpoints whose last attempt failed, before a delivery has failed for good. */
  retrying: number;
  /** The endpoints that Belfry has disabled, not their owners. */
  disabled: number;
  /** The polled endpoints with messages that wait for more than a day. */
  neglected: number;
  /** Deliveries of the last 24 hours that used up their schedule; more than `MAX_COUNTED_FAILURES` means that counting stopped. */
  failed: number;
}

/** Reads the status of webhooks. */
export interface StatusReader {
  /** One statement. */
  problems(): Promise<WebhookProblems>;
  queue(): Promise<WebhookQueue>;
  /** @param worst maximum number of endpoints to list */
  status(worst?: number): Promise<WebhookStatus>;
}

/** Creates the status reader. Its statements run alongside the statements of requests, and are cancelled after 5 seconds. */
export function createStatusReader(
  { database }: Pick<Host, 'database'>,
  owners: OwnerTables,
  settings: WebhookSettings,
): StatusReader {
  const text = queueStateSql(ownersSql(owners));
  const roles = listGlobalRoles(settings);
  const isKeptCondition = isKeptSql(settings);
  const [failedText, worstText] = [countFailedSql(isKeptCondition), worstEndpointsSql(isKeptCondition)];
  const problemsText = problemsSql(isKeptCondition);

  async function readQueue(): Promise<WebhookQueue> {
    const [row] = await database.readSlowly<QueueRow>({ text, values: [roles] });
    const [due, retrying, held, inFlight, oldestMs, events, oldestEventMs] = row!;
    // The earliest overdue delivery may already be in flight.
    return { due, retrying, held, inFlight, oldestMs: due > 0 ? oldestMs : null, events, oldestEventMs };
  }

  async function countEndpointsByState(): Promise<WebhookStatus['endpoints']> {
    const rows = await database.readSlowly<[string, string | null, number]>({ text: COUNT_BY_STATE, values: [] });
    const rowsInState = (state: string) => rows.filter(([one]) => one === state);
    const disabled = rowsInState('disabled').map(([, reason, count]) => [reason ?? 'manual', count] as const);
    return {
      active: rowsInState('active')[0]?.[2] ?? 0,
      retrying: rowsInState('retrying')[0]?.[2] ?? 0,
      failing: rowsInState('failing')[0]?.[2] ?? 0,
      disabled: Object.fromEntries(disabled),
    };
  }

  return {
    async problems() {
      type Row = [failing: number, retrying: number, disabled: number, neglected: number, failed: number];
      const [row] = await database.readSlowly<Row>({ text: problemsText, values: [] });
      const [failing, retrying, disabled, neglected, failed] = row!;
      return { failing, retrying, disabled, neglected, failed };
    },
    queue: readQueue,
    async status(worst = 10) {
      const [states, waiting, [failed], attempts, worstRows, last24Hours, [unfetched]] = await Promise.all([
        countEndpointsByState(),
        readQueue(),
        database.readSlowly<[number]>({ text: failedText, values: [] }),
        database.readSlowly<[string | null, number]>({ text: RECENT_ATTEMPTS, values: [RECENT_MS, NEWEST] }),
        database.readSlowly<WorstRow>({ text: worstText, values: [worst] }),
        readLastDay(database),
        database.readSlowly<[number, number | null]>({ text: COUNT_UNFETCHED, values: [] }),
      ]);
      return {
        endpoints: states,
        queue: waiting,
        unfetched: { messages: unfetched![0], oldestMs: unfetched![1] },
        failed: failed![0],
        attempts: Object.fromEntries(attempts.map(([error, count]) => [error ?? 'succeeded', count])),
        recentMs: RECENT_MS,
        last24Hours,
        worst: worstRows.map(([id, url, status, due, retrying, ended, unfetched, oldestMs, lastError]) => {
          const host = url === '' ? 'polled' : (URL.parse(url)?.host ?? '');
          return { id, host, status, due, retrying, failed: ended, unfetched, oldestMs, lastError };
        }),
      };
    },
  };
}

/** The deliveries that wait for a webhook worker. */
export const createDeliveryBacklog = ({ queue }: Pick<StatusReader, 'queue'>): Backlog<'webhook-worker'> => ({
  role: 'webhook-worker',
  names: ['webhook delivery', 'webhook deliveries'],
  ownsQueue: (name) => name === REQUESTED_QUEUE || Object.values(LANE_QUEUES).includes(name),
  async read() {
    const { due, oldestMs } = await queue();
    return { due, isCapped: false, oldestSeconds: oldestMs === null ? null : oldestMs / 1000 };
  },
});
