import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { createRetentionSweep } from '../../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { writeInBatches } from '../../../platform/postgres/write-in-batches.ts';
import { FORGET_OLD_SECRETS, REMOVAL_ASSIGNMENTS, type UsersSql, usersSql } from '../endpoints/endpoints-sql.ts';
import { DELETE_OLD_COPIES } from '../readability/deleted-records.ts';
import type { WebhookSettings } from '../settings.ts';
import type { PendingEndpoints } from './reclaim.ts';

/**
 * Deletes old finished deliveries. $1 ms that finished deliveries are kept, $2 maximum number of rows. Uses the primary key: ids begin with
 * the Unix second of their creation, and a delivery cannot finish before its creation. Returns a row for each deleted delivery.
 */
const DELETE_FINISHED = `
  delete from webhook_deliveries where id in (
    select id from webhook_deliveries
    where id < to_hex(ceil(extract(epoch from now() - $1 * interval '1 millisecond'))::bigint)
      and finished_at < now() - $1 * interval '1 millisecond'
    order by id limit $2 for update skip locked)
  returning 1`;

/** Deletes deliveries of endpoint $1 that are overdue by $2 ms. $3 maximum number of rows. Uses webhook_deliveries_due_index. */
const DELETE_OVERDUE = `
  delete from webhook_deliveries where id in (
    select id from webhook_deliveries
    where endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - $2 * interval '1 millisecond'
    limit $3 for update skip locked)
  returning 1`;

/**
 * Deletes the logs of deleted endpoints. $1 maximum number of deliveries. Uses webhook_endpoints_removed_index and
 * webhook_deliveries_endpoint_event_unique. Returns a row for each deleted delivery.
 */
const DELETE_LOGS = `
  delete from webhook_deliveries where id in (
    select d.id from webhook_endpoints e cross join lateral (
      select id from webhook_deliveries where endpoint_id = e.id limit $1 for update skip locked) d
    where e.removed_at is not null limit $1)
  returning 1`;

/**
 * Deletes the rows of removed endpoints whose logs are empty, but not within an hour after the removal, because a relay may still be adding
 * a delivery. $1 maximum number of rows. Uses webhook_endpoints_removed_index. Returns a row for each deleted endpoint.
 */
const DELETE_ENDPOINTS = `
  with gone as (
    delete from webhook_endpoints where id in (
      select e.id from webhook_endpoints e
      where e.removed_at < now() - interval '1 hour' and not exists (select from webhook_deliveries d where d.endpoint_id = e.id)
      limit $1 for update skip locked)
    returning id
  ), leases as (
    delete from webhook_turns where endpoint_id in (select id from gone)
  )
  select 1 from gone`;

/** Marks endpoints as removed if their owner no longer exists, for whatever reason. */
function removeOwnerlessSql(users: UsersSql): string {
  return `
  update webhook_endpoints e set ${REMOVAL_ASSIGNMENTS}
  where e.removed_at is null and not exists (select from ${users.table} u where u.id = e.owner_id) returning 1`;
}

const DAY_MS = 86_400_000;
/** Maximum ms between two sweeps for logs of removed endpoints, so that the log of a deleted user is gone within a minute. */
const MAX_LOG_SWEEP_MS = 5000;

/** Creates the sweeps that delete old data of webhooks. Many relays may run them at once. */
export function createRetentionSweeps(
  { database }: Pick<Host, 'database'>,
  users: ResourceGateway,
  settings: WebhookSettings,
  readPendingEndpoints: PendingEndpoints,
): Sweep[] {
  const removeOwnerlessText = removeOwnerlessSql(usersSql(users));
  const keepMs = settings.keepDeliveriesDays * DAY_MS;
  // ms to keep copies of deleted records: a delivery may use the whole schedule, with waits up to 20% longer, and then stay in the log.
  const keepDeletedMs = keepMs + 1.2 * settings.retrySchedule.reduce((sum, wait) => sum + wait, 0);

  /** Deletes pending deliveries of endpoints that stay disabled, after the retention period of finished deliveries. */
  async function deleteStaleDeliveries(): Promise<number> {
    let total = 0;
    for await (const page of readPendingEndpoints()) {
      for (const [id, , open, overdueMs] of page) {
        if (!open && overdueMs > keepMs) total += await writeInBatches(database, DELETE_OVERDUE, [id, keepMs]);
      }
    }
    return total;
  }

  return [
    createRetentionSweep(database, {
      name: 'webhooks: logs of removed endpoints',
      everyMs: Math.min(settings.cleanMs, MAX_LOG_SWEEP_MS),
      removals: [{ text: DELETE_LOGS, maxBatches: Number.POSITIVE_INFINITY }],
    }),
    createRetentionSweep(database, {
      name: 'webhooks: old deliveries',
      everyMs: settings.cleanMs,
      removals: [
        { text: DELETE_FINISHED, values: [keepMs], maxBatches: Number.POSITIVE_INFINITY },
        { text: DELETE_OLD_COPIES, values: [keepDeletedMs], maxBatches: Number.POSITIVE_INFINITY },
        { text: DELETE_ENDPOINTS },
      ],
    }),
    {
      name: 'webhooks: unused endpoints',
      everyMs: settings.cleanMs,
      async run() {
        const stale = await deleteStaleDeliveries();
        const ownerless = await database.write({ text: removeOwnerlessText, values: [] });
        const secrets = await database.write({ text: FORGET_OLD_SECRETS, values: [] });
        return stale + ownerless.length + secrets.length;
      },
    },
  ];
}
