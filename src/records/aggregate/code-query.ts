import { AGGREGATE_FUNCTIONS, type AggregateQuery } from '../../declare/aggregate.ts';
import { queryError } from '../query/parameter.ts';
import type { RawQuery } from '../query/parse.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { isPageParameter, type SplitQuery } from './parse.ts';

const LISTS: ReadonlySet<string> = new Set(['group', ...AGGREGATE_FUNCTIONS]);
const TEXTS: ReadonlySet<string> = new Set(['count', 'sort', 'limit', 'timeZone']);

/** A term that code passed, as a query string writes it. */
function toTermText(name: string, term: unknown): string {
  if (typeof term === 'string') return term;
  const entries = typeof term === 'object' && term !== null ? Object.entries(term) : [];
  if (name !== 'group' || entries.length !== 1)
    throw queryError(
      `"${name}" has a term that is not a field${name === 'group' ? " or a bucket: { month: 'createdAt' }" : ''}`,
    );
  const [unit, field] = entries[0]!;
  return `${unit}(${String(field)})`;
}

/** Whether a filter of code is a parameter of lists without a meaning for aggregates. */
function isListParameter(name: string, { field }: CompiledResource): boolean {
  return isPageParameter(name) || name === 'sort' || name === 'limit' || (name === 'count' && !field.has('count'));
}

/**
 * Splits a query of code into the parameters of aggregates and those that select records, as in a list.
 *
 * @throws ApiError BAD_REQUEST for an unknown parameter
 */
export function splitCodeQuery(
  resource: CompiledResource,
  { where = {}, q, deleted, ...parameters }: AggregateQuery<Record<string, unknown>>,
): SplitQuery {
  const texts: RawQuery = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    if (LISTS.has(name)) {
      if (!Array.isArray(value)) throw queryError(`"${name}" takes a list of fields`);
      texts[name] = value.map((term) => toTermText(name, term)).join(',');
    } else if (TEXTS.has(name)) texts[name] = String(value);
    else throw queryError(`Unknown parameter "${name}" of aggregates; filters belong in "where"`);
  }
  const unknown = Object.keys(where).find((name) => isListParameter(name, resource));
  if (unknown !== undefined) throw queryError(`Unknown filter "${unknown}"`);
  return {
    parameters: texts,
    selection: { ...where, ...(q === undefined ? {} : { q }), ...(deleted === undefined ? {} : { deleted }) },
  };
}
