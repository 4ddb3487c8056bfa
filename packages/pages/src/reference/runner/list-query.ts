/** Converts the query of a request to arguments of the typed client. Nothing here depends on a browser. */
import { isObject } from '../document.ts';
import type { Operation } from '../operations.ts';
import type { Values } from './request.ts';

/** Parameters of lists that are lists of names. */
const NAME_LISTS = ['include', 'fields'];
const LIST_PARAMETERS = ['q', 'deleted', 'sort', 'page', 'after', 'count', 'limit'];
const AGGREGATE_PARAMETERS = ['group', 'sum', 'avg', 'min', 'max', 'countDistinct', 'timeZone', 'count'];

type Members = Record<string, unknown>;

/** Converts the text of a query parameter to its declared type. */
function typed({ parameters }: Operation, name: string, value: string): unknown {
  const type = parameters.find((one) => one.in === 'query' && one.name === name)?.schema?.type;
  if (type === 'boolean') return value === 'true';
  if ((type === 'integer' || type === 'number') && !Number.isNaN(Number(value))) return Number(value);
  return type === 'array' ? value.split(',') : value;
}

/** Converts the query of a list to the argument of `client.posts.list`. */
export function listQuery(operation: Operation, query: Values['query']): Members {
  const where: Members = {};
  const rest: Members = {};
  for (const [name, value] of Object.entries(query)) {
    if (value === '') continue;
    const [, field, operator] = /^(.+)\[(\w+)\]$/.exec(name) ?? [];
    if (NAME_LISTS.includes(name)) rest[name] = value.split(',');
    else if (LIST_PARAMETERS.includes(name)) rest[name] = typed(operation, name, value);
    else if (field === undefined || operator === undefined) where[name] = typed(operation, name, value);
    else {
      const known = where[field];
      where[field] = { ...(isObject(known) ? known : {}), [operator]: typed(operation, name, value) };
    }
  }
  return { ...(Object.keys(where).length > 0 && { where }), ...rest };
}

/** `month(createdAt)` → `{ month: 'createdAt' }`. */
function term(name: string): unknown {
  const [, unit, field] = /^(\w+)\((.+)\)$/.exec(name) ?? [];
  return unit === undefined ? name : { [unit]: field };
}

function aggregateValue(name: string, value: string): unknown {
  if (name === 'count') return true;
  return name === 'timeZone' ? value : value.split(',').map(term);
}

/** Converts the query of aggregates to the argument of `client.posts.aggregate`. */
export function aggregateQuery(operation: Operation, query: Values['query']): Members {
  const entries = Object.entries(query).filter(([, value]) => value !== '');
  const isOwn = ([name]: [string, string]) => AGGREGATE_PARAMETERS.includes(name);
  return {
    ...Object.fromEntries(entries.filter(isOwn).map(([name, value]) => [name, aggregateValue(name, value)])),
    ...listQuery(operation, Object.fromEntries(entries.filter((entry) => !isOwn(entry)))),
  };
}
