import type { CompiledResource } from '../schema/compiled.ts';
import { parseCodeFieldFilter } from './code-filter.ts';
import {
  FILTER_PARAMETER,
  parseFieldFilter,
  type QueryViewer,
  relatedQueryViewer,
  unknownFilterError,
} from './filter.ts';
import type { Condition } from './list-query.ts';
import { queryError, requireSingleText } from './parameter.ts';
import { type PathFilter, pathConditions, pathRulesFor, relatedExistsCondition } from './paths.ts';

function parseWanted(value: unknown, parameter: string): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw queryError(`The query parameter "${parameter}" must be true or false`);
}

/**
 * Converts filters of a list query to conditions: comparisons of fields, also of related records (`ticket.status=open`), and the conditions that
 * the viewer may see these fields. Conditions on related records must still be completed by `checkRelatedVisibility`.
 *
 * @param filters by parameter: a field or path, with an operator in brackets
 * @param byCode whether code passes the filters, with typed values, rather than a client with texts
 * @throws ApiError BAD_REQUEST naming the parameter and the allowed filters; TypeError for a filter of code that is undefined
 */
export function parseFilters(
  resource: CompiledResource,
  filters: readonly (readonly [string, unknown])[],
  viewer: QueryViewer,
  byCode: boolean,
): Condition[] {
  const parsed = filters.map(([parameter, value]): PathFilter => {
    const [, path = byCode ? parameter : '', operator] = FILTER_PARAMETER.exec(parameter) ?? [];
    return {
      path: path.split('.'),
      written: parameter,
      parse(target, name) {
        const seenBy = target === resource ? viewer : relatedQueryViewer(viewer, target);
        const relation = target.relations.get(name);
        if (relation?.kind === 'reverse') {
          if (operator !== 'exists' || (viewer !== 'system' && relation.field.secret))
            throw unknownFilterError(target, parameter);
          return [relatedExistsCondition(target, relation, parseWanted(value, parameter), viewer)];
        }
        if (byCode) return parseCodeFieldFilter(target, { name, operator, parameter }, value, seenBy);
        const text = requireSingleText(parameter, value);
        return parseFieldFilter(target, { name, operator: operator ?? 'eq', parameter }, text, seenBy);
      },
    };
  });
  return pathConditions(resource, parsed, pathRulesFor(resource, viewer, unknownFilterError));
}
