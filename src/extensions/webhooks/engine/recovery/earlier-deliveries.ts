import {
  createPartitions,
  type DailyPartitions,
  deleteUnlockedSql,
  findsRowSql,
  type Host,
  isInsufficientPrivilege,
  isLockTimeout,
  type Sweep,
  writeInBatches,
} from '../../../../extension/index.ts';
import { insertIntoLogSql, LOG_COLUMNS } from '../../deliveries/deliveries-sql.ts';

/**
 * Moves finished deliveries that earlier versions of Belfry left in `webhook_deliveries` to the log. $1 maximum number of rows. Returns a row
 * for each delivery.
 */
const moveEarlierDeliveriesSql = (condition: string) => `
  with finished as (${deleteUnlockedSql('webhook_deliveries', `finished_at is not null and ${condition} limit $1`, LOG_COLUMNS.join(', '))}
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

const HAS_FINISHED = findsRowSql(
  'select from webhook_deliveries where finished_at is not null order by finished_at limit 1',
);

/** ms between two searches for deliveries of earlier versions. */
const MOVE_EVERY_MS = 5000;
/** ms until partitions are created again after other sessions held the table. */
const LOCK_RETRY_MS = 60_000;
/** More batches than in other sweeps, because there may be many million deliveries. A batch takes some ten milliseconds. */
const MAX_MOVE_BATCHES = 100;

/** Creates the sweep that moves finished deliveries of earlier versions to the log. */
export function createEarlierDeliveriesSweep(
  { database, log }: Pick<Host, 'database' | 'log'>,
  partitions: DailyPartitions,
): Sweep {
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

  return {
    name: 'webhooks: deliveries of earlier versions',
    everyMs: MOVE_EVERY_MS,
    condition: HAS_FINISHED,
    run: moveEarlierDeliveries,
  };
}
