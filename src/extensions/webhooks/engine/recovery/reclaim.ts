import { createReclaimSweep, findsRowSql, type Host, type Sweep, writeInBatches } from '../../../../extension/index.ts';
import { createCostLimit } from '../../../../platform/data/postgres/cost-limit.ts';
import { chooseLane, enqueueEndpointJobs } from '../../endpoints/endpoint-jobs.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import { computeDeliveryLeaseMs, LEASE_MS } from '../delivery/lease-store.ts';
import type { WriteResults } from '../delivery/record-results.ts';
import type { PendingEndpoints } from './pending-endpoints.ts';

/**
 * Reclaims leases that were not renewed, so that their endpoints continue at once. Deliveries that they had claimed may be in flight, and
 * their workers may even be alive, so these deliveries become `sending` in their own rows until `lease_until`. $1 ms from the expiry of
 * the endpoint's lease to `lease_until`, $2 endpoints, $3 maximum number of leases.
 *
 * @param condition a condition on the endpoint
 */
const reclaimExpiredLeasesSql = (condition: string) => `
  with lost as materialized (
    select endpoint_id, sending, lease_until from webhook_turns where ${condition} and holder is not null and lease_until < now() order by lease_until limit $3
    for update skip locked
  ), claimed as (
    select key as id, value::int as attempts, lease_until from lost, jsonb_each_text(sending)
  ), kept as (
    update webhook_deliveries d set status = 'sending', attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
      lease_until = c.lease_until + $1 * interval '1 millisecond'
    from claimed c where d.id = c.id and d.status = 'pending' and d.attempts = c.attempts
  )
  update webhook_turns t set holder = null, lease_until = null, sending = '{}',
    rate = coalesce(t.rate, '{}') || jsonb_build_object(
      'lost', coalesce((t.rate ->> 'lost')::int, 0) + (select count(*) from jsonb_object_keys(t.sending)))
  from lost
  where t.endpoint_id = lost.endpoint_id returning t.endpoint_id`;
/** Uses webhook_turns_holder_index. */
const RECLAIM_EXPIRED_LEASES = reclaimExpiredLeasesSql('$2::text[] is null');
const RECLAIM_EXPIRED_LEASES_OF = reclaimExpiredLeasesSql('endpoint_id = any($2::text[])');

/**
 * Finds deliveries whose worker died while sending them. `attempts` includes the lost attempt. $1 maximum number of rows. Uses
 * webhook_deliveries_lease_index.
 */
const LOST_DELIVERIES = `
  select id, endpoint_id, event_id, type, attempts, schedule_attempts from webhook_deliveries where status = 'sending' and lease_until < now()
  order by lease_until limit $1`;

/** The condition that leases or deliveries of workers have expired. */
const HAS_LOST = `(${findsRowSql('select from webhook_turns where holder is not null and lease_until < now()')}
  or ${findsRowSql(`select from webhook_deliveries where status = 'sending' and lease_until < now() order by lease_until limit 1`)})`;

/** The condition that deliveries wait, whether or not they are overdue. Uses webhook_deliveries_due_index. */
const HAS_PENDING = findsRowSql(
  `select from webhook_deliveries where status = 'pending' order by endpoint_id, next_attempt_at limit 1`,
);

/** Makes claims find deliveries of endpoints $1 that are due at $2, if their searches begin later, because the deliveries were committed late. */
const RESET_DUE_FROM = `
  update webhook_turns t set due_from = missed.at from unnest($1::text[], $2::timestamptz[]) as missed(id, at)
  where t.endpoint_id = missed.id and t.due_from > missed.at`;

const PAGE_SIZE = 500;

/** ms after an outage of Postgres until attempts of lost workers fail. */
const AFTER_OUTAGE_MS = 10_000;
/** If a check of the conditions or reclaiming takes longer than this (ms), Postgres probably hung, and leases of live workers may have expired. */
const SUSPECTED_HANG_MS = 500;

/** Creates the outcome of an attempt whose worker died. `slow` is null, because nothing is known about the receiver. */
const createLostOutcome = () => ({
  ok: false,
  at: new Date().toISOString(),
  statusCode: null,
  durationMs: null,
  error: 'worker lost',
  response: null,
  retryAfterMs: null,
  gone: false,
  slow: null,
});

