import type { Host, ResourceGateway } from '../../../declare/host.ts';
import { createRetentionSweep } from '../../../platform/leased-work/sweeps.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import {
  createPartitionSweep,
  createPartitions,
  isLockMissing,
  isPrivilegeMissing,
} from '../../../platform/postgres/daily-partitions.ts';
import { writeInBatches } from '../../../platform/postgres/write-in-batches.ts';
import { FORGET_OLD_SECRETS, REMOVAL_ASSIGNMENTS, type UsersSql, usersSql } from '../endpoints/endpoints-sql.ts';
import { insertIntoLogSql, LOG_COLUMNS } from '../log/deliveries-sql.ts';
import { DELETE_OLD_COPIES } from '../readability/deleted-records.ts';
import type { WebhookSettings } from '../settings.ts';
import type { PendingEndpoints } from './reclaim.ts';

/**
 * Moves finished deliveries to the log that earlier versions of Belfry left among the waiting ones, failed ones first, because a recovery
 * resends only deliveries of the log. $1 maximum number of rows. Uses webhook_deliveries_failed_index and _finished_index. Returns a row for
 * each delivery.
 */
const MOVE_FINISHED = `
  with finished as (
    delete from webhook_deliveries where id = any(array(
      select id from (
        select id from webhook_deliveries where status = 'failed' limit $1 for update skip locked) failed
      union all
      select id from (
        select id from webhook_deliveries where finished_at is not null and status <> 'failed' order by finished_at limit $1
        for update skip locked) succeeded
      limit $1))
    returning ${LOG_COLUMNS.join(', ')}
  )
  ${insertIntoLogSql(`select ${LOG_COLUMNS.map((name) => (name === 'finished_at' ? 'coalesce(finished_at, created_at)' : name)).join(', ')} from finished`)}
  returning 1`;

/** The time of the first delivery that `MOVE_FINISHED` would move. Uses webhook_deliveries_finished_index. */
const FIRST_FINISHED = `
  select min(finished_at) from webhook_deliveries where finished_at is not null`;

/** Deletes deliveries of endpoint $1 that are overdue by $2 ms. $3 maximum number of rows. Uses webhook_deliveries_due_index. */
const DELETE_OVERDUE = `
  delete from webhook_deliveries where id in (
    select id from webhook_deliveries
    where endpoint_id = $1 and status = 'pending' and next_attempt_at < now() - $2 * interval '1 millisecond'
    limit $3 for update skip locked)
  returning 1`;

/**
 * Deletes the deliveries of removed endpoints. $1 maximum number of deliveries. Uses webhook_endpoints_removed_index and the indexes by
 * endpoint and event. Returns a row for each deleted delivery.
 */
const deleteOfRemovedSql = (table: string) => `
  delete from ${table} where id = any(array(
    select d.id from webhook_endpoints e cross join lateral (
      select id from ${table} where endpoint_id = e.id limit $1 for update skip locked) d
    where e.removed_at is not null limit $1))
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
        and not exists (select from webhook_delivery_log d where d.endpoint_id = e.id)
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

/** ms between two looks for deliveries of earlier versions. */
const MOVE_EVERY_MS = 5000;
const MOVES_PER_SWEEP = 100;

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

  /** Moves the finished deliveries of earlier versions, which also processes of an old deployment may still write. */
  async function moveFinishedDeliveries(): Promise<number> {
    const [row] = await database.write<[string | null]>({ text: FIRST_FINISHED, values: [] });
    const first = row?.[0] ?? null;
    if (first === null) return 0;
    try {
      await createPartitions(database, partitions, Math.max(Date.parse(first), Date.now() - keepMs));
    } catch (error) {
      if (isLockMissing(error)) return 0;
      // A role that may not create partitions moves the deliveries to the default partition.
      if (!isPrivilegeMissing(error)) throw error;
    }
    return writeInBatches(database, MOVE_FINISHED, [], { maxBatches: MOVES_PER_SWEEP });
  }

  return [
    createRetentionSweep(database, {
      name: 'webhooks: logs of removed endpoints',
      everyMs: Math.min(settings.cleanMs, MAX_LOG_SWEEP_MS),
      removals: ['webhook_deliveries', 'webhook_delivery_log'].map((table) => {
        return { text: deleteOfRemovedSql(table), maxBatches: Number.POSITIVE_INFINITY };
      }),
    }),
    createPartitionSweep(database, log, { name: 'webhooks: delivery log', everyMs: settings.cleanMs, partitions }),
    { name: 'webhooks: earlier deliveries', everyMs: MOVE_EVERY_MS, run: moveFinishedDeliveries },
    createRetentionSweep(database, {
      name: 'webhooks: old records and endpoints',
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
