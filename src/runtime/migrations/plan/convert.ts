import type { FieldSpec } from '../../../declare/field.ts';
import { type ColumnType, getArrayColumnType } from '../../../records/fields/column-type.ts';
import { columnTypeBySqlName } from '../../../records/fields/f.ts';
import { columnTypeOf, fieldTypeOf } from '../../../records/fields/field-type.ts';
import { describeKind } from './members.ts';

/** The conversion of a column to another type: an expression that loses nothing, or the reason why there is none. */
type Conversion =
  | { using: string }
  | {
      /** What would be lost or fail. */
      loss: string;
      /** A lossy conversion to suggest to the developer; undefined if there is none. */
      example: string | undefined;
    };

/** The target type of a column: its name, and further facts if known. */
interface Target {
  sql: string;
  type: ColumnType | undefined;
}

// Matches the timestamp types of Postgres, but not arrays of them.
const TIMESTAMP = /^timestamp[^[]*$/;

// SQL that formats a timestamp as the API returns it.
const isoTextSql = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const isArrayType = (sql: string) => sql.endsWith('[]');
const itemTypeOf = (sql: string) => (isArrayType(sql) ? sql.slice(0, -2) : sql);

function findColumnType(sql: string): ColumnType | undefined {
  const item = columnTypeBySqlName(itemTypeOf(sql));
  return item !== undefined && isArrayType(sql) ? getArrayColumnType(item) : item;
}

/** Looks up the target type by name; the field's own type takes precedence. */
function findTarget(sql: string, spec: FieldSpec | undefined): Target {
  const own = spec === undefined ? undefined : columnTypeOf(spec);
  return { sql, type: own?.sql === sql ? own : findColumnType(sql) };
}

// Integer types that tables of extensions may use, although no field does.
const WHOLE = new Set(['smallint', 'integer']);
const WIDENED: Record<string, string> = { integer: 'smallint', 'integer[]': 'smallint[]' };

function canCastToText(from: string): boolean {
  return WHOLE.has(from) || columnTypeBySqlName(from)?.castsToText === true;
}

/** Returns a cast to the target type that loses nothing; undefined if there is none. */
function findCast(column: string, from: string, to: Target): string | undefined {
  const casts = to.type?.exactCasts?.(from) ?? (WIDENED[to.sql] === from ? [to.sql] : undefined);
  if (casts !== undefined) return [column, ...casts].join('::');
  const toText = isArrayType(from) ? to.sql === 'text[]' : to.sql === 'text';
  return toText && canCastToText(itemTypeOf(from)) ? `${column}::${to.sql}` : undefined;
}

/** Returns the SQL of the argument of `to_jsonb` that gives a column's values the form that they have in JSON. */
function jsonSourceSql(column: string, from: string): string {
  if (TIMESTAMP.test(from)) return isoTextSql(column);
  return findColumnType(from)?.jsonAsText ? `${column}::text${isArrayType(from) ? '[]' : ''}` : column;
}

function findLosslessCast(column: string, from: string, to: Target): string | undefined {
  const plain = findCast(column, from, to);
  if (plain !== undefined) return plain;
  if (TIMESTAMP.test(from) && to.sql === 'text') return isoTextSql(column);
  if (to.sql === `${from}[]`) return `CASE WHEN ${column} IS NULL THEN NULL ELSE ARRAY[${column}] END`;
  return to.sql === 'jsonb' ? `to_jsonb(${jsonSourceSql(column, from)})` : undefined;
}

const isNumberType = (sql: string) => columnTypeBySqlName(sql)?.number === true;
const isKnownType = (sql: string) => isArrayType(sql) || TIMESTAMP.test(sql) || columnTypeBySqlName(sql) !== undefined;

/** Returns SQL that converts a value of a type other than text and JSON; undefined if some values have no meaning in the type `to`. */
function convertValueSql(column: string, from: string, to: string): string | undefined {
  if (from === 'boolean' && isNumberType(to)) return `${column}::int::${to}`;
  if (isNumberType(from) && to === 'boolean') return `${column} <> 0`;
  if (isNumberType(from) && TIMESTAMP.test(to)) return `to_timestamp(${column} / 1000.0)`;
  if (TIMESTAMP.test(from) && isNumberType(to)) return `(extract(epoch FROM ${column}) * 1000)::${to}`;
  // Extensions may use other types, about which Belfry knows too little.
  return isKnownType(from) && isKnownType(to) && to !== 'text' ? undefined : `${column}::text::${to}`;
}

/** Returns SQL that casts the items of an array: in `ALTER COLUMN … USING`, Postgres allows no subquery. Undefined if impossible. */
function convertItemsSql(column: string, from: string, to: string): string | undefined {
  if (from === 'text' || to === 'text' || (isNumberType(from) && isNumberType(to))) return `${column}::${to}[]`;
  return from === 'boolean' && isNumberType(to) ? `${column}::int[]::${to}[]` : undefined;
}

function findLossyCast(column: string, from: string, to: Target): Extract<Conversion, { loss: string }> {
  const known = to.type?.lossyCast?.(column, from);
  if (known !== undefined) return known;
  const wanted = to.type?.item === undefined ? (to.type?.noun ?? to.sql) : to.sql;
  const [item, items] = [itemTypeOf(from), itemTypeOf(to.sql)];
  const failure = `a value that is not ${TIMESTAMP.test(to.sql) ? 'a date' : wanted} would fail`;
  if (item !== from && items === to.sql)
    return { loss: 'all items but the first would be lost', example: conversionSql(`${column}[1]`, item, to) };
  if (from === 'text') {
    const example =
      items === to.sql ? `nullif(${column}, '')::${to.sql}` : `string_to_array(${column}, ',')::${to.sql}`;
    return { loss: failure.replace('a value', 'a text'), example };
  }
  if (from === 'jsonb' && items !== to.sql)
    return { loss: failure, example: `translate(${column}::text, '[]', '{}')::${to.sql}` };
  if (from === 'jsonb') return { loss: failure, example: `(${column} #>> '{}')::${to.sql}` };
  const loss = 'there is no conversion that keeps every value';
  if (item !== from) return { loss, example: convertItemsSql(column, item, items) };
  return { loss, example: convertValueSql(column, from, to.sql) };
}

/** Returns an SQL expression that converts a column's values, even if it is lossy or may fail; undefined if there is none. */
function conversionSql(column: string, from: string, to: Target): string | undefined {
  if (from === to.sql) return column;
  return findLosslessCast(column, from, to) ?? findLossyCast(column, from, to).example;
}

/** Returns an SQL expression that converts each value of a column to an equal value of another type, or fails. */
export function exactCastSql(column: string, from: string, to: string): string {
  return from === 'boolean' && isNumberType(to) ? convertValueSql(column, from, to)! : `${column}::text::${to}`;
}

/**
 * Whether a field accepts any text. Values are converted to text only for such fields: for others, such as an e-mail address, the text of
 * a number would be invalid.
 */
function acceptsAnyText(spec: FieldSpec | undefined): boolean {
  const item = spec?.inner?.spec ?? spec;
  if (item === undefined) return true;
  const { takesAll, plainText } = fieldTypeOf(item);
  return takesAll === true && plainText === true;
}

/**
 * Finds the conversion of a column's values to another type.
 *
 * @param column in quotes
 * @param from a Postgres type, but not the type of a ciphertext or a password hash
 * @param to a Postgres type
 * @param spec the field that the column belongs to; undefined if it belongs to none
 */
export function findConversion(column: string, from: string, to: string, spec: FieldSpec | undefined): Conversion {
  const target = findTarget(to, spec);
  const textual = to === 'text' || to === 'text[]';
  if (textual && to !== `${from}[]` && !acceptsAnyText(spec)) {
    return {
      loss: `a value that is not a valid ${describeKind(spec!)} would stay unchanged`,
      example: conversionSql(column, from, target),
    };
  }
  const using = findLosslessCast(column, from, target);
  return using === undefined ? findLossyCast(column, from, target) : { using };
}
