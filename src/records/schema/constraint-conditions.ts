import type { FieldSpec, Fields } from '../../declare/field.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { quoteLiteral } from '../../platform/data/postgres/values.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { columnTypeOf, fieldTypeOf } from '../fields/field-type.ts';
import { dateType } from '../fields/types/date.ts';

/** The types of columns whose values constraints can compare. Casts make them values that every operator class of `btree_gist` knows. */
const GIST_VALUES: Readonly<Record<string, (column: string) => string>> = {
  text: (column) => column,
  bigint: (column) => column,
  'double precision': (column) => column,
  numeric: (column) => column,
  'timestamp(3) with time zone': (column) => column,
  boolean: (column) => `(${column}::int)`,
};

const NUMBERS = new Set(['bigint', 'double precision', 'numeric']);

/** A field in a constraint. */
interface ConstraintField {
  name: string;
  spec: FieldSpec;
  /** The quoted name of its column. */
  column: string;
  sql: string;
}

function knownNames(resource: AnyResource): string[] {
  return [...Object.keys(resource.fields), ...(resource.timestamps === false ? [] : ['createdAt', 'updatedAt'])];
}

/**
 * Finds a field that a constraint names.
 *
 * @throws Error if there is no such field, or if its values cannot be compared in the database
 */
export function findConstraintField(resource: AnyResource, name: string): ConstraintField {
  const declared = Object.hasOwn(resource.fields, name) ? (resource.fields as Fields)[name]!.spec : undefined;
  const isTime = declared === undefined && knownNames(resource).includes(name);
  const spec = isTime ? { type: dateType } : declared;
  if (spec === undefined)
    throw new Error(`unknown field "${name}"${suggestKnownNames(name, 'fields', knownNames(resource))}`);
  const sql = columnTypeOf(spec).sql;
  if (spec.encrypted) throw new Error(`"${name}" is encrypted, so that the database cannot compare its values`);
  if (fieldTypeOf(spec).concealed || !Object.hasOwn(GIST_VALUES, sql))
    throw new Error(`"${name}" has values that constraints cannot compare: ${fieldTypeOf(spec).kind}`);
  return { name, spec, sql, column: quoteIdentifier(snakeCase(name)) };
}

/** The value of a field in an exclusion constraint, as SQL. */
export function gistValueSql({ sql, column }: ConstraintField): string {
  return GIST_VALUES[sql]!(column);
}

/** The function that creates a range of two fields, with casts; undefined if their values form no range. */
export function rangeSql(from: ConstraintField, to: ConstraintField, bounds: string): string | undefined {
  const create = (type: string, cast: string) =>
    `${type}(${from.column}${cast}, ${to.column}${cast}, ${quoteLiteral(bounds)})`;
  if (from.sql !== to.sql) return undefined;
  if (from.sql === 'bigint') return create('int8range', '');
  if (NUMBERS.has(from.sql)) return create('numrange', from.sql === 'numeric' ? '' : '::numeric');
  return from.sql.startsWith('timestamp') ? create('tstzrange', '') : undefined;
}

/** The operators of comparisons by their signs, with the operators of filters that mean the same. */
const SIGNS: Readonly<Record<string, { sql: string; filter: string }>> = {
  '<': { sql: '<', filter: 'lt' },
  '<=': { sql: '<=', filter: 'lte' },
  '=': { sql: '=', filter: 'eq' },
  '!=': { sql: '<>', filter: 'ne' },
  '>=': { sql: '>=', filter: 'gte' },
  '>': { sql: '>', filter: 'gt' },
};

const COMPARISON = /^\s*([\w$]+)\s*([<>=!]+)\s*(\S+)\s*$/;

/** The collation that sorts texts as lists and filters do, whichever collation the database has. */
function orderSql({ sql }: ConstraintField, sign: string): string {
  return sql === 'text' && sign !== '=' && sign !== '<>' ? ' collate "C"' : '';
}

