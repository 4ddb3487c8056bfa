import type { FieldSpec } from '../../declare/field.ts';
import { arrayColumn, type ColumnType } from '../../records/fields/column-type.ts';
import { columnTypeNamed } from '../../records/fields/f.ts';
import { columnTypeOf, fieldTypeOf } from '../../records/fields/field-type.ts';
import { kindOf } from './members.ts';

/** How a column's values are converted to another type: an expression that loses nothing, or why there is none. */
export type Conversion =
  | { using: string }
  | {
      /** What would be lost or fail. */
      loss: string;
      /** An expression that a person may want nevertheless; undefined where there is none. */
      example: string | undefined;
    };

/** A type that a column is to have: its name, and what is known of it besides. */
interface Target {
  sql: string;
  type: ColumnType | undefined;
}

// Not an array of them.
const TIMESTAMP = /^timestamp[^[]*$/;

// As an API returns it.
const isoText = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const isArray = (sql: string) => sql.endsWith('[]');
const itemOf = (sql: string) => (isArray(sql) ? sql.slice(0, -2) : sql);

function columnTypeOfName(sql: string): ColumnType | undefined {
  const item = columnTypeNamed(itemOf(sql));
  return item !== undefined && isArray(sql) ? arrayColumn(item) : item;
}

/** What a type of this name is: that of the field, where it is the field's. */
function targetOf(sql: string, spec: FieldSpec | undefined): Target {
  const own = spec === undefined ? undefined : columnTypeOf(spec);
  return { sql, type: own?.sql === sql ? own : columnTypeOfName(sql) };
}

// Types of extensions, which no field uses.
const WHOLE = new Set(['smallint', 'integer']);
const WIDENED: Record<string, string> = { integer: 'smallint', 'integer[]': 'smallint[]' };

function castsToText(from: string): boolean {
  return WHOLE.has(from) || columnTypeNamed(from)?.castsToText === true;
}

/** A cast that loses nothing, if there is one. */
function cast(column: string, from: string, to: Target): string | undefined {
  const casts = to.type?.exactCasts?.(from) ?? (WIDENED[to.sql] === from ? [to.sql] : undefined);
  if (casts !== undefined) return [column, ...casts].join('::');
  const toText = isArray(from) ? to.sql === 'text[]' : to.sql === 'text';
  return toText && castsToText(itemOf(from)) ? `${column}::${to.sql}` : undefined;
}

/** The argument of `to_jsonb` for a value. */
function jsonSource(column: string, from: string): string {
  if (TIMESTAMP.test(from)) return isoText(column);
  return columnTypeOfName(from)?.jsonAsText ? `${column}::text${isArray(from) ? '[]' : ''}` : column;
}

function lossless(column: string, from: string, to: Target): string | undefined {
  const plain = cast(column, from, to);
  if (plain !== undefined) return plain;
  if (TIMESTAMP.test(from) && to.sql === 'text') return isoText(column);
  if (to.sql === `${from}[]`) return `CASE WHEN ${column} IS NULL THEN NULL ELSE ARRAY[${column}] END`;
  return to.sql === 'jsonb' ? `to_jsonb(${jsonSource(column, from)})` : undefined;
}

const isNumber = (sql: string) => columnTypeNamed(sql)?.number === true;
const isKnown = (sql: string) => isArray(sql) || TIMESTAMP.test(sql) || columnTypeNamed(sql) !== undefined;

/** Converts a value that is neither text nor JSON; undefined where not every value has a meaning in the other type. */
function recast(column: string, from: string, to: string): string | undefined {
  if (from === 'boolean' && isNumber(to)) return `${column}::int::${to}`;
  if (isNumber(from) && to === 'boolean') return `${column} <> 0`;
  if (isNumber(from) && TIMESTAMP.test(to)) return `to_timestamp(${column} / 1000.0)`;
  if (TIMESTAMP.test(from) && isNumber(to)) return `(extract(epoch FROM ${column}) * 1000)::${to}`;
  // Belfry knows too little about other types, which an extension may use.
  return isKnown(from) && isKnown(to) && to !== 'text' ? undefined : `${column}::text::${to}`;
}

/** Items of an array in another type; Postgres takes no subquery here, so only what a cast does. */
function recastItems(column: string, from: string, to: string): string | undefined {
  if (from === 'text' || to === 'text' || (isNumber(from) && isNumber(to))) return `${column}::${to}[]`;
  return from === 'boolean' && isNumber(to) ? `${column}::int[]::${to}[]` : undefined;
}

function lossy(column: string, from: string, to: Target): Extract<Conversion, { loss: string }> {
  const known = to.type?.lossyCast?.(column, from);
  if (known !== undefined) return known;
  const wanted = to.type?.item === undefined ? (to.type?.noun ?? to.sql) : to.sql;
  const [item, items] = [itemOf(from), itemOf(to.sql)];
  const failure = `a value that is not ${TIMESTAMP.test(to.sql) ? 'a date' : wanted} would fail`;
  if (item !== from && items === to.sql)
    return { loss: 'all items but the first would be lost', example: expression(`${column}[1]`, item, to) };
  if (from === 'text') {
    const example =
      items === to.sql ? `nullif(${column}, '')::${to.sql}` : `string_to_array(${column}, ',')::${to.sql}`;
    return { loss: failure.replace('a value', 'a text'), example };
  }
  if (from === 'jsonb' && items !== to.sql)
    return { loss: failure, example: `translate(${column}::text, '[]', '{}')::${to.sql}` };
  if (from === 'jsonb') return { loss: failure, example: `(${column} #>> '{}')::${to.sql}` };
  const loss = 'there is no conversion that keeps every value';
  if (item !== from) return { loss, example: recastItems(column, item, items) };
  return { loss, example: recast(column, from, to.sql) };
}

/** An expression that converts the values, even where something is lost or fails; undefined where there is none. */
function expression(column: string, from: string, to: Target): string | undefined {
  if (from === to.sql) return column;
  return lossless(column, from, to) ?? lossy(column, from, to).example;
}

/** An expression that converts each value to its equal in another type, or fails. */
export function faithful(column: string, from: string, to: string): string {
  return from === 'boolean' && isNumber(to) ? recast(column, from, to)! : `${column}::text::${to}`;
}

/** Whether a field takes any text, so that nothing has to be checked. Nothing is converted to others: a number is no e-mail address. */
function takesAnyText(spec: FieldSpec | undefined): boolean {
  const item = spec?.inner?.spec ?? spec;
  if (item === undefined) return true;
  const { takesAll, plainText } = fieldTypeOf(item);
  return takesAll === true && plainText === true;
}

/**
 * How values of a column get another type.
 *
 * @param column in quotes
 * @param from a Postgres type; never that of a ciphertext or a password hash
 * @param to a Postgres type
 * @param spec the field that it becomes; undefined when it is no field's column
 */
export function conversion(column: string, from: string, to: string, spec: FieldSpec | undefined): Conversion {
  const target = targetOf(to, spec);
  const textual = to === 'text' || to === 'text[]';
  if (textual && to !== `${from}[]` && !takesAnyText(spec)) {
    return {
      loss: `a value that is no ${kindOf(spec!)} would stay as it is`,
      example: expression(column, from, target),
    };
  }
  const using = lossless(column, from, target);
  return using === undefined ? lossy(column, from, target) : { using };
}
