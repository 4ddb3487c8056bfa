import {
  type AddToBatch,
  createMicroBatch,
  createWorkLogger,
  type ExtensionHost,
  type Keyring,
  plainArrayLiteral,
  retryWhileUnavailable,
  textArrayLiteral,
  type WorkLine,
} from '../../../../extension/index.ts';
import type { DeliveryStatus } from '../../deliveries/deliveries-sql.ts';
import { columnsSql, insertIntoLogSql, MESSAGE_COLUMNS } from '../../deliveries/deliveries-sql.ts';
import { encryptResponse } from '../../deliveries/stored-body.ts';
import { createEndpointAlerts, type EndpointAlert, type FailedDelivery } from '../../endpoints/alerts.ts';
import { ALERT, type AlertRow, alertAssignmentsSql, MAY_MAIL } from '../../endpoints/alerts-sql.ts';
import { ENDPOINT_COLUMNS } from '../../endpoints/endpoint.ts';
import { TEST_EVENT } from '../../settings/events.ts';
import { computeAttemptDelay } from '../../settings/retry-schedule.ts';
import { addStatisticsSql, createStatisticsParameters, STATISTICS_COUNTS } from '../../statistics/record-sql.ts';
import { ABORTED, type Outcome } from './attempt.ts';

// The entry is concatenated as text, which takes a third of the time of Postgres' JSON functions.
const APPENDED_LOG = `d.attempt_log || concat('{"at":"', r.at, '","statusCode":', coalesce(r.status_code::text, 'null'),
        ',"durationMs":', coalesce(r.duration_ms::text, 'null'), ',"error":', coalesce(to_json(r.error)::text, 'null'), '}')::jsonb`;

const CLAIM_HOLDS = `d.id = r.id
      and ((d.status = 'pending' and d.attempts = r.attempt - 1) or (d.status = 'sending' and d.attempts = r.attempt))`;

const RESULT_NAMES = ['at', 'status', 'error', 'slow', 'gone', 'refused', 'place'];
const RESULT = RESULT_NAMES.map((name) => (name === 'at' ? 'r.at::timestamptz as at' : `r.${name}`)).join(', ');

const FAILURES_BEFORE = 'case when n.success_at is null then e.consecutive_failures else 0 end';

/**
 * Writes the results of attempts and updates their endpoints and statistics, in one statement. Finished deliveries move to the log. Returns
 * the endpoints to report: see `AlertRow`.
 *
 * $1 deliveries, $2 attempt numbers, $3 when, $4 status after the attempt, $5 status codes, $6 durations in ms, $7 errors, $8 ms to the
 * next attempt, $9 responses, $10 whether it was slow or failed (null: unknown, the lane stays), $11 whether the receiver is gone,
 * $12 whether nothing was sent, all in order of completion; $13 consecutive failures that disable an endpoint, 0: never; $14 encrypted
 * responses, in the same order; $15 to $18: see `createStatisticsParameters`; $19 whether owners get e-mails.
 *
 * A result counts only while its claim holds, so that an attempt written twice counts once. While its lease holds, the delivery is
 * `pending` with the previous attempt's number; after its lease has expired, it is `sending` with this attempt's number. Endpoints are
 * locked in the order of their ids, so that two workers cannot deadlock; endpoints that do not change are not locked. Failed tests and
 * aborted messages do not count as consecutive failures, and refused attempts do not count at all.
 *
 * Postgres plans the statement anew for each small batch, because it sees that the arrays are short. Do not collect larger batches to save that:
 * Postgres then keeps a plan, and one from a time when the table was empty scans it with all dead rows.
 */
