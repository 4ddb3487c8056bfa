import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { quoteLiteral } from '../../platform/data/postgres/values.ts';
import type { Sweep } from '../../platform/work/outbox/relay.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { rangeSequenceName } from '../schema/table-names.ts';
import { MIN_RANGED_ROWS } from './range-use.ts';
import { canHaveRanges, isStoringSql, RANGE_TRIGGERS } from './triggers.ts';

const EVERY_MS = 15_000;
/** The sizes that decide what is counted when. */
const SIZES = {
  /** A table gets ranges from this number of rows on. */
  tableRows: MIN_RANGED_ROWS,
  /** Rows of a new range. A larger one makes deep pages slower, and more ranges make totals slower. */
  rangeRows: 10_000,
  /** Rows that one statement counts. */
  rowsPerStep: 200_000,
  /** Ranges cover newer rows once they are this many: until then, lists count them one by one. */
  newRows: 5000,
  /** Rows are new for this long: changes of new rows need not be stored. */
  newSeconds: 30,
};

/** Steps of one sweep for one table. */
const MAX_STEPS = 100;

/** A position in the order of ranges. */
type RangePosition = [at: string, id: string];

const START: RangePosition = ['-infinity', ''];

/**
 * The tables that have ranges or should get some: with their OID, that of the table with the ranges, whether its changes were stored and this
 * role may set the sequence, and whether someone has disabled a trigger.
 */
const FIND_TABLES = `
  select c.relname::text, c.oid::bigint, s.table_oid,
    coalesce(${isStoringSql('c.oid', 'declared.sequence', `greatest(s.until, to_timestamp(1))`)}
      and has_sequence_privilege(to_regclass(quote_ident(declared.sequence))::oid, 'update'), false),
    exists (select from pg_trigger where tgrelid = c.oid and tgname = any($2) and tgenabled = 'D')
  from unnest($1::text[], $4::text[]) as declared(name, sequence)
  join pg_class c on c.oid = to_regclass(quote_ident(declared.name))
  left join ranged_tables s on s.table_name = declared.name
  where s.table_name is not null or c.reltuples >= $3`;

type FoundTable = [table: string, oid: number, rangedOid: number | null, isStoring: boolean, isDisabled: boolean];

/** Postgres's codes for a lock that others keep for too long, and for a role that does not own the table. */
const CANNOT_CREATE_TRIGGERS = new Set(['55P03', '42501']);

const REMOVE_OF_DROPPED_TABLES = 'delete from ranged_tables where to_regclass(quote_ident(table_name)) is null';
/** The triggers of a table that was truncated go on storing changes, which no ranges need. */
const REMOVE_UNUSED = `
  with ranges as (delete from record_ranges r where not exists (select from ranged_tables t where t.table_name = r.table_name))
  delete from record_range_changes c where not exists (select from ranged_tables t where t.table_name = c.table_name)`;

const REMOVE = 'delete from ranged_tables where table_name = $1 and table_oid = $2';
const ADD = `
  insert into ranged_tables (table_name, table_oid, until) values ($1, $2, '-infinity') on conflict do nothing returning 1`;
/** Ranges and changes that an earlier state of the table has left. */
const REMOVE_LEFTOVERS = `
  with ranges as (delete from record_ranges where table_name = $1)
  delete from record_range_changes where table_name = $1`;

// `settled`: no transaction that may have changed a row up to `next` without storing it is still running.
const LOCK = `
  select until::text, (until + interval '1 microsecond')::text, next::text, (next + interval '1 microsecond')::text,
    coalesce(next_xid::xid8 <= pg_snapshot_xmin(pg_current_snapshot()), false)
  from ranged_tables where table_name = $1 and table_oid = $2 for update skip locked`;

/**
 * Adds the stored changes to the numbers of their ranges. The statement adds exactly the changes that it removes; other transactions see both
 * or neither.
 */
const ADD_CHANGES = `
  with gone as (delete from record_range_changes where table_name = $1 and at <= $2 returning at, id, change),
  sums as (
    select range.from_at, range.from_id, sum(gone.change) as change
    from gone cross join lateral (
      select from_at, from_id from record_ranges where table_name = $1 and (from_at, from_id) <= (gone.at, gone.id)
      order by from_at desc, from_id desc limit 1) range
    group by 1, 2)
  update record_ranges set rows = rows + sums.change from sums
  where table_name = $1 and record_ranges.from_at = sums.from_at and record_ranges.from_id = sums.from_id`;

