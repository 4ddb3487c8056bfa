import { DAY_MS } from '../../helpers/duration.ts';
import type { Database } from './database.ts';
import { isStatementTimeout } from './errors.ts';
import { quoteIdentifier } from './identifiers.ts';
import { quoteLiteral } from './values.ts';
import { writeInBatches } from './write-in-batches.ts';

/** Days for which partitions are created ahead. Rows for which no relay could create a partition go to the default partition. */
const DAYS_AHEAD = 3;
/**
 * ms that a statement waits for a table lock. Everything else that needs the table waits behind it. Postgres cancels an autovacuum that
 * blocks a statement only after `deadlock_timeout` (1 s), so beside an autovacuum each attempt fails until the autovacuum ends. That is
 * acceptable: the default partition is small, partitions are created days ahead, and an old partition may stay longer.
 */
const LOCK_TIMEOUT_MS = 500;
/** Limits of one sweep that deletes single rows, because a relay that stops waits for the sweep in progress. */
const DELETION = { rowsPerBatch: 5000, maxBatches: 100 };
/** Maximum number of rows that are moved while the table is locked. */
const MAX_MOVED = 5000;
/**
 * Maximum size of the default partition for creating partitions: Postgres reads all of it while the table is locked. Deleted rows count in
 * bytes, because their pages are read, too.
 */
export const MAX_DEFAULT = { rows: 20_000, megabytes: 256 };
const LOCK_NOT_AVAILABLE = '55P03';
const INSUFFICIENT_PRIVILEGE = '42501';

