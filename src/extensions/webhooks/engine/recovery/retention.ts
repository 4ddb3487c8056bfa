import type { Host, ResourceGateway } from '../../../../declare/host.ts';
import { createRetentionSweep } from '../../../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../../../platform/outbox/relay.ts';
import { createPartitionSweep } from '../../../../platform/postgres/daily-partition-sweep.ts';
import {
  createPartitions,
  type DailyPartitions,
  isInsufficientPrivilege,
  isLockTimeout,
} from '../../../../platform/postgres/daily-partitions.ts';
import { writeInBatches } from '../../../../platform/postgres/write-in-batches.ts';
import { DELIVERY_TABLES, insertIntoLogSql, LOG_COLUMNS } from '../../deliveries/deliveries-sql.ts';
import { REMOVAL_ASSIGNMENTS, type UsersSql, usersSql } from '../../endpoints/endpoints-sql.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import { DELETE_OLD_COPIES } from '../readability/deleted-records.ts';
import type { PendingEndpoints } from './reclaim.ts';

/**
 * Moves finished deliveries that earlier versions of Belfry left in `webhook_deliveries` to the log. $1 maximum number of rows. Returns a row
 * for each delivery.
 */
const moveEarlierDeliveriesSql = (condition: string) => `
  with finished as (
    delete from webhook_deliveries where id = any(array(
      select id from webhook_deliveries where finished_at is not null and ${condition} limit $1 for update skip locked))
    returning ${LOG_COLUMNS.join(', ')}
  )
  ${insertIntoLogSql('finished')}
  returning 1`;
/** Uses webhook_deliveries_failed_index. */
const MOVE_EARLIER_FAILED = moveEarlierDeliveriesSql(`status = 'failed'`);
/** Uses webhook_deliveries_finished_index. */
const MOVE_EARLIER_DELIVERIES = moveEarlierDeliveriesSql('true');

/** The earliest finish time among deliveries of earlier versions: partitions are needed from that day on. Uses webhook_deliveries_finished_index. */
const EARLIEST_FINISHED = `
  select min(finished_at) from webhook_deliveries where finished_at is not null`;

/** Deletes deliveries of endpoint $1 that are overdue by $2 ms. $3 maximum number of rows. Uses webhook_deliveries_due_index. */
const DELETE_OVERDUE = `
  delete from webhook_deliveries where id in (
    select id from webhook_deliveries
    where endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - $2 * interval '1 millisecond'
    limit $3 for update skip locked)
  returning 1`;

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
  with gone as (
    delete from webhook_endpoints where id in (
      select e.id from webhook_endpoints e
      where e.removed_at < now() - interval '1 hour' and ${DELIVERY_TABLES.map(hasNoDeliverySql).join(' and ')}
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

/** Deletes old secrets after their grace period; the older secret expires first. Uses webhook_endpoints_previous_secret_index. */
const FORGET_OLD_SECRETS = `
  update webhook_endpoints set previous_secret = null, previous_secret_until = null, older_secret = null, older_secret_until = null
  where previous_secret_until <= now() returning 1`;

const DAY_MS = 86_400_000;
/** Maximum ms between two sweeps for logs of removed endpoints, so that the log of a deleted user is gone within a minute. */
const MAX_LOG_SWEEP_MS = 5000;

/** ms between two searches for deliveries of earlier versions. */
const MOVE_EVERY_MS = 5000;
/** ms until partitions are created again after other sessions held the table. */
const LOCK_RETRY_MS = 60_000;
/** More batches than in other sweeps, because there may be many million deliveries. A batch takes some ten milliseconds. */
const MAX_MOVE_BATCHES = 100;

/** Creates the function that moves finished deliveries of earlier versions to the log. It returns their number. */
function createEarlierDeliveriesMover(
  { database, log }: Pick<Host, 'database' | 'log'>,
  partitions: DailyPartitions,
): () => Promise<number> {
  const { keepMs } = partitions;
  let nextPartitionAttemptAt = Number.NEGATIVE_INFINITY;

  /** Creates the partitions of the log from a day on. Returns false if another session holds the table. */
  async function tryCreatePartitions(firstMs: number): Promise<boolean> {
    if (performance.now() < nextPartitionAttemptAt) return false;
    try {
      await createPartitions(database, partitions, firstMs);
      return true;
    } catch (error) {
      // A role that may not create partitions moves the deliveries to the default partition.
      if (isInsufficientPrivilege(error)) return true;
      if (!isLockTimeout(error)) throw error;
      nextPartitionAttemptAt = performance.now() + LOCK_RETRY_MS;
      log.info(
        { table: partitions.table },
        'Deliveries of an earlier version cannot move to the log, because another session holds the table; tried again in a minute',
      );
      return false;
    }
  }

  /** Moves the finished deliveries of earlier versions. Processes of the old version may still add some during a deploy. */
  async function moveEarlierDeliveries(): Promise<number> {
    const [row] = await database.write<[string | null]>({ text: EARLIEST_FINISHED, values: [] });
    const first = row?.[0] ?? null;
    if (first === null) return 0;
    // Without partitions, so many rows would move to the default partition that their days could not get partitions later.
    if (!(await tryCreatePartitions(Math.max(Date.parse(first), Date.now() - keepMs)))) return 0;
    const options = { maxBatches: MAX_MOVE_BATCHES };
    // Move failed deliveries first: a recovery waits for those of its endpoint.
    const failed = await writeInBatches(database, MOVE_EARLIER_FAILED, [], options);
    return failed + (await writeInBatches(database, MOVE_EARLIER_DELIVERIES, [], options));
  }
  return moveEarlierDeliveries;
}

/** Creates the sweeps that delete old data of webhooks. Many relays may run them at once. */
export function createRetentionSweeps(
  { database, log }: Pick<Host, 'database' | 'log'>,
  users: ResourceGateway,
  settings: WebhookSettings,
  readPendingEndpoints: PendingEndpoints,
): Sweep[] {
  const removeOwnerlessText = removeOwnerlessSql(usersSql(users));
  const keepMs = settings.keepDeliveriesDays * DAY_MS;
  const partitions = { table: 'webhook_delivery_log', column: 'finished_at', keepMs };
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
      removals: DELIVERY_TABLES.map((table) => {
        return { text: deleteDeliveriesOfRemovedEndpointsSql(table), maxBatches: Number.POSITIVE_INFINITY };
      }),
    }),
    createPartitionSweep(database, log, { name: 'webhooks: delivery log', everyMs: settings.cleanMs, partitions }),
    {
      name: 'webhooks: deliveries of earlier versions',
      everyMs: MOVE_EVERY_MS,
      run: createEarlierDeliveriesMover({ database, log }, partitions),
    },
    createRetentionSweep(database, {
      name: 'webhooks: copies of deleted records, removed endpoints',
      everyMs: settings.cleanMs,
      removals: [
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