/** The first range that should be divided, or the first two that should be joined: from the position, to the position. */
const findUnevenSql = ({ rangeRows }: typeof SIZES) => `
  select from_at::text, from_id, coalesce(end_at, $2::timestamptz + interval '1 microsecond')::text, coalesce(end_id, '')
  from (
    select from_at, from_id,
      case when rows > ${2 * rangeRows} then lead(from_at) over later else lead(from_at, 2) over later end as end_at,
      case when rows > ${2 * rangeRows} then lead(from_id) over later else lead(from_id, 2) over later end as end_id,
      rows > ${2 * rangeRows} or rows + lead(rows) over later <= ${rangeRows / 2} as is_uneven
    from record_ranges where table_name = $1 window later as (order by from_at, from_id)) ranges
  where is_uneven order by from_at, from_id limit 1`;

/** Counts the rows between two positions again, and replaces their ranges. The rows and the changes that count for them are those of one snapshot. */
function recountSql(table: string, { rangeRows }: typeof SIZES): string {
  return `
  with changes as (
    delete from record_range_changes where table_name = $1 and (at, id) >= ($2::timestamptz, $3) and (at, id) < ($4::timestamptz, $5)),
  old as (
    delete from record_ranges
    where table_name = $1 and (from_at, from_id) >= ($2::timestamptz, $3) and (from_at, from_id) < ($4::timestamptz, $5) returning 1),
  placed as materialized (
    select created_at, id, row_number() over (order by created_at, id) - 1 as place, count(*) over () as total
    from ${quoteIdentifier(table)}
    where created_at >= $2 and created_at <= $4 and (created_at, id) >= ($2::timestamptz, $3) and (created_at, id) < ($4::timestamptz, $5)),
  counted as (
    select case place when 0 then $2 else created_at end as at, case place when 0 then $3 else id end as id,
      least(${rangeRows}, total - place) as rows
    from placed where place % ${rangeRows} = 0
    union all select $2, $3, 0 where not exists (select from placed))
  insert into record_ranges (table_name, from_at, from_id, rows)
  select $1, at, id, rows from counted where (select count(*) from old) >= 0`;
}

// From the next step on, the triggers store changes of rows up to the new `next`.
function findNextSql(table: string, { newSeconds, rowsPerStep, newRows }: typeof SIZES): string {
  const rows = `from ${quoteIdentifier(table)} where created_at > $1::timestamptz and created_at <= 'infinity'`;
  const newest = `date_trunc('second', now() - interval '${newSeconds} seconds')`;
  return `
  select next::text from (select greatest(to_timestamp(1), least(
    (select date_trunc('second', created_at) + interval '1 second' ${rows} order by created_at, id offset ${rowsPerStep} limit 1),
    ${newest})) as next) found
  where next > $1::timestamptz
    and exists (select ${rows} and created_at <= ${newest} order by created_at, id offset ${newRows} limit 1)`;
}

/** Not if someone has set it back: changes up to `until` ($2) may not have been stored since. */
const setSequenceSql = (sequence: string) => `
  select setval(${sequence}, greatest(last, extract(epoch from $1::timestamptz)::bigint))
  from pg_sequence_last_value(${sequence}::regclass) last
  where last >= floor(extract(epoch from greatest($2::timestamptz, to_timestamp(1))))`;
// A transaction of its own, so that its id is assigned after the sequence has the new value: transactions with lower ids may have read the old one.
const SET_NEXT = `
  update ranged_tables set next = $3, next_xid = pg_current_xact_id()::text
  where table_name = $1 and until = $2::timestamptz and next is null returning 1`;
const SET_UNTIL = `update ranged_tables set until = next, next = null, next_xid = null where table_name = $1`;