/** A table that is partitioned by day: see `partitionByDay`. */
export interface DailyPartitions {
  table: string;
  /** The column of type `timestamptz` that decides the day. */
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

const toTime = (ms: number) => new Date(ms).toISOString();

/** Finds the names of the partitions of a table. Returns with each the time of Postgres in epoch ms. $1 table. */
const FIND_PARTITIONS = `
  select c.relname, (extract(epoch from now()) * 1000)::bigint
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass(quote_ident($1)) order by 1`;
type PartitionRow = [name: string, nowMs: number];

function findPartitions(database: Pick<Database, 'write'>, table: string): Promise<PartitionRow[]> {
  return database.write<PartitionRow>({ text: FIND_PARTITIONS, values: [table] });
}

/** The names and conditions of the partition of one day, as SQL. */
function describeDay(partitions: DailyPartitions, day: string) {
  const { table, column } = partitions;
  const [parent, partition, rest] = [table, partitionName(table, day), defaultPartitionName(table)].map(
    quoteIdentifier,
  ) as [string, string, string];
  const [from, to] = [0, DAY_MS].map((ms) => quoteLiteral(toTime(Date.parse(day) + ms)));
  const isOfDay = `${quoteIdentifier(column)} >= ${from} and ${quoteIdentifier(column)} < ${to}`;
  return { parent, partition, rest, from, to, isOfDay };
}

/** Why a day gets no partition. */
export type Obstacle = 'refused' | 'large default' | 'many rows';

/**
 * Finds out why a day gets no partition:
 *
 * - `refused`: the database role may not create partitions.
 * - `large default`: the default partition is large, and Postgres would read all of it while requests wait.
 * - `many rows`: the default partition has more than 5,000 rows of that day, and requests would wait while they move.
 *
 * Returns one row: null if there is no reason. Waits for no lock that a request would wait behind.
 */
function findObstacleSql(partitions: DailyPartitions, day: string): string {
  const { parent, rest, isOfDay } = describeDay(partitions, day);
  const has = (rows: number, condition: string) =>
    `(select count(*) from (select from ${rest} ${condition} limit ${rows + 1}) r) > ${rows}`;
  return `
  select case
    when not has_schema_privilege(current_schema(), 'CREATE')
      or not pg_has_role((select relowner from pg_class where oid = ${quoteLiteral(parent)}::regclass), 'USAGE') then 'refused'
    when pg_relation_size(${quoteLiteral(rest)}::regclass) > ${MAX_DEFAULT.megabytes * 2 ** 20} or ${has(MAX_DEFAULT.rows, '')} then 'large default'
    when ${has(MAX_MOVED, `where ${isOfDay}`)} then 'many rows'
  end`;
}

/** A DO block, so that several statements and their lock timeout need one round trip. */
const doSql = (body: string, declarations = '') => `do $belfry$ ${declarations} begin
  perform set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true);
  ${body}
end $belfry$`;

/**
 * Creates the partition of one day, and moves the rows of that day from the default partition, if no relay created the partition in time. Use
 * it only if `findObstacleSql` finds no reason against it.
 *
 * The partition of a later day is only attached, so that other inserts continue. Up to tomorrow the whole table is locked, because clocks
 * differ and rows may arrive already: a concurrent insert that has chosen the default partition would fail, and a concurrent statement could
 * miss a row that has just been moved.
 *
 * @param nowMs epoch ms, by the clock of Postgres
 */
function createPartitionSql(partitions: DailyPartitions, day: string, nowMs: number): string {
  const { parent, partition, rest, from, to, isOfDay } = describeDay(partitions, day);
  const mayHaveRows = Date.parse(day) <= nowMs + DAY_MS;
  const body = `
  -- Relays create partitions one at a time. Wait instead of giving up, because the other relay may be creating that of another day.
  perform pg_advisory_xact_lock(hashtext(${quoteLiteral(`partitions ${partitions.table}`)}));
  if to_regclass(${quoteLiteral(partition)}) is not null then return; end if;
  ${mayHaveRows ? `lock table only ${parent} in access exclusive mode;` : ''}
  create table ${partition} (like ${parent} including defaults including constraints including indexes including storage);
  if exists (select from ${rest} where ${isOfDay}) then
    lock table ${rest} in access exclusive mode;
    with moved as (delete from ${rest} where ${isOfDay} returning *) insert into ${partition} select * from moved;
  end if;
  -- Migrations run as the owner of the table, and may change only what that role owns. This role may be just a member of it.
  select pg_get_userbyid(relowner) into owner_name from pg_class where oid = ${quoteLiteral(parent)}::regclass;
  if owner_name <> current_user then
    begin
      execute format('alter table %s owner to %I', ${quoteLiteral(partition)}, owner_name);
    exception when insufficient_privilege then null;
    end;
  end if;
  alter table ${parent} attach partition ${partition} for values from (${from}) to (${to});`;
  return doSql(body, 'declare owner_name name;');
}

/**
 * Deletes old rows of one partition. $1 least value of the column that is kept, $2 maximum number of rows. Returns a row for each deleted row.
 * It names the partition, because `tableoid` does not keep Postgres from reading the others. Uses the index that `addPartitioning` adds to
 * default partitions.
 */
function deleteOldRowsSql(partition: string, column: string): string {
  const [from, isOld] = [`only ${quoteIdentifier(partition)}`, `${quoteIdentifier(column)} < $1`];
  return `
  delete from ${from} where ${isOld} and ctid = any(array(select ctid from ${from} where ${isOld} limit $2)) returning 1`;
}

/**
 * Like `deleteOldRowsSql`, through the partitioned table, for a database role that has privileges only on that. $1 must be the start of a day,
 * so that Postgres skips the partitions of that day and of later ones.
 */
function deleteThroughParentSql(table: string, partition: string, column: string): string {
  const isOld = `tableoid = ${quoteLiteral(quoteIdentifier(partition))}::regclass and ${quoteIdentifier(column)} < $1`;
  return `
  delete from ${quoteIdentifier(table)} where ${isOld} and ctid = any(array(
    select ctid from ${quoteIdentifier(table)} where ${isOld} limit $2))
  returning 1`;
}

/** Whether a statement failed because the database role lacks a privilege. */
export function isInsufficientPrivilege(error: unknown): boolean {
  return (error as { code?: string }).code === INSUFFICIENT_PRIVILEGE;
}

/** Whether a statement failed because it waited too long for a lock, or ran too long. */
export function isLockTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === LOCK_NOT_AVAILABLE || isStatementTimeout(error);
}