export const RECORD_RESULTS = `
  with results as (
    select * from unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::int[],
      $6::int[], $7::text[], $8::bigint[], $9::text[], $10::boolean[],
      $11::boolean[], $12::boolean[], $14::text[])
      with ordinality as r(id, attempt, at, status, status_code, duration_ms, error, delay_ms, response, slow, gone, refused,
        encrypted_response, place)
  ), retried as (
    update webhook_deliveries d set status = r.status, attempts = r.attempt,
      schedule_attempts = d.schedule_attempts + r.attempt - d.attempts,
      status_code = r.status_code, duration_ms = r.duration_ms, error = r.error, response = r.response, encrypted_response = r.encrypted_response,
      attempt_log = ${APPENDED_LOG}, lease_until = null, next_attempt_at = now() + r.delay_ms * interval '1 millisecond'
    from results r where r.status = 'pending' and ${CLAIM_HOLDS}
    returning d.endpoint_id, d.type, ${RESULT}, d.schedule_attempts
  ), finished as (
    delete from webhook_deliveries d using results r where r.status <> 'pending' and ${CLAIM_HOLDS}
    returning ${columnsSql(MESSAGE_COLUMNS, 'd')}, r.attempt as attempts, r.status_code, r.duration_ms, r.response, r.encrypted_response,
      d.schedule_attempts + r.attempt - d.attempts as schedule_attempts, ${APPENDED_LOG} as attempt_log, ${RESULT}
  ), logged as (
    ${insertIntoLogSql('finished', { finished_at: 'now()' })}
  ), written as (
    select * from retried union all select ${['endpoint_id', 'type', ...RESULT_NAMES, 'schedule_attempts'].join(', ')} from finished
  ), placed as (
    select *, max(place) filter (where status = 'succeeded') over (partition by endpoint_id) as last_success
    from written where not refused
  ), news as (
    select endpoint_id,
      max(at) filter (where status = 'succeeded') as success_at,
      max(at) filter (where status <> 'succeeded') as failure_at,
      (array_agg(error order by place desc) filter (where status <> 'succeeded'))[1] as error,
      count(*) filter (where status = 'failed' and type <> '${TEST_EVENT}' and error is distinct from '${ABORTED}'
        and place > coalesce(last_success, 0)) as failures,
      (array_agg(slow order by place desc) filter (where slow is not null))[1] as slow,
      bool_or(gone) as gone,
      ${STATISTICS_COUNTS}
    from placed group by endpoint_id
  ), counted as (${addStatisticsSql('news', 15)}
  ), touched as (
    select e.id, e.enabled as was_enabled, n.*, ${FAILURES_BEFORE} as failures_before,
      n.failures + ${FAILURES_BEFORE} as in_a_row, ${MAY_MAIL}
    from webhook_endpoints e join news n on n.endpoint_id = e.id
    where n.failure_at is not null or n.gone or e.consecutive_failures > 0 or e.slow <> n.slow
      or e.last_success_at is null or e.last_success_at < n.success_at - interval '1 minute'
      or e.last_success_at <= e.last_failure_at
    order by e.id for no key update of e
  ), turned as (
    update webhook_endpoints e set
      last_success_at = greatest(e.last_success_at, t.success_at),
      last_failure_at = greatest(e.last_failure_at, t.failure_at),
      last_error = coalesce(t.error, e.last_error),
      consecutive_failures = t.in_a_row,
      slow = coalesce(t.slow, e.slow),
      enabled = e.enabled and not t.gone and ($13 = 0 or t.in_a_row < $13),
      disabled_reason = case when not e.enabled then e.disabled_reason when t.gone then 'gone'
        when $13 > 0 and t.in_a_row >= $13 then 'failing' end,${alertAssignmentsSql('$19')}
    from touched t where e.id = t.id
    returning ${ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ')}, t.may_mail, ${ALERT}
  )
  select * from turned where alert is not null`;

/** An attempt to send a delivery, with its outcome. */
interface RecordableAttempt {
  /** The id of the delivery. */
  id: string;
  endpointId: string;
  eventId: string;
  /** The name of the event. */
  type: string;
  /** Whether the delivery's body is encrypted. If so, the response is encrypted as well, because it may repeat the body. */
  isEncrypted?: boolean;
  /** The number of the attempt. Its result is written only while it is still the delivery's last attempt. */
  attempt: number;
  scheduleAttempt: number;
  /** `durationMs` and `slow` are null if they are unknown, because the worker died during the attempt. */
  outcome: Omit<Outcome, 'durationMs' | 'slow'> & { durationMs: number | null; slow: boolean | null };
}

