import {
  createPartitionSweep,
  createRetentionSweep,
  DAY_MS,
  deleteUnlockedSql,
  findsRowSql,
  type Host,
  type Sweep,
  writeInBatches,
} from '../../../../extension/index.ts';
import { DELIVERY_TABLES } from '../../deliveries/deliveries-sql.ts';
import { type OwnersSql, ownersSql, REMOVAL_ASSIGNMENTS } from '../../endpoints/endpoints-sql.ts';
import type { OwnerTables } from '../../endpoints/owners.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import { createEarlierDeliveriesSweep } from './earlier-deliveries.ts';
import type { PendingEndpoints } from './pending-endpoints.ts';

/** Deletes deliveries of endpoint $1 that are overdue by $2 ms. $3 maximum number of rows. Uses webhook_deliveries_due_index. */
const DELETE_OVERDUE = deleteUnlockedSql(
  'webhook_deliveries',
  `endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - $2 * interval '1 millisecond' limit $3`,
);

/**
 * Deletes the deliveries of removed endpoints. $1 maximum number of deliveries. Uses webhook_endpoints_removed_index,
 * webhook_deliveries_endpoint_event_unique and webhook_delivery_log_endpoint_event_index: without an order, Postgres could read the whole table
 * for an endpoint that has no deliveries. Returns a row for each deleted delivery.
 */
const deleteDeliveriesOfRemovedEndpointsSql = (table: string) => `
  delete from ${table} where id = any(array(
    select d.id from webhook_endpoints e cross join lateral (
      select id from ${table} where endpoint_id = e.id order by event_id limit $1 for update skip locked) d
    where e.removed_at is not null limit $1))
  returning 1`;

/**
 * A condition: table `table` has no delivery of endpoint `e`. It is a scalar sub-select, not `not exists`: Postgres could turn the latter into
 * a join that reads the whole log. The order makes Postgres use the index: if few endpoints have all deliveries, it would otherwise expect to
 * find one soon by reading the table.
 */
const hasNoDeliverySql = (table: string) =>
  `(select true from ${table} d where d.endpoint_id = e.id order by d.event_id limit 1) is null`;

/**
 * Deletes the rows of removed endpoints whose logs are empty, but not within an hour after the removal, because a relay may still be adding
 * a delivery. $1 maximum number of rows. Returns a row for each deleted endpoint. Uses webhook_endpoints_removed_index,
 * webhook_deliveries_endpoint_event_unique and webhook_delivery_log_endpoint_event_index.
 */
const DELETE_ENDPOINTS = `
  with gone as (${deleteUnlockedSql(
    'webhook_endpoints e',
    `e.removed_at < now() - interval '1 hour' and ${DELIVERY_TABLES.map(hasNoDeliverySql).join(' and ')} limit $1`,
    'id',
  )}
  ), leases as (
    delete from webhook_turns where endpoint_id in (select id from gone)
  )
  select 1 from gone`;

/** Marks endpoints as removed if their owner no longer exists, for whatever reason. */
function removeOwnerlessSql({ table, organisations }: OwnersSql): string {
  const hasNo = (owners: string) => `not exists (select from ${owners} o where o.id = e.owner_id)`;
  // An app that no longer has organisations keeps their endpoints, which are not sent to.
  const isOwnerless =
    organisations === undefined
      ? `e.organisation_role is null and ${hasNo(table)}`
      : `case when e.organisation_role is null then ${hasNo(table)} else ${hasNo(organisations)} end`;
  return `
  update webhook_endpoints e set ${REMOVAL_ASSIGNMENTS} where e.removed_at is null and ${isOwnerless} returning 1`;
}

/** Deletes old secrets after their grace period; the older secret expires first. Uses webhook_endpoints_previous_secret_index. */
const FORGET_OLD_SECRETS = `
  update webhook_endpoints set previous_secret = null, previous_secret_until = null, older_secret = null, older_secret_until = null
  where previous_secret_until <= now() returning 1`;

