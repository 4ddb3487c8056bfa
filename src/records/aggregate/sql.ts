import type { DateUnit } from '../../declare/aggregate.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { Condition, ListCondition } from '../query/list-query.ts';
import { conditionSql, createSqlParameters } from '../query/sql/conditions.ts';
import type { UnnamedStatement } from '../query/sql/list-statements.ts';
import { valueSizeSql } from '../query/sql/within-bytes.ts';
import { type CompiledResource, columnOf, sqlTypeOf } from '../schema/compiled.ts';
import type { FunctionTerm, GroupTerm, ParsedAggregates } from './parse.ts';

/** Limits a term to the records where the viewer may see its field. */
export interface VisibleIn {
  /** Undefined if the viewer sees the field in every record. */
  visibleIn: Condition | undefined;
}

/** Parsed aggregates with the records that they are computed of. */
export interface AggregateSelection extends Omit<ParsedAggregates, 'groups' | 'functions'> {
  groups: readonly (GroupTerm & VisibleIn)[];
  functions: readonly (FunctionTerm & VisibleIn)[];
  conditions: readonly ListCondition[];
}

/**
 * The names of buckets, as patterns of `to_char` (https://www.postgresql.org/docs/current/functions-formatting.html). The name of an hour
 * ends with its offset from UTC in seconds, because the clock shows some hours twice.
 */
const BUCKET_NAMES: Record<DateUnit, string> = {
  hour: 'YYYY-MM-DD"T"HH24:MI',
  day: 'YYYY-MM-DD',
  week: 'IYYY-"W"IW',
  month: 'YYYY-MM',
  quarter: 'YYYY-"Q"Q',
  year: 'YYYY',
};

/** The alias of a group term, and of an aggregate, by position. */
const groupAlias = (i: number) => `"_g${i}"`;
const functionAlias = (i: number) => `"_f${i}"`;
const COUNT_ALIAS = '"_count"';
const TOTAL_ALIAS = '"_groups"';

/** A constant size for the values of a group besides its texts. */
const OTHER_BYTES = 200;

function columnSql(resource: CompiledResource, name: string): string {
  return quoteIdentifier(columnOf(resource, name));
}

/**
 * A local hour: the epoch seconds of its start, and its offset from UTC in seconds. When clocks go back, they show an hour twice, with two
 * offsets. The start alone does not tell the offset: if clocks change by half an hour, or in the middle of an hour, the start may lie before
 * the change.
 */
function localHourSql(column: string, timeZone: string): string {
  const local = `${column} at time zone ${timeZone}`;
  const offset = `extract(epoch from (${local}) - (${column} at time zone 'UTC'))::bigint`;
  const start = `extract(epoch from date_trunc('hour', ${local}))::bigint - ${offset}`;
  return `case when ${column} is not null then array[${start}, ${offset}] end`;
}

/** The value that a term groups rows by. */
function groupedSql(resource: CompiledResource, { field, unit }: GroupTerm, timeZone: string): string {
  const column = columnSql(resource, field.name);
  if (unit === 'hour') return localHourSql(column, timeZone);
  if (unit !== undefined) return `date_trunc('${unit}', ${column} at time zone ${timeZone})`;
  return field.type.textual ? `${column} collate "C"` : column;
}

/** The value of a group term as the response holds it. */
function groupNameSql({ unit }: GroupTerm, alias: string): string {
  if (unit === undefined) return alias;
  if (unit !== 'hour') return `to_char(${alias}, '${BUCKET_NAMES[unit]}')`;
  const local = `to_timestamp(${alias}[1] + ${alias}[2]) at time zone 'UTC'`;
  return `to_char(${local}, '${BUCKET_NAMES.hour}') || '/' || ${alias}[2]`;
}

/** Converts a condition to SQL; values become parameters. */
type ToSql = (condition: ListCondition) => string;