type LostRow = [
  id: string,
  endpointId: string,
  eventId: string,
  type: string,
  attempt: number,
  scheduleAttempt: number,
];

/** Creates the sweeps that reclaim deliveries of dead workers and find deliveries without a job. Many relays may run them at once. */
export function createReclaimSweeps(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  settings: WebhookSettings,
  pending: PendingEndpoints,
  writeResults: WriteResults,
): Sweep[] {
  let failLostAttemptsFrom = Number.NEGATIVE_INFINITY;
  /** What was slow when it was last done. */
  const slow = new Set<'check' | 'reclaim'>();

  /** After a hang, lets live workers write their results first. Not again and again while Postgres is only slow. */
  function noteDuration(what: 'check' | 'reclaim', durationMs: number): void {
    if (durationMs <= SUSPECTED_HANG_MS) slow.delete(what);
    else if (!slow.has(what)) {
      slow.add(what);
      failLostAttemptsFrom = performance.now() + AFTER_OUTAGE_MS;
    }
  }
  const limit = createCostLimit('webhook_turns');

  async function reclaimLeasesAndFailLostAttempts(): Promise<number> {
    // An expired lease matters only once its endpoint has overdue deliveries, such as those that the lease had claimed.
    const isComplete = limit.isDue();
    const text = isComplete ? RECLAIM_EXPIRED_LEASES : RECLAIM_EXPIRED_LEASES_OF;
    const values = [computeDeliveryLeaseMs(settings) - LEASE_MS, isComplete ? null : pending.listOverdue()];
    const startedAt = performance.now();
    const reclaimed = await writeInBatches(database, text, values, { rowsPerBatch: PAGE_SIZE });
    const ms = performance.now() - startedAt;
    if (isComplete) await limit.noteRun(database, ms);
    noteDuration('reclaim', ms);
    return performance.now() < failLostAttemptsFrom ? reclaimed : reclaimed + (await failLostAttempts());
  }

  /** Fails the attempts of dead workers. A lost attempt counts for the schedule, and towards disabling its endpoint. */
  async function failLostAttempts(): Promise<number> {
    let total = 0;
    for (let found = PAGE_SIZE; found === PAGE_SIZE; total += found) {
      const statement = { name: 'webhook_lost', text: LOST_DELIVERIES, values: [PAGE_SIZE] };
      const rows = await database.write<LostRow>(statement);
      found = rows.length;
      const outcome = createLostOutcome();
      const attempts = rows.map(([id, endpointId, eventId, type, attempt, scheduleAttempt]) => {
        return { id, endpointId, eventId, type, attempt, scheduleAttempt, outcome };
      });
      if (found > 0) await writeResults(attempts);
      pending.add(rows.map(([, endpointId]) => endpointId));
    }
    return total;
  }

  async function* readOverdueEndpoints() {
    for await (const page of pending.read()) {
      const overdue = page.filter(([, , open, overdueMs]) => open && overdueMs >= settings.pollMs);
      const unchanged = overdue.filter(pending.isUnchanged);
      const values = [unchanged.map(([id]) => id), unchanged.map(([, , , , , at]) => at)];
      if (unchanged.length > 0) await database.write({ name: 'webhook_reset_due', text: RESET_DUE_FROM, values });
      yield overdue;
    }
  }

  return [
    {
      name: 'webhooks: lost workers',
      everyMs: settings.pollMs,
      afterOutageMs: AFTER_OUTAGE_MS,
      condition: HAS_LOST,
      onChecked: (durationMs) => noteDuration('check', durationMs),
      run: reclaimLeasesAndFailLostAttempts,
    },
    createReclaimSweep({
      name: 'webhooks: overdue deliveries',
      everyMs: settings.pollMs,
      condition: HAS_PENDING,
      find: readOverdueEndpoints,
      addJobs: (rows) =>
        enqueueEndpointJobs(
          queues,
          rows.map(([id, slow, , , owner]) => ({ id, owner: owner!, lane: chooseLane(slow) })),
        ),
    }),
  ];
}