/** Uses webhook_endpoints_removed_index. */
const HAS_REMOVED_ENDPOINTS = findsRowSql(
  'select from webhook_endpoints where removed_at is not null order by removed_at limit 1',
);

/** Deletes hours that are older than 15 days, the oldest first. $1 maximum number of rows. Uses webhook_endpoint_stats_hour_index. */
const DELETE_OLD_STATISTICS = `
  delete from webhook_endpoint_stats where (endpoint_id, hour) in (
    select endpoint_id, hour from webhook_endpoint_stats where hour <= now() - interval '15 days'
    order by hour limit $1 for update skip locked)
  returning 1`;

/** Deletes the hours of removed endpoints. $1 maximum number of rows. Uses webhook_endpoints_removed_index and the primary key. */
const DELETE_STATISTICS_OF_REMOVED = `
  delete from webhook_endpoint_stats where (endpoint_id, hour) in (
    select s.endpoint_id, s.hour from webhook_endpoints e cross join lateral (
      select endpoint_id, hour from webhook_endpoint_stats where endpoint_id = e.id order by hour limit $1 for update skip locked) s
    where e.removed_at is not null limit $1)
  returning 1`;

/** Maximum ms between two sweeps for logs of removed endpoints, so that the log of a deleted user is gone within a minute. */
const MAX_LOG_SWEEP_MS = 5000;

/** Creates the sweeps that delete old data of webhooks. Many relays may run them at once. */
export function createRetentionSweeps(
  { database, log }: Pick<Host, 'database' | 'log'>,
  owners: OwnerTables,
  settings: WebhookSettings,
  pending: Pick<PendingEndpoints, 'readAll'>,
): Sweep[] {
  const removeOwnerlessText = removeOwnerlessSql(ownersSql(owners));
  const keepMs = settings.keepDeliveriesDays * DAY_MS;
  const partitions = { table: 'webhook_delivery_log', column: 'finished_at', keepMs };
  const keepEventsMs = settings.keepEventsDays * DAY_MS;
  const keptEvents = { table: 'webhook_event_log', column: 'created_at', keepMs: keepEventsMs };
  // Copies of deleted records: a backfill may create a delivery when the event is old. The delivery may use the whole schedule, with waits up to
  // 20% longer, and then stay in the log.
  const keepDeletedMs = keepEventsMs + keepMs + 1.2 * settings.retrySchedule.reduce((sum, wait) => sum + wait, 0);
  const keepDeleted = `${keepDeletedMs} * interval '1 millisecond'`;

  /** Deletes pending deliveries of endpoints that stay disabled, after the retention period of finished deliveries. */
  async function deleteStaleDeliveries(): Promise<number> {
    let total = 0;
    for await (const page of pending.readAll()) {
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
      condition: HAS_REMOVED_ENDPOINTS,
      removals: [...DELIVERY_TABLES.map(deleteDeliveriesOfRemovedEndpointsSql), DELETE_STATISTICS_OF_REMOVED].map(
        (text) => ({ text, maxBatches: Number.POSITIVE_INFINITY }),
      ),
    }),
    createPartitionSweep(database, log, { name: 'webhooks: delivery log', everyMs: settings.cleanMs, partitions }),
    createEarlierDeliveriesSweep({ database, log }, partitions),
    ...(keepEventsMs > 0
      ? [
          createPartitionSweep(database, log, {
            name: 'webhooks: event log',
            everyMs: settings.cleanMs,
            partitions: keptEvents,
          }),
        ]
      : []),
    createRetentionSweep(database, {
      name: 'webhooks: copies of deleted records, removed endpoints',
      everyMs: settings.cleanMs,
      removals: [
        { table: 'webhook_deleted_records', column: 'id', keep: keepDeleted, maxBatches: Number.POSITIVE_INFINITY },
        { text: DELETE_ENDPOINTS },
      ],
    }),
    createRetentionSweep(database, {
      name: 'webhooks: statistics',
      everyMs: settings.cleanMs,
      removals: [{ text: DELETE_OLD_STATISTICS, maxBatches: Number.POSITIVE_INFINITY }],
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
