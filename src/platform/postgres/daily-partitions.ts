import type { Logger } from '../observability/log.ts';
import type { Sweep } from '../outbox/relay.ts';
import type { Database } from './database.ts';
import { quoteIdentifier } from './identifiers.ts';
import { quoteLiteral } from './values.ts';
import { writeInBatches } from './write-in-batches.ts';

const DAY_MS = 86_400_000;
/** Days for which partitions are created ahead. Rows for which no relay could create a partition go to the default partition. */
const DAYS_AHEAD = 3;
/** ms that a statement waits for a table lock. Everything else that needs the table waits behind it. */
const LOCK_TIMEOUT_MS = 500;
const ROWS_PER_BATCH = 1000;
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

/** A table that is partitioned by day: see `partitionByDay`. */
export interface DailyPartitions {
  table: string;
  /** The column that decides the day. */
  column: string;
  /** ms that rows are kept. The partition of a day is dropped when its last moment is older. */
  keepMs: number;
}

/** Returns the name of the partition for rows of days that have no partition of their own. */
export function defaultPartitionName(table: string): string {
  return `${table}_default`;
}

const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const partitionName = (table: string, day: string) => `${table}_${day.replaceAll('-', '')}`;
const startOf = (day: string) => quoteLiteral(`${day} 00:00:00+00`);

/** Finds the partitions of a table. $1 table. */
const FIND_PARTITIONS = `
  select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass(quote_ident($1)) order by 1`;

/** A DO block, so that several statements and their lock timeout need one round trip. */
const doSql = (body: string) => `do $belfry$ begin
  perform set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true);
  ${body}
end $belfry$`;

/**
 * Creates the partition of one day, and moves the rows of that day out of the default partition. The partition of a future day is only
 * attached, so that inserts into other partitions continue. Until tomorrow there may be rows already, because clocks differ: then the whole
 * table is locked. Otherwise a statement that has chosen the default partition, and waits for it, would fail to insert its row there, or
 * would not find a row that has just been moved.
 */
function createPartitionSql({ table, column }: DailyPartitions, day: string): string {
  const [parent, partition, rest] = [table, partitionName(table, day), defaultPartitionName(table)].map(
    quoteIdentifier,
  );
  const [from, to] = [startOf(day), startOf(toDay(Date.parse(day) + DAY_MS))];
  const mayHaveRows = Date.parse(day) <= Date.now() + DAY_MS;
  const isOfDay = `${quoteIdentifier(column)} >= ${from} and ${quoteIdentifier(column)} < ${to}`;
  return doSql(`
  -- Two relays may create the same partition.
  if not pg_try_advisory_xact_lock(hashtext(${quoteLiteral(`partitions ${table}`)})) or to_regclass(${quoteLiteral(partition!)}) is not null then
    return;
  end if;
  ${mayHaveRows ? `lock table only ${parent} in access exclusive mode;` : ''}
  create table ${partition} (like ${parent} including defaults including constraints including indexes including storage);
  if exists (select from ${rest} where ${isOfDay}) then
    lock table ${rest} in access exclusive mode;
    with moved as (delete from ${rest} where ${isOfDay} returning *) insert into ${partition} select * from moved;
  end if;
  alter table ${parent} attach partition ${partition} for values from (${from}) to (${to});`);
}

/** Deletes old rows of one partition. $1 ms that rows are kept, $2 maximum number of rows. Returns a row for each deleted row. */
const deleteOldRowsSql = (partition: string, column: string) => `
  delete from ${quoteIdentifier(partition)} where ctid = any(array(
    select ctid from ${quoteIdentifier(partition)}
    where ${quoteIdentifier(column)} < now() - $1 * interval '1 millisecond' limit $2))
  returning 1`;

/** Whether the database role may not change the table. */
export function isInsufficientPrivilege(error: unknown): boolean {
  return (error as { code?: string }).code === INSUFFICIENT_PRIVILEGE;
}

/** Whether another session held a lock on the table for too long. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_NOT_AVAILABLE;
}

/**
 * Creates the partitions of the days from `firstMs` to a few days ahead. Partitions that exist are left alone.
 *
 * @param firstMs epoch ms; default: now
 * @returns the number of partitions that were missing
 */
export async function createPartitions(
  database: Pick<Database, 'write' | 'transaction'>,
  partitions: DailyPartitions,
  firstMs: number = Date.now(),
): Promise<number> {
  const statement = { text: FIND_PARTITIONS, values: [partitions.table] };
  const existing = new Set((await database.write<[string]>(statement)).flat());
  const last = Date.now() + DAYS_AHEAD * DAY_MS;
  let created = 0;
  for (let at = firstMs; at <= last; at += DAY_MS) {
    const day = toDay(at);
    if (existing.has(partitionName(partitions.table, day))) continue;
    created += 1;
    // `database.write` would retry a statement that gets no lock; a transaction fails at once.
    await database.transaction((tx) => tx.write({ text: createPartitionSql(partitions, day), values: [] }));
  }
  return created;
}

/** Finds the partitions whose rows are all older than `keepMs`. */
async function findOldPartitions(
  database: Pick<Database, 'write'>,
  { table, keepMs }: DailyPartitions,
): Promise<string[]> {
  const firstKept = partitionName(table, toDay(Date.now() - keepMs));
  const names = (await database.write<[string]>({ text: FIND_PARTITIONS, values: [table] })).flat();
  return names.filter((name) => name !== defaultPartitionName(table) && name < firstKept);
}

/** Drops the partitions whose rows are all older than `keepMs`. Returns the number of dropped partitions. */
async function dropOldPartitions(
  database: Pick<Database, 'write' | 'transaction'>,
  partitions: DailyPartitions,
): Promise<number> {
  const old = await findOldPartitions(database, partitions);
  for (const name of old) {
    const text = doSql(`drop table if exists ${quoteIdentifier(name)};`);
    await database.transaction((tx) => tx.write({ text, values: [] }));
  }
  return old.length;
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
  let isRefused = false;

  /** Runs work that needs a table lock and the right to change the table. Without them rows are stored and deleted all the same. */
  async function runIfAllowed(work: () => Promise<number>): Promise<number> {
    try {
      return await work();
    } catch (error) {
      if (isInsufficientPrivilege(error) && !isRefused) {
        isRefused = true;
        const text =
          'The database role cannot create or drop partitions, so old rows are deleted one by one. Make it the owner of the table, and grant it CREATE on the schema.';
        log.warn({ err: error, table: partitions.table }, text);
      }
      if (isInsufficientPrivilege(error) || isLockTimeout(error)) return 0;
      throw error;
    }
  }

  return {
    name,
    everyMs,
    async run() {
      const created = await runIfAllowed(() => createPartitions(database, partitions));
      const dropped = await runIfAllowed(() => dropOldPartitions(database, partitions));
      const undroppable = isRefused ? await findOldPartitions(database, partitions) : [];
      let deleted = 0;
      for (const partition of [defaultPartitionName(partitions.table), ...undroppable]) {
        const text = deleteOldRowsSql(partition, partitions.column);
        deleted += await writeInBatches(database, text, [partitions.keepMs], { rowsPerBatch: ROWS_PER_BATCH });
      }
      return created + dropped + deleted;
    },
  };
}
