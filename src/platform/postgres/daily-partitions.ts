import { leastIdAt } from '../ids.ts';
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
/** Limits of one sweep that deletes single rows, because a relay that stops waits for the sweep in progress. */
const DELETION = { rowsPerBatch: 5000, maxBatches: 100 };
/** Maximum number of rows that are moved while the table is locked. */
const MAX_MOVED = 5000;
const CANCELED = '57014';
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

/** A table that is partitioned by day: see `partitionByDay`. */
export interface DailyPartitions {
  table: string;
  /** The column that decides the day. */
  column: string;
  /** `time`: a `timestamptz` column (default). `id`: a text column with ids, which begin with the Unix second of their creation. */
  key?: 'time' | 'id';
  /** ms that rows are kept. The partition of a day is dropped when its last moment is older. */
  keepMs: number;
}

/** Returns the name of the partition for rows of days that have no partition of their own. */
export function defaultPartitionName(table: string): string {
  return `${table}_default`;
}

const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const partitionName = (table: string, day: string) => `${table}_${day.replaceAll('-', '')}`;

/** Returns the least value of the column that decides the day, for rows of a time or later. @param ms epoch ms */
function leastValueAt({ key = 'time' }: Pick<DailyPartitions, 'key'>, ms: number): string {
  return key === 'id' ? leastIdAt(ms) : new Date(ms).toISOString();
}

/**
 * Finds the partitions of a table: name, whether it holds all days up to that of its name (the table as it was before it was partitioned), and
 * the time of Postgres in epoch ms. $1 table.
 */
const FIND_PARTITIONS = `
  select c.relname, pg_get_expr(c.relpartbound, c.oid) like 'FOR VALUES FROM (MINVALUE)%',
    (extract(epoch from now()) * 1000)::bigint
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass(quote_ident($1)) order by 1`;
type PartitionRow = [name: string, holdsManyDays: boolean, nowMs: number];

function findPartitions(database: Pick<Database, 'write'>, table: string): Promise<PartitionRow[]> {
  return database.write<PartitionRow>({ text: FIND_PARTITIONS, values: [table] });
}

/** A DO block, so that several statements and their lock timeout need one round trip. */
const doSql = (body: string) => `do $belfry$ begin
  perform set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true);
  ${body}
end $belfry$`;

/**
 * Creates the partition of one day. If the default partition has rows of that day, because no relay created the partition in time, and the key
 * is `time`, up to 5,000 rows are moved. With more rows, or with the key `id`, the day gets no partition, because requests would wait for the
 * move.
 *
 * The partition of a later day is only attached, so that other inserts continue. Up to tomorrow the whole table is locked, because clocks
 * differ and rows may arrive already: a concurrent insert that has chosen the default partition would fail, and a concurrent statement could
 * miss a row that has just been moved.
 *
 * @param nowMs epoch ms, by the clock of Postgres
 */
function createPartitionSql(partitions: DailyPartitions, day: string, nowMs: number): string {
  const { table, column, key } = partitions;
  const [parent, partition, rest] = [table, partitionName(table, day), defaultPartitionName(table)].map(
    quoteIdentifier,
  );
  const [from, to] = [0, DAY_MS].map((ms) => quoteLiteral(leastValueAt(partitions, Date.parse(day) + ms)));
  const mayHaveRows = Date.parse(day) <= nowMs + DAY_MS;
  const maxMoved = key === 'id' ? 0 : MAX_MOVED;
  const isOfDay = `${quoteIdentifier(column)} >= ${from} and ${quoteIdentifier(column)} < ${to}`;
  return doSql(`
  -- Relays create partitions one at a time. Wait instead of giving up, because the other relay may be creating that of another day.
  perform pg_advisory_xact_lock(hashtext(${quoteLiteral(`partitions ${table}`)}));
  if to_regclass(${quoteLiteral(partition!)}) is not null then return; end if;
  if not has_schema_privilege(current_schema(), 'CREATE')
    or not pg_has_role((select relowner from pg_class where oid = ${quoteLiteral(parent!)}::regclass), 'USAGE') then
    raise exception 'may not create partitions' using errcode = '${INSUFFICIENT_PRIVILEGE}';
  end if;
  if (select count(*) from (select from ${rest} where ${isOfDay} limit ${maxMoved + 1}) r) > ${maxMoved} then return; end if;
  ${mayHaveRows ? `lock table only ${parent} in access exclusive mode;` : ''}
  create table ${partition} (like ${parent} including defaults including constraints including indexes including storage);
  if exists (select from ${rest} where ${isOfDay}) then
    lock table ${rest} in access exclusive mode;
    with moved as (delete from ${rest} where ${isOfDay} returning *) insert into ${partition} select * from moved;
  end if;
  alter table ${parent} attach partition ${partition} for values from (${from}) to (${to});`);
}