/** A completed attempt. */
export interface CompletedAttempt extends RecordableAttempt {
  /** Epoch ms at which the attempt was due. */
  dueAt: number;
  outcome: Outcome;
}

const MAX_BATCH = 500;

/** The status of a delivery after an attempt, and the ms until its next attempt; null if there is none. */
interface NextStep {
  status: DeliveryStatus;
  delayMs: number | null;
}

/** Decides the status of a delivery after an attempt, and whether and when it is retried. */
export function decideNextStep(
  { outcome, scheduleAttempt }: Pick<RecordableAttempt, 'outcome' | 'scheduleAttempt'>,
  schedule: readonly number[],
): NextStep {
  if (outcome.ok) return { status: 'succeeded', delayMs: null };
  const { retryAfterMs } = outcome;
  const delayMs =
    outcome.gone || outcome.refused || outcome.error === ABORTED
      ? null
      : computeAttemptDelay({ schedule, attempt: scheduleAttempt, retryAfterMs });
  return { status: delayMs === null ? 'failed' : 'pending', delayMs };
}

/** Creates the parameters of the statement `RECORD_RESULTS`. */
function createResultParameters(
  keyring: Keyring,
  results: readonly RecordableAttempt[],
  nextSteps: readonly NextStep[],
  { disableAfterFailures, notifyOwner }: Pick<ResultWriterSettings, 'disableAfterFailures' | 'notifyOwner'>,
): unknown[] {
  const plainColumn = (value: (result: RecordableAttempt) => string | number | boolean | null) =>
    plainArrayLiteral(results.map(value));
  const textColumn = (value: (result: RecordableAttempt) => string | null) => textArrayLiteral(results.map(value));
  const encryptResponseBody = ({ id, isEncrypted, outcome: { response } }: RecordableAttempt) =>
    isEncrypted && response ? encryptResponse(keyring, id, response) : null;
  return [
    plainColumn(({ id }) => id),
    plainColumn(({ attempt }) => attempt),
    plainColumn(({ outcome }) => outcome.at),
    plainArrayLiteral(nextSteps.map(({ status }) => status)),
    plainColumn(({ outcome }) => outcome.statusCode),
    plainColumn(({ outcome }) => outcome.durationMs),
    textColumn(({ outcome }) => outcome.error),
    plainArrayLiteral(nextSteps.map(({ delayMs }) => delayMs)),
    textColumn(({ isEncrypted, outcome }) => (isEncrypted && outcome.response ? null : outcome.response)),
    plainColumn(({ outcome }) => outcome.slow),
    plainColumn(({ outcome }) => outcome.gone),
    plainColumn(({ outcome }) => outcome.refused === true),
    disableAfterFailures,
    textColumn(encryptResponseBody),
    ...createStatisticsParameters(results),
    notifyOwner,
  ];
}

/** Writes the results of attempts: deliveries, their logs and the counters of their endpoints. */
export type WriteResults = (results: readonly RecordableAttempt[]) => Promise<void>;

/** Returns the class of an HTTP status, such as `5xx`: receivers choose the status, so the log must not have a label for each. */
const statusClassOf = (status: number | null) => (status === null ? null : `${String(status)[0]}xx`);

/**
 * Creates the log line of an attempt. The line contains only ids and classes: no URL, header, body or response.
 *
 * @param disabledEndpoints the endpoints that this attempt may have disabled; undefined if the result could not be written
 */
function createAttemptLogLine(
  { id, endpointId, eventId, attempt, outcome }: RecordableAttempt,
  { status, delayMs }: NextStep,
  disabledEndpoints: ReadonlySet<string> | undefined,
): WorkLine {
  const decisions: Record<string, string> = { succeeded: 'delivered', pending: 'retry' };
  const decision =
    (outcome.gone || !outcome.ok) && disabledEndpoints?.has(endpointId)
      ? 'endpoint disabled'
      : (decisions[status] ?? 'failed');
  return {
    outcome: outcome.error ?? 'succeeded',
    delivery: id,
    endpoint: endpointId,
    event: eventId,
    attempt,
    statusClass: statusClassOf(outcome.statusCode),
    decision: disabledEndpoints === undefined ? 'result not written' : decision,
    ...(delayMs === null ? {} : { retryAt: new Date(Date.now() + delayMs).toISOString() }),
    durationMs: outcome.durationMs ?? 0,
  };
}