function functionSql(
  resource: CompiledResource,
  { fn, field, visibleIn }: FunctionTerm & VisibleIn,
  minGroupSize: number,
  toSql: ToSql,
): string {
  const column = columnSql(resource, field.name);
  const filter = visibleIn === undefined ? '' : ` filter (where ${toSql(visibleIn)})`;
  const value = `${fn === 'countDistinct' ? `count(distinct ${column})` : `${fn}(${column})`}${filter}`;
  const isDecimal = field.compiled?.columnType.sql === 'numeric' && fn !== 'countDistinct';
  const exact = isDecimal ? `trim_scale(${value})` : value;
  // The number of different values reveals none of them.
  const isSafe = minGroupSize === 1 || fn === 'countDistinct';
  return isSafe ? exact : `case when count(${column})${filter} >= ${minGroupSize} then ${exact} end`;
}

/** The bytes of a group: its texts may be long. */
function groupSizeSql(groups: readonly GroupTerm[]): string {
  const sizes = groups.flatMap(({ field, unit }, i) =>
    unit === undefined && field.compiled !== undefined
      ? (valueSizeSql(groupAlias(i), sqlTypeOf(field.compiled)) ?? [])
      : [],
  );
  return [OTHER_BYTES, ...sizes].join(' + ');
}

/** A statement that computes aggregates, and the parts that limit its result to the size of a response. */
interface AggregateStatement extends UnnamedStatement {
  /** The columns: the group terms, the count if it is requested, the functions, the number of all groups. */
  columns: string;
  /** The bytes of a row, as SQL. */
  size: string;
}

/** The statement that computes aggregates. It reads the records once. */
export function createAggregateStatement(
  resource: CompiledResource,
  { groups, count, functions, conditions, sort, limit, timeZone, minGroupSize }: AggregateSelection,
): AggregateStatement {
  const params = createSqlParameters();
  const toSql: ToSql = (condition) => conditionSql(resource, condition, params);
  const zone = groups.some(({ unit }) => unit !== undefined) ? `${params.add(timeZone)}::text` : '';
  const groupAliases = groups.map((_, i) => groupAlias(i));
  const functionAliases = functions.map((_, i) => functionAlias(i));
  const aliasByKey = new Map([
    ...groups.map(({ key }, i) => [key, groupAlias(i)] as const),
    ...functions.map(({ key }, i) => [key, functionAlias(i)] as const),
    ...(groups.some(({ key }) => key === 'count') ? [] : [['count', COUNT_ALIAS] as const]),
  ]);
  const selected = [
    ...groups.map((term, i) => `${groupedSql(resource, term, zone)} as ${groupAlias(i)}`),
    ...(count ? [`count(*) as ${COUNT_ALIAS}`] : []),
    ...functions.map((term, i) => `${functionSql(resource, term, minGroupSize, toSql)} as ${functionAlias(i)}`),
    `count(*) over () as ${TOTAL_ALIAS}`,
  ];
  const visible = groups.flatMap(({ visibleIn }) => visibleIn ?? []);
  const where = [...visible, ...conditions].map(toSql);
  const order = sort.map(({ key, descending }) => `${aliasByKey.get(key)}${descending ? ' desc' : ''} nulls last`);
  const rows = [
    `select ${selected.join(', ')} from ${resource.source ?? quoteIdentifier(resource.table)}`,
    ...(where.length === 0 ? [] : [`where ${where.join(' and ')}`]),
    ...(groups.length === 0 ? [] : [`group by ${groups.map((_, i) => i + 1).join(', ')}`]),
    ...(minGroupSize === 1 ? [] : [`having count(*) >= ${minGroupSize}`]),
    ...(order.length === 0 ? [] : [`order by ${order.join(', ')}`]),
    `limit ${params.add(limit)}`,
  ].join(' ');
  const others = [...(count ? [COUNT_ALIAS] : []), ...functionAliases, TOTAL_ALIAS];
  const named = groups.map((term, i) => `${groupNameSql(term, groupAlias(i))} as ${groupAlias(i)}`);
  return {
    text: `select ${[...named, ...others].join(', ')} from (${rows}) "_grouped"`,
    values: params.values,
    columns: [...groupAliases, ...others].join(', '),
    size: groupSizeSql(groups),
  };
}