/**
 * Deletes old rows of one partition, through the partitioned table, on which the database role has privileges. $1 least value of the column
 * that is kept, $2 maximum number of rows. Returns a row for each deleted row.
 */
function deleteOldRowsSql(table: string, partition: string, column: string): string {
  const isInPartition = `tableoid = ${quoteLiteral(quoteIdentifier(partition))}::regclass and ${quoteIdentifier(column)} < $1`;
  return `
  delete from ${quoteIdentifier(table)} where ${isInPartition} and ctid = any(array(
    select ctid from ${quoteIdentifier(table)} where ${isInPartition} limit $2))
  returning 1`;
}

/** Whether a statement failed because the database role lacks a privilege. */
export function isInsufficientPrivilege(error: unknown): boolean {
  return (error as { code?: string }).code === INSUFFICIENT_PRIVILEGE;
}

/** Whether a statement failed because it waited too long for a lock, or ran too long. */
export function isLockTimeout(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === LOCK_NOT_AVAILABLE || code === CANCELED;
}

/**
 * Creates the partitions of the days from `firstMs` to a few days ahead. Partitions that exist are left alone.
 *
 * @param firstMs epoch ms; default: now, by the clock of Postgres
 * @returns the number of created partitions, including those that other relays created meanwhile
 */
export async function createPartitions(
  database: Pick<Database, 'write' | 'transaction'>,
  partitions: DailyPartitions,
  firstMs: number = Number.POSITIVE_INFINITY,
): Promise<number> {
  const found = await findPartitions(database, partitions.table);
  // `sync` leaves a table that exists already without partitions.
  if (found.length === 0) return 0;
  const existing = new Set(found.map(([name]) => name));
  const earlierPartition = found.find(([, holdsManyDays]) => holdsManyDays)?.[0] ?? '';
  const nowMs = found[0]![2];
  const last = nowMs + DAYS_AHEAD * DAY_MS;
  for (let at = Math.min(firstMs, nowMs); at <= last; at += DAY_MS) {
    const day = toDay(at);
    const name = partitionName(partitions.table, day);
    if (existing.has(name) || name <= earlierPartition) continue;
    // `database.write` would retry a statement that gets no lock; a transaction fails at once.
    await database.transaction((tx) => tx.write({ text: createPartitionSql(partitions, day, nowMs), values: [] }));
  }
  return (await findPartitions(database, partitions.table)).length - found.length;
}

/** Finds the partitions whose rows are all older than `keepMs`. */
async function findOldPartitions(
  database: Pick<Database, 'write'>,
  { table, keepMs }: DailyPartitions,
): Promise<string[]> {
  const found = await findPartitions(database, table);
  // The clock of Postgres decides: that of this process could be wrong by days, and dropped rows do not come back.
  const firstKept = partitionName(table, toDay((found[0]?.[2] ?? 0) - keepMs));
  return found.map(([name]) => name).filter((name) => name !== defaultPartitionName(table) && name < firstKept);
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
 * Deletes old rows, in batches, from partitions that hold several days: the default partition, and the table as it was before it was
 * partitioned. Returns the number of deleted rows.
 *
 * @param isRefused whether the database role may not drop partitions, so that the rows of old ones are deleted, too
 */
async function deleteOldRows(
  database: Pick<Database, 'write'>,
  partitions: DailyPartitions,
  isRefused: boolean,
): Promise<number> {
  const { table, column, keepMs } = partitions;
  const found = await findPartitions(database, table);
  const ofManyDays = found.filter(([name, holdsManyDays]) => holdsManyDays || name === defaultPartitionName(table));
  const undroppable = isRefused ? await findOldPartitions(database, partitions) : [];
  const tables = found.length === 0 ? [table] : new Set([...ofManyDays.map(([name]) => name), ...undroppable]);
  const values = [leastValueAt(partitions, (found[0]?.[2] ?? Date.now()) - keepMs)];
  let total = 0;
  for (const one of tables)
    total += await writeInBatches(database, deleteOldRowsSql(table, one, column), values, DELETION);
  return total;
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
          'The database role cannot create or drop partitions, so old rows are deleted in batches instead. Make it the owner of the table, and grant it CREATE on the schema.';
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
      return created + dropped + (await deleteOldRows(database, partitions, isRefused));
    },
  };
}