function comparisonSql(resource: AnyResource, text: string, comparedFields: Set<string>): string {
  const [, name, sign, operand] = COMPARISON.exec(text) ?? [];
  const operator = SIGNS[sign ?? ''];
  if (operator === undefined)
    throw new Error(
      `"${text}" is not a comparison such as "endsAt > startsAt"; operators: ${Object.keys(SIGNS).join(', ')}`,
    );
  const left = findConstraintField(resource, name!);
  comparedFields.add(left.name);
  if (/^-?\d+(\.\d+)?$/.test(operand!)) {
    const value = left.sql === 'numeric' ? operand! : Number(operand);
    return filterTermSql(left, operator.filter, value);
  }
  const right = findConstraintField(resource, operand!);
  comparedFields.add(right.name);
  if (left.sql !== right.sql && !(NUMBERS.has(left.sql) && NUMBERS.has(right.sql)))
    throw new Error(`"${text}" compares fields of different types`);
  return `${left.column} ${operator.sql} ${right.column}${orderSql(left, operator.sql)}`;
}

function literalSql({ name, spec }: ConstraintField, value: unknown): string {
  const comparable = fieldTypeOf(spec).comparable?.(value, spec);
  if (comparable === undefined) throw new Error(`"${name}" is compared with a value of the wrong type`);
  if (spec.values !== undefined && !spec.values.includes(String(comparable)))
    throw new Error(
      `"${name}" is never "${String(comparable)}"${suggestKnownNames(String(comparable), 'values', spec.values)}`,
    );
  return quoteLiteral(String(comparable));
}

const FILTER_OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'];

function filterTermSql(field: ConstraintField, operator: string, value: unknown): string {
  const { column, name } = field;
  if (!FILTER_OPERATORS.includes(operator))
    throw new Error(
      `"${operator}" is not an operator of constraints${suggestKnownNames(operator, 'operators', FILTER_OPERATORS)}`,
    );
  const isSet = value === null ? operator === 'ne' : value;
  if (operator === 'exists' || (value === null && (operator === 'eq' || operator === 'ne'))) {
    if (typeof isSet !== 'boolean') throw new Error(`"exists" of "${name}" takes true or false`);
    return `${column} is ${isSet ? 'not ' : ''}null`;
  }
  if (operator === 'in' || operator === 'nin') {
    if (!Array.isArray(value) || value.length === 0)
      throw new Error(`"${operator}" of "${name}" takes a list of values`);
    const list = value.map((one) => literalSql(field, one)).join(', ');
    return operator === 'in' ? `${column} in (${list})` : `(${column} is null or ${column} not in (${list}))`;
  }
  const literal = literalSql(field, value);
  if (operator === 'ne') return `${column} is distinct from ${literal}`;
  const sign = Object.values(SIGNS).find(({ filter }) => filter === operator)!.sql;
  return `${column} ${sign} ${literal}${orderSql(field, sign)}`;
}

/** Returns the SQL of a constraint's filter. @param comparedFields receives the names of the fields that the filter compares */
function filterSql(resource: AnyResource, filter: object, comparedFields: Set<string>): string {
  const terms = Object.entries(filter).flatMap(([name, wanted]) => {
    const field = findConstraintField(resource, name);
    comparedFields.add(name);
    if (Array.isArray(wanted)) return filterTermSql(field, 'in', wanted);
    if (typeof wanted !== 'object' || wanted === null || wanted instanceof Date)
      return filterTermSql(field, 'eq', wanted);
    const operators = Object.entries(wanted);
    if (operators.length === 0) throw new Error(`"${name}" is compared with nothing`);
    return operators.map(([operator, value]) => filterTermSql(field, operator, value));
  });
  if (terms.length === 0) throw new Error('an empty filter names no field');
  return terms.join(' and ');
}

/**
 * A condition of a constraint as SQL, with quoted column names and without parameters. Postgres counts a check as met if a value is
 * missing. That is right for a comparison of fields. A filter of a check, as in a query, is met only by records that have its values.
 *
 * @param kind `check`, or the limit of another constraint
 * @param comparedFields gets the names of the fields that the condition compares
 * @throws Error naming what is wrong with the condition
 */
export function constraintConditionSql(
  resource: AnyResource,
  condition: unknown,
  kind: 'check' | 'where',
  comparedFields: Set<string>,
): string {
  if (typeof condition === 'string') return comparisonSql(resource, condition, comparedFields);
  if (Array.isArray(condition)) {
    if (condition.length === 0) throw new Error('an empty list of conditions is met by no record');
    return condition.map((one) => `(${constraintConditionSql(resource, one, kind, comparedFields)})`).join(' or ');
  }
  if (typeof condition !== 'object' || condition === null)
    throw new Error('a condition is a comparison such as "endsAt > startsAt", a filter, or a list of both');
  const filter = filterSql(resource, condition, comparedFields);
  return kind === 'check' ? `(${filter}) is true` : filter;
}