/** The work on the ranges of one table. */
function createRangeSteps(database: Database, table: string, sizes: typeof SIZES) {
  const sequence = quoteLiteral(quoteIdentifier(rangeSequenceName(table)));
  const texts = {
    recount: recountSql(table, sizes),
    findNext: findNextSql(table, sizes),
    findUneven: findUnevenSql(sizes),
  };
  const recount = (tx: Executor, from: RangePosition, to: RangePosition) =>
    tx.write({ text: texts.recount, values: [table, ...from, ...to] });

  async function improve(tx: Executor, until: string): Promise<boolean> {
    await tx.write({ text: ADD_CHANGES, values: [table, until] });
    const [uneven] = await tx.write<[string, string, string, string]>({
      text: texts.findUneven,
      values: [table, until],
    });
    if (uneven === undefined) return false;
    const [fromAt, fromId, toAt, toId] = uneven;
    await recount(tx, [fromAt, fromId], [toAt, toId]);
    return true;
  }

  async function proposeNext(until: string): Promise<boolean> {
    const [found] = await database.write<[string]>({ text: texts.findNext, values: [until] });
    if (found === undefined) return false;
    const isSet = await database.write({ text: setSequenceSql(sequence), values: [found[0], until] });
    if (isSet.length === 0) return false;
    return (await database.write({ text: SET_NEXT, values: [table, until, found[0]] })).length > 0;
  }

  return {
    /** Creates the triggers. Resolves with whether they exist: writers of the table must not wait long, and this role may not be its owner. */
    createTriggers: () =>
      database
        .transaction(async (tx) => {
          await tx.write({ text: `set local lock_timeout = '100ms'`, values: [] });
          await tx.write({ text: 'select belfry_count_in_ranges($1, $2)', values: [table, rangeSequenceName(table)] });
          return true;
        })
        .catch((error: Error & { code?: string }) => {
          if (CANNOT_CREATE_TRIGGERS.has(error.code ?? '')) return false;
          throw error;
        }),

    /** Begins to count the table in ranges, unless another relay has begun. */
    begin: (oid: number) =>
      database.transaction(async (tx) => {
        const added = await tx.write({ text: ADD, values: [table, oid] });
        if (added.length > 0) await tx.write({ text: REMOVE_LEFTOVERS, values: [table] });
      }),

    /** Takes the next step. Resolves with whether another one may follow. */
    async step(oid: number): Promise<boolean> {
      const done = await database.transaction(async (tx) => {
        // Before the state: a truncation locks the table first, too.
        await tx.write({ text: `lock table ${quoteIdentifier(table)} in access share mode`, values: [] });
        const [state] = await tx.write<[string, string, string | null, string | null, boolean]>({
          text: LOCK,
          values: [table, oid],
        });
        if (state === undefined) return false;
        const [until, afterUntil, next, afterNext, isSettled] = state;
        if (next === null) return (until !== '-infinity' && (await improve(tx, until))) || { until };
        if (!isSettled) return false;
        await recount(tx, until === '-infinity' ? START : [afterUntil, ''], [afterNext!, '']);
        await tx.write({ text: SET_UNTIL, values: [table] });
        return true;
      });
      return typeof done === 'boolean' ? done : proposeNext(done.until);
    },
  };
}

/**
 * Creates the sweep that counts the rows of large tables in ranges, for exact totals and deep pages.
 *
 * Ranges cover the rows up to a second, `until`. To cover newer rows, the sweep first lets the triggers store the changes of rows up to a later second,
 * `next`, then waits until no older transaction is running, and only then counts. A read adds the stored changes that it sees, so it is exact
 * before and after each step.
 */
export function createRangeSweep(database: Database, resources: readonly CompiledResource[], sizes = SIZES): Sweep {
  const tables = resources.filter(canHaveRanges).map(({ table }) => table);
  const stepsOf = new Map(tables.map((table) => [table, createRangeSteps(database, table, sizes)]));

  async function advance([table, oid, rangedOid, isStoring, isDisabled]: FoundTable): Promise<void> {
    const { createTriggers, begin, step } = stepsOf.get(table)!;
    const isRanged = rangedOid === oid && isStoring;
    if (!isRanged) {
      if (rangedOid !== null) await database.write({ text: REMOVE, values: [table, rangedOid] });
      // Also if they exist: those of a renamed table store changes for its former name.
      if (isDisabled || !(await createTriggers())) return;
      await begin(oid);
    }
    for (let steps = 0; steps < MAX_STEPS && (await step(oid)); steps++);
  }

  return {
    name: 'record ranges',
    everyMs: EVERY_MS,
    async run() {
      const found = await database.write<FoundTable>({
        text: FIND_TABLES,
        values: [tables, RANGE_TRIGGERS, sizes.tableRows, tables.map(rangeSequenceName)],
      });
      await database.write({ text: REMOVE_OF_DROPPED_TABLES, values: [] });
      await database.write({ text: REMOVE_UNUSED, values: [] });
      const failures: unknown[] = [];
      for (const row of found) await advance(row).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw failures[0];
    },
  };
}