/**
 * Creates the partitions of the days from `firstMs` to a few days ahead. Partitions that exist are left alone.
 *
 * @param firstMs epoch ms; default: now, by the clock of Postgres
 * @param onObstacle called for a day that gets no partition
 * @returns the number of created partitions, including those that other relays created meanwhile
 */
export async function createPartitions(
  database: Pick<Database, 'write' | 'transaction'>,
  partitions: DailyPartitions,
  firstMs: number = Number.POSITIVE_INFINITY,
  onObstacle: (obstacle: Exclude<Obstacle, 'refused'>, day: string) => void = () => undefined,
): Promise<number> {
  const found = await findPartitions(database, partitions.table);
  // `sync` leaves a table that exists already without partitions.
  if (found.length === 0) return 0;
  const existing = new Set(found.map(([name]) => name));
  const nowMs = found[0]![1];
  const last = nowMs + DAYS_AHEAD * DAY_MS;
  for (let at = Math.min(firstMs, nowMs); at <= last; at += DAY_MS) {
    const day = toDay(at);
    const name = partitionName(partitions.table, day);
    if (existing.has(name)) continue;
    const [row] = await database.write<[Obstacle | null]>({ text: findObstacleSql(partitions, day), values: [] });
    const obstacle = row?.[0] ?? null;
    if (obstacle === 'refused')
      throw Object.assign(new Error('The database role may not create partitions'), { code: INSUFFICIENT_PRIVILEGE });
    if (obstacle !== null) onObstacle(obstacle, day);
    if (obstacle === 'large default') break;
    if (obstacle !== null) continue;
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
  const firstKept = partitionName(table, toDay((found[0]?.[1] ?? 0) - keepMs));
  return found.map(([name]) => name).filter((name) => name !== defaultPartitionName(table) && name < firstKept);
}

/** Drops the partitions whose rows are all older than `keepMs`. Returns the number of dropped partitions. */
export async function dropOldPartitions(
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

/** Deletes old rows of one partition, in batches. Returns the number of deleted rows. @param nowMs epoch ms, by the clock of Postgres */
async function deleteOldRowsOf(
  database: Pick<Database, 'write'>,
  partitions: DailyPartitions,
  partition: string,
  nowMs: number,
): Promise<number> {
  const { table, column, keepMs } = partitions;
  const firstKeptMs = nowMs - keepMs;
  try {
    const values = [toTime(firstKeptMs)];
    return await writeInBatches(database, deleteOldRowsSql(partition, column), values, DELETION);
  } catch (error) {
    if (!isInsufficientPrivilege(error) || partition === table) throw error;
    const values = [toTime(Date.parse(toDay(firstKeptMs)))];
    return writeInBatches(database, deleteThroughParentSql(table, partition, column), values, DELETION);
  }
}

/**
 * Deletes old rows, in batches, from the default partition, or from a table that is not partitioned. Returns the number of deleted rows.
 *
 * @param isRefused whether the database role may not drop partitions, so that the rows of old ones are deleted, too
 */
export async function deleteOldRows(
  database: Pick<Database, 'write'>,
  partitions: DailyPartitions,
  isRefused: boolean,
): Promise<number> {
  const { table } = partitions;
  const found = await findPartitions(database, table);
  const undroppable = isRefused ? await findOldPartitions(database, partitions) : [];
  const tables = found.length === 0 ? [table] : [defaultPartitionName(table), ...undroppable];
  const nowMs = found[0]?.[1] ?? Date.now();
  let total = 0;
  for (const one of tables) total += await deleteOldRowsOf(database, partitions, one, nowMs);
  return total;
}
