import type { Operator } from '../../declare/field.ts';
import { allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/errors.ts';
import { type CompiledField, type CompiledResource, columnOf, type SortTerm } from '../compiled.ts';
import { isStorable } from '../fields/text-rules.ts';
import type { Comparison, Condition } from './condition.ts';
import type { ListQuery } from './list-query.ts';

/** A query string: flat, a repeated parameter is an array. */
export type RawQuery = Record<string, unknown>;

/** Who asks: a viewer, nobody, or the system, which sees every field. */
export type Sight = Viewer | 'system' | undefined;

interface Limits {
  defaultLimit: number;
  maxLimit: number;
}

const LIST_OPERATORS = new Set<Operator>(['in', 'nin', 'all']);
const MOST_VALUES = 1000;
const MOST_INCLUDES = 20;
const PARAMETER = /^([^[\]]+)(?:\[([^[\]]+)\])?$/;

function bad(message: string): ApiError {
  return new ApiError('BAD_REQUEST', message);
}

function names(list: Iterable<string>): string {
  return [...list].join(', ') || 'none';
}

/** The one text of a parameter. */
function single(name: string, value: unknown): string {
  if (typeof value !== 'string') throw bad(`The query parameter "${name}" must be given once`);
  if (!isStorable(value)) throw bad(`The query parameter "${name}" contains characters that are not allowed`);
  return value;
}

function positive(name: string, text: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw bad(`The query parameter "${name}" must be a whole number from 1 to ${most}`);
  return value;
}

/**
 * Records whose field this viewer may see, as a condition; undefined when he sees it on every one. A query must not tell of
 * values that an answer would leave out.
 */
function visibility(
  resource: CompiledResource,
  policy: CompiledPolicy | undefined,
  viewer: Sight,
): Condition | undefined {
  if (viewer === 'system' || policy === undefined || allowsEveryRecord(policy, viewer)) return undefined;
  if (policy.owner && viewer !== undefined && resource.ownerField !== undefined) {
    return { field: resource.ownerField, op: 'eq', value: viewer.id };
  }
  return { never: true };
}

function comparedValue(field: CompiledField, parameter: string, op: Operator, text: string): unknown {
  if (op === 'exists') {
    if (text !== 'true' && text !== 'false') throw bad(`The query parameter "${parameter}" must be true or false`);
    return text === 'true';
  }
  const one = (part: string) => {
    const value = field.type.fromQuery?.(part, field.spec);
    if (value === undefined) throw bad(`The query parameter "${parameter}" has a value of the wrong type`);
    return value;
  };
  if (!LIST_OPERATORS.has(op)) return one(text);
  const parts = text.split(',').filter((part) => part !== '');
  if (parts.length === 0) throw bad(`The query parameter "${parameter}" needs at least one value`);
  if (parts.length > MOST_VALUES) throw bad(`The query parameter "${parameter}" takes at most ${MOST_VALUES} values`);
  return parts.map(one);
}

function filter(resource: CompiledResource, parameter: string, text: string, viewer: Sight): Condition[] {
  const [, name = '', operator = 'eq'] = PARAMETER.exec(parameter) ?? [];
  const field = resource.field.get(name);
  const filterable = resource.fields.filter((one) => one.operators.size > 0 && !one.secret);
  if (field === undefined || field.secret || field.operators.size === 0) {
    throw bad(`Unknown query parameter "${parameter}"; filterable fields: ${names(filterable.map((one) => one.name))}`);
  }
  if (!field.operators.has(operator as Operator)) {
    throw bad(`The field "${name}" can not be filtered with "${operator}"; its operators: ${names(field.operators)}`);
  }
  const op = operator as Operator;
  const comparison: Comparison = { field: name, op, value: comparedValue(field, parameter, op, text) };
  const seen = visibility(resource, field.visibleTo, viewer);
  return seen === undefined ? [comparison] : [seen, comparison];
}

function search(resource: CompiledResource, text: string, viewer: Sight): Condition[] {
  const fields = resource.fields.filter((field) => field.spec.searchable && !field.secret);
  if (fields.length === 0) throw bad('Unknown query parameter "q"; this resource is not searchable');
  if (text === '') return [];
  const any = fields.map((field): Condition => {
    const contains: Condition = { field: field.name, contains: text };
    const seen = visibility(resource, field.visibleTo, viewer);
    return seen === undefined ? contains : { every: [seen, contains] };
  });
  return [{ any }];
}

function sortable(resource: CompiledResource, viewer: Sight): string[] {
  const declared = resource.fields.filter(
    (field) => field.spec.sortable && !field.secret && visibility(resource, field.visibleTo, viewer) === undefined,
  );
  return [...declared.map((field) => field.name), ...(resource.timestamps ? ['createdAt', 'updatedAt'] : [])];
}

function sort(resource: CompiledResource, text: string, viewer: Sight): SortTerm[] {
  const allowed = sortable(resource, viewer);
  const terms = text.split(',').map((term) => {
    const field = term.replace(/^-/, '');
    if (!allowed.includes(field)) throw bad(`Can not sort by "${field}"; sortable fields: ${names(allowed)}`);
    return { field, column: columnOf(resource, field), descending: term.startsWith('-') };
  });
  if (new Set(terms.map((term) => term.field)).size < terms.length)
    throw bad('The query parameter "sort" names a field twice');
  return terms;
}

function include(resource: CompiledResource, text: string): string[] {
  const allowed = resource.fields
    .filter((field) => field.spec.kind === 'ref' && !field.secret)
    .map((field) => field.name);
  const wanted = [...new Set(text.split(','))];
  if (wanted.length > MOST_INCLUDES) throw bad(`The query parameter "include" takes at most ${MOST_INCLUDES} names`);
  for (const name of wanted) {
    if (!allowed.includes(name)) throw bad(`Can not include "${name}"; references: ${names(allowed)}`);
  }
  return wanted;
}

function selection(resource: CompiledResource, text: string): Set<string> {
  const own = ['id', ...(resource.timestamps ? ['createdAt', 'updatedAt'] : [])];
  const allowed = [...own, ...resource.fields.filter((field) => !field.secret).map((field) => field.name)];
  const wanted = text.split(',');
  for (const name of wanted) {
    if (!allowed.includes(name)) throw bad(`Can not select the field "${name}"; fields: ${names(allowed)}`);
  }
  return new Set(['id', ...wanted]);
}

function total(sorted: readonly SortTerm[]): SortTerm[] {
  if (sorted.some((term) => term.field === 'id')) return [...sorted];
  // In the direction of the last term, so that an index on (field, id) serves both ways.
  return [...sorted, { field: 'id', column: 'id', descending: sorted.at(-1)?.descending ?? false }];
}

/**
 * Takes the parameters of one record's read apart: `include` and `fields`.
 *
 * @throws ApiError BAD_REQUEST naming the parameter, and what is allowed
 */
export function parseReadQuery(resource: CompiledResource, query: RawQuery): Pick<ListQuery, 'include' | 'fields'> {
  const parsed: { include: readonly string[]; fields: Set<string> | undefined } = { include: [], fields: undefined };
  for (const [name, value] of Object.entries(query)) {
    if (name === 'include') parsed.include = include(resource, single(name, value));
    else if (name === 'fields') parsed.fields = selection(resource, single(name, value));
    else throw bad(`Unknown query parameter "${name}"; allowed here: include, fields`);
  }
  return parsed;
}

/**
 * Takes a list's query string apart. Strict: what the declaration does not allow is refused.
 *
 * @throws ApiError BAD_REQUEST naming the parameter, and what is allowed
 */
export function parseListQuery(resource: CompiledResource, query: RawQuery, viewer: Sight, limits: Limits): ListQuery {
  const conditions: Condition[] = [];
  const parsed = { page: 1, limit: Math.min(limits.defaultLimit, limits.maxLimit), slow: false };
  let sorted: readonly SortTerm[] = resource.defaultSort;
  let included: readonly string[] = [];
  let fields: Set<string> | undefined;
  for (const [name, value] of Object.entries(query)) {
    const text = single(name, value);
    if (name === 'page') parsed.page = positive(name, text, 1_000_000_000);
    else if (name === 'limit') parsed.limit = positive(name, text, limits.maxLimit);
    else if (name === 'sort') sorted = sort(resource, text, viewer);
    else if (name === 'include') included = include(resource, text);
    else if (name === 'fields') fields = selection(resource, text);
    else if (name === 'q') {
      conditions.push(...search(resource, text, viewer));
      parsed.slow = true;
    } else conditions.push(...filter(resource, name, text, viewer));
  }
  return { ...parsed, conditions, sort: total(sorted), include: included, fields };
}