/** Returns the last failed delivery to an endpoint, without tests. */
function findLastFailure(failures: readonly RecordableAttempt[], endpointId: string): FailedDelivery | undefined {
  const last = failures.findLast((failure) => failure.endpointId === endpointId && failure.type !== TEST_EVENT);
  return last && { event: last.type, statusCode: last.outcome.statusCode, error: last.outcome.error };
}

interface ResultWriterSettings {
  retrySchedule: readonly number[];
  disableAfterFailures: number;
  notifyOwner: boolean;
}

/** Creates the function that writes results. It also logs each attempt, and reports endpoints that fail, are disabled or work again. */
export function createResultWriter(
  host: Pick<
    ExtensionHost,
    'database' | 'events' | 'log' | 'mail' | 'metrics' | 'keyring' | 'settings' | 'organisationAccess'
  >,
  settings: ResultWriterSettings,
): WriteResults {
  const { database } = host;
  const alerts = createEndpointAlerts(host, settings);
  const logWork = createWorkLogger(host);

  function logAttempts(
    results: readonly RecordableAttempt[],
    nextSteps: readonly NextStep[],
    disabledEndpoints: ReadonlySet<string> | undefined,
  ): void {
    results.forEach((result, i) => {
      const sampled = result.outcome.ok && disabledEndpoints !== undefined;
      logWork('webhook attempt', createAttemptLogLine(result, nextSteps[i]!, disabledEndpoints), { sampled });
    });
  }

  /** Writes results. Only a failed delivery, or one that disables its endpoint, can cause an e-mail, which is stored in the same transaction. */
  async function write(
    statement: Parameters<ExtensionHost['database']['write']>[0],
    results: readonly RecordableAttempt[],
    nextSteps: readonly NextStep[],
  ): Promise<EndpointAlert[]> {
    const failures = results.filter(({ outcome }, i) => nextSteps[i]!.status === 'failed' && !outcome.refused);
    const toAlert = (row: AlertRow) => ({ row, lastFailure: findLastFailure(failures, row[0]) });
    // A receiver may refuse further messages although it accepted this one.
    if (failures.length === 0 && !results.some(({ outcome }) => outcome.gone))
      return (await database.write<AlertRow>(statement)).map(toAlert);
    const afterCommit: (() => unknown)[] = [];
    const found = await database.transaction(async (tx) => {
      const found = (await tx.write<AlertRow>(statement)).map(toAlert);
      await alerts.storeMails(found, { database: tx, afterCommit: (work) => afterCommit.push(work) });
      return found;
    });
    for (const work of afterCommit) work();
    return found;
  }

  return async (results) => {
    const nextSteps = results.map((result) => decideNextStep(result, settings.retrySchedule));
    const values = createResultParameters(host.keyring, results, nextSteps, settings);
    const statement = { name: 'webhook_record_results', text: RECORD_RESULTS, values };
    let found: EndpointAlert[];
    try {
      found = await retryWhileUnavailable(database, () => write(statement, results, nextSteps));
    } catch (error) {
      logAttempts(results, nextSteps, undefined);
      throw error;
    }
    const disabled = found.flatMap(({ row }) => (row.at(-1) === 'disabled' ? [row[0]] : []));
    logAttempts(results, nextSteps, new Set(disabled));
    if (found.length > 0) await alerts.announce(found);
  };
}

/** Creates the function with which a worker writes the result of each attempt. Results are written in batches. */
export function createBatchedResultWriter(
  ...parts: Parameters<typeof createResultWriter>
): AddToBatch<CompletedAttempt> {
  return createMicroBatch<CompletedAttempt>(createResultWriter(...parts), MAX_BATCH);
}
