import {
  createPartitions,
  type DailyPartitions,
  defaultPartitionName,
  deleteOldRows,
  dropOldPartitions,
  isInsufficientPrivilege,
  isLockTimeout,
  MAX_DEFAULT,
  type Obstacle,
} from '../../data/postgres/daily-partitions.ts';
import type { Database } from '../../data/postgres/database.ts';
import { isStatementTimeout } from '../../data/postgres/errors.ts';
import { DAY_MS } from '../../helpers/duration.ts';
import type { Logger } from '../../observability/log.ts';
import type { Sweep } from '../outbox/relay.ts';

/** Days kept up to which a few statements at a time can lock all partitions with the default settings of Postgres. */
const MANY_DAYS = 90;
/** Maximum number of locks that a statement needs for one partition: its own, those of its indexes, and those of its long values. */
const LOCKS_PER_PARTITION = 10;

const READ_MAX_LOCKS = `select current_setting('max_locks_per_transaction')::int`;

/**
 * Logs a warning if rows are kept for so many days that statements may run out of locks: some lock all partitions, and their indexes. With
 * 10 × days locks for each connection, as many as that can run at once.
 */
async function warnIfFewLocks(
  database: Pick<Database, 'write'>,
  log: Logger,
  { table, keepMs }: DailyPartitions,
): Promise<void> {
  const days = Math.ceil(keepMs / DAY_MS);
  if (days <= MANY_DAYS) return;
  const [row] = await database.write<[number]>({ text: READ_MAX_LOCKS, values: [] });
  const current = row![0];
  const needed = LOCKS_PER_PARTITION * days;
  if (current >= needed) return;
  const text =
    `Statements lock each daily partition of ${table}, about ${days}, and its indexes. Raise max_locks_per_transaction of Postgres from ` +
    `${current} to at least ${needed} (${LOCKS_PER_PARTITION} × days), or keep rows for fewer days.`;
  log.warn({ table, days }, text);
}

/**
 * Creates the sweep of a table that is partitioned by day. It creates partitions ahead and drops old ones. If a long-running statement
 * holds the table, it gives up after half a second and tries again with the next sweep.
 */
export function createPartitionSweep(
  database: Pick<Database, 'write' | 'transaction'>,
  log: Logger,
  { name, everyMs, partitions }: { name: string; everyMs: number; partitions: DailyPartitions },
): Sweep {
  const { table } = partitions;
  const rest = defaultPartitionName(table);
  let isRefused = false;
  let isFirstRun = true;
  const logged = new Set<Obstacle>();

  /** Logs, once for each reason, why a day gets no partition. */
  function logObstacle(obstacle: Exclude<Obstacle, 'refused'>, day: string): void {
    if (logged.has(obstacle)) return;
    logged.add(obstacle);
    const { rows, megabytes } = MAX_DEFAULT;
    if (obstacle === 'large default') {
      const text =
        `No partitions are created while ${rest} has more than ${rows} rows or ${megabytes} MB, because Postgres would read all of it while ` +
        'requests wait. Rows are stored there, and old ones are deleted in batches. If it does not become smaller, empty it: TRUNCATE forgets ' +
        'its rows.';
      log.warn({ table }, text);
    } else {
      // Normal on the first day, if rows are stored before the first sweep.
      const text =
        `${day} gets no partition, because requests would wait while the rows of this day move from ${rest}. They are deleted from it in ` +
        'batches when they are old.';
      log.info({ table, day }, text);
    }
  }

  /** Runs work that needs a table lock and the right to change the table. Without them rows are stored and deleted all the same. */
  async function runIfAllowed(task: string, work: () => Promise<number>): Promise<number> {
    try {
      return await work();
    } catch (error) {
      if (isInsufficientPrivilege(error)) {
        const text =
          'The database role cannot create or drop partitions, so old rows are deleted in batches instead. Make it the owner of the table, and grant it CREATE on the schema.';
        if (!isRefused) log.warn({ err: error, table }, text);
        isRefused = true;
      } else if (isLockTimeout(error)) {
        const cause = isStatementTimeout(error) ? 'Postgres took too long' : 'another session holds the table';
        log.info({ table }, `Could not ${task} of ${table}, because ${cause}; tried again with the next sweep`);
      } else throw error;
      return 0;
    }
  }

  return {
    name,
    everyMs,
    async run() {
      if (isFirstRun) await warnIfFewLocks(database, log, partitions);
      isFirstRun = false;
      const create = () => createPartitions(database, partitions, undefined, logObstacle);
      const created = await runIfAllowed('create partitions', create);
      const dropped = await runIfAllowed('drop old partitions', () => dropOldPartitions(database, partitions));
      return created + dropped + (await deleteOldRows(database, partitions, isRefused));
    },
  };
}
