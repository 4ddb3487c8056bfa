import {
  createReclaimSweep,
  findsRowSql,
  type Host,
  type ResourceGateway,
  type Sweep,
  writeInBatches,
} from '../../../../extension/index.ts';
import { chooseLane, enqueueEndpointJobs } from '../../endpoints/endpoint-jobs.ts';
import { mayReceiveSql, type UsersSql, usersSql } from '../../endpoints/endpoints-sql.ts';
import { listGlobalRoles, type WebhookSettings } from '../../settings/settings.ts';
import { computeDeliveryLeaseMs, LEASE_MS } from '../delivery/lease-store.ts';
import type { WriteResults } from '../delivery/record-results.ts';

/**
 * Reclaims leases that were not renewed, so that their endpoints continue at once. Deliveries that they had claimed may be in flight, and
 * their workers may even be alive, so these deliveries become `sending` in their own rows until `lease_until`. $1 ms from the expiry of
 * the endpoint's lease to `lease_until`, $2 maximum number of leases. Uses webhook_turns_holder_index.
 */
const RECLAIM_EXPIRED_LEASES = `
  with lost as materialized (
    select endpoint_id, sending, lease_until from webhook_turns where holder is not null and lease_until < now() order by lease_until limit $2
    for update skip locked
  ), claimed as (
    select key as id, value::int as attempts, lease_until from lost, jsonb_each_text(sending)
  ), kept as (
    update webhook_deliveries d set status = 'sending', attempts = d.attempts + 1, schedule_attempts = d.schedule_attempts + 1,
      lease_until = c.lease_until + $1 * interval '1 millisecond'
    from claimed c where d.id = c.id and d.status = 'pending' and d.attempts = c.attempts
  )
  update webhook_turns t set holder = null, lease_until = null, sending = '{}', due_from = null,
    rate = coalesce(t.rate, '{}') || jsonb_build_object(
      'lost', coalesce((t.rate ->> 'lost')::int, 0) + (select count(*) from jsonb_object_keys(t.sending)))
  from lost
  where t.endpoint_id = lost.endpoint_id returning t.endpoint_id`;

/**
 * Finds deliveries whose worker died while sending them. `attempts` includes the lost attempt. $1 maximum number of rows. Uses
 * webhook_deliveries_lease_index.
 */
const LOST_DELIVERIES = `
  select id, endpoint_id, event_id, attempts, schedule_attempts from webhook_deliveries where status = 'sending' and lease_until < now()
  order by lease_until limit $1`;

/** The condition that leases or deliveries of workers have expired. */
const HAS_LOST = `(${findsRowSql('select from webhook_turns where holder is not null and lease_until < now()')}
  or ${findsRowSql(`select from webhook_deliveries where status = 'sending' and lease_until < now() order by lease_until limit 1`)})`;

/** The condition that deliveries wait, whether or not they are overdue. Uses webhook_deliveries_due_index. */
const HAS_PENDING = findsRowSql(
  `select from webhook_deliveries where status = 'pending' order by endpoint_id, next_attempt_at limit 1`,
);

/**
 * Selects a page of the endpoints that have pending deliveries. The statement reads one entry of webhook_deliveries_due_index per endpoint,
 * however many deliveries the endpoint has. $1 the last endpoint of the previous page, $2 page size, $3 roles of the global policy. Returns
 * the endpoint, whether it is slow, whether it may be sent to now, by how many ms its earliest delivery is overdue, its owner, and whether
 * claims would not find that delivery.
 */
function pendingEndpointsSql(users: UsersSql): string {
  const firstPendingSql = (after: string) => `
    select endpoint_id, next_attempt_at from webhook_deliveries where status = 'pending' and endpoint_id > ${after}
    order by endpoint_id, next_attempt_at limit 1`;
  return `
  with recursive waiting as (
    (${firstPendingSql('$1')})
    union all
    select next.* from waiting w cross join lateral (${firstPendingSql('w.endpoint_id')}) next
  ), page as materialized (select * from waiting limit $2)
  select p.endpoint_id, coalesce(e.slow, false), coalesce(${mayReceiveSql(users, '$3')}, false),
    floor(extract(epoch from now() - p.next_attempt_at) * 1000)::bigint, e.owner_id,
    exists (select from webhook_turns t where t.endpoint_id = p.endpoint_id and t.due_from > p.next_attempt_at)
  from page p left join webhook_endpoints e on e.id = p.endpoint_id left join ${users.table} u on u.id = e.owner_id
  order by p.endpoint_id`;
}

/** Makes claims search all deliveries of endpoints $1. */
const RESET_DUE_FROM = 'update webhook_turns set due_from = null where endpoint_id = any($1::text[])';

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

type LostRow = [id: string, endpointId: string, eventId: string, attempt: number, scheduleAttempt: number];

/**
 * An endpoint with pending deliveries: whether it may be sent to now, by how many ms its earliest delivery is overdue, and its owner, who
 * is null only if there is no such endpoint. `isMissed`: claims would not find the earliest delivery, because it was committed late.
 */
type PendingRow = [
  endpointId: string,
  slow: boolean,
  open: boolean,
  overdueMs: number,
  owner: string | null,
  isMissed: boolean,
];

/** Reads the endpoints that have pending deliveries, page by page. */
export type PendingEndpoints = () => AsyncGenerator<PendingRow[]>;

/** Creates the reader of endpoints that have pending deliveries. */
export function createPendingEndpointReader(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  settings: Pick<WebhookSettings, 'globalPolicy'>,
): PendingEndpoints {
  const text = pendingEndpointsSql(usersSql(users));
  const roles = listGlobalRoles(settings);
  return async function* pending() {
    for (let after = ''; ; ) {
      const page = await database.write<PendingRow>({
        name: 'webhook_pending',
        text,
        values: [after, PAGE_SIZE, roles],
      });
      yield page;
      if (page.length < PAGE_SIZE) return;
      after = page.at(-1)![0];
    }
  };
}

/** Creates the sweeps that reclaim deliveries of dead workers and find deliveries without a job. Many relays may run them at once. */
export function createReclaimSweeps(
  { database, queues }: Pick<Host, 'database' | 'queues'>,
  settings: WebhookSettings,
  readPendingEndpoints: PendingEndpoints,
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

  async function reclaimLeasesAndFailLostAttempts(): Promise<number> {
    const values = [computeDeliveryLeaseMs(settings) - LEASE_MS];
    const startedAt = performance.now();
    const reclaimed = await writeInBatches(database, RECLAIM_EXPIRED_LEASES, values, { rowsPerBatch: PAGE_SIZE });
    noteDuration('reclaim', performance.now() - startedAt);
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
      const attempts = rows.map(([id, endpointId, eventId, attempt, scheduleAttempt]) => {
        return { id, endpointId, eventId, attempt, scheduleAttempt, outcome };
      });
      if (found > 0) await writeResults(attempts);
    }
    return total;
  }

  async function* readOverdueEndpoints() {
    for await (const page of readPendingEndpoints()) {
      const overdue = page.filter(([, , open, overdueMs]) => open && overdueMs >= settings.pollMs);
      const missed = overdue.flatMap(([id, , , , , isMissed]) => (isMissed ? [id] : []));
      if (missed.length > 0) await database.write({ text: RESET_DUE_FROM, values: [missed] });
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
