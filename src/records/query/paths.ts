import type { ApiError } from '../../platform/helpers/errors.ts';
import type { CompiledResource, Relation } from '../schema/compiled.ts';
import { joinOfRelation } from '../schema/relations.ts';
import { fieldVisibilityCondition, isFilterable, type QueryViewer, relatedQueryViewer } from './filter.ts';
import { type Condition, RelatedCondition } from './list-query.ts';
import { queryError, shortenForMessage } from './parameter.ts';

/** Maximum relations in the path of a filter or a sort. */
export const MAX_PATH_RELATIONS = 4;
/** Maximum relations that the filters of one list follow: each is a subquery. */
export const MAX_FOLLOWED = 10;

/** A filter on a field, reached through the relations of a path such as `ticket.organisation.name`. */
export interface PathFilter {
  /** The relations and the field. */
  path: readonly string[];
  /** The filter as written, for messages. */
  written: string;
  /**
   * Returns the conditions that the filter puts on its field.
   *
   * @param resource the resource of the field
   * @param name the last part of the path
   */
  parse(resource: CompiledResource, name: string): Condition[];
}

/** Which relations filters can follow, and how. */
interface PathRules {
  /** The relation that a part of a path names. @throws for an unknown relation or one that cannot be followed */
  relationOf(resource: CompiledResource, name: string, filter: PathFilter): Relation;
  /** The condition that the viewer may see a relation's field; undefined if the viewer sees it in every record. */
  visibilityOf(holder: CompiledResource, relation: Relation): Condition | undefined;
  /** Whether a client wrote the filters. They then reach only records that the viewer may see. */
  byClient: boolean;
}

function parseLevel(resource: CompiledResource, filters: readonly PathFilter[], depth: number, rules: PathRules) {
  const own = filters.filter(({ path }) => path.length === depth + 1);
  const further = Map.groupBy(
    filters.filter(({ path }) => path.length > depth + 1),
    ({ path }) => path[depth]!,
  );
  const conditions = own.flatMap((filter) => filter.parse(resource, filter.path[depth]!));
  for (const [name, list] of further) conditions.push(...followRelation(resource, name, list, depth, rules));
  return conditions;
}

function followRelation(
  resource: CompiledResource,
  name: string,
  filters: readonly PathFilter[],
  depth: number,
  rules: PathRules,
): Condition[] {
  const relation = rules.relationOf(resource, name, filters[0]!);
  const target = resource.getResource(relation.target);
  const some = parseLevel(target, filters, depth + 1, rules);
  const isReverse = relation.kind === 'reverse';
  const visibility = rules.visibilityOf(isReverse ? target : resource, relation);
  const seen = visibility === undefined ? [] : [visibility];
  const unchecked = rules.byClient ? relation : undefined;
  const related = new RelatedCondition(target, joinOfRelation(relation), [...(isReverse ? seen : []), ...some], {
    unchecked,
  });
  return isReverse ? [related] : [...seen, related];
}

/**
 * The conditions of filters that may follow relations. Filters whose paths begin with the same relation are about the same related record.
 *
 * @throws for a path that is too long, or a relation that cannot be followed
 */
export function pathConditions(
  resource: CompiledResource,
  filters: readonly PathFilter[],
  rules: PathRules,
  error: (message: string) => Error = queryError,
): Condition[] {
  const long = filters.find(({ path }) => path.length > MAX_PATH_RELATIONS + 1);
  if (long !== undefined)
    throw error(`The filter "${shortenForMessage(long.written)}" follows more than ${MAX_PATH_RELATIONS} relations`);
  const followed = new Set(
    filters.flatMap(({ path }) => path.slice(0, -1).map((_, i) => path.slice(0, i + 1).join('.'))),
  );
  if (followed.size > MAX_FOLLOWED) throw error(`The filters follow more than ${MAX_FOLLOWED} relations`);
  return parseLevel(resource, filters, 0, rules);
}

/** Whether clients can follow a relation with a filter: a reverse relation, or a reference that they can filter. */
function canClientFollow(resource: CompiledResource, { kind, name, field }: Relation): boolean {
  return kind === 'reverse' ? !field.secret : isFilterable(resource, name);
}

/** The relations of a resource that the paths of a viewer can follow. */
export function relationsFor(resource: CompiledResource, viewer: QueryViewer): Relation[] {
  return [...resource.relations.values()].filter(
    (relation) => viewer === 'system' || canClientFollow(resource, relation),
  );
}

/**
 * The rules for filters with the rights of a viewer.
 *
 * @param root the resource at which the paths begin
 * @param unknownFilter creates the error for a relation that does not exist or cannot be followed
 */
export function pathRulesFor(
  root: CompiledResource,
  viewer: QueryViewer,
  unknownFilter: (resource: CompiledResource, written: string) => ApiError,
): PathRules {
  return {
    relationOf(resource, name, { written }) {
      const relation = resource.relations.get(name);
      if (relation === undefined || (viewer !== 'system' && !canClientFollow(resource, relation)))
        throw unknownFilter(resource, written);
      return relation;
    },
    visibilityOf: (holder, { field }) =>
      fieldVisibilityCondition(holder, field, holder === root ? viewer : relatedQueryViewer(viewer, holder)),
    byClient: viewer !== 'system',
  };
}

/** The rules for filters that the project's scopes and policies return. They see every record and field. */
export const CODE_PATH_RULES: PathRules = {
  relationOf(resource, name, { written }) {
    const relation = resource.relations.get(name);
    if (relation !== undefined) return relation;
    const known = [...resource.relations.keys()].join(', ') || 'none';
    throw new Error(`"${written}" follows the unknown relation "${name}" of "${resource.name}"; relations: ${known}`);
  },
  visibilityOf: () => undefined,
  byClient: false,
};

/** The condition that a record has related records that the viewer may see, or none. */
export function relatedExistsCondition(
  resource: CompiledResource,
  relation: Relation,
  wanted: boolean,
  viewer: QueryViewer,
): Condition {
  const target = resource.getResource(relation.target);
  const visibility = fieldVisibilityCondition(target, relation.field, relatedQueryViewer(viewer, target));
  return new RelatedCondition(target, joinOfRelation(relation), visibility === undefined ? [] : [visibility], {
    unchecked: viewer === 'system' ? undefined : relation,
    none: !wanted,
  });
}
