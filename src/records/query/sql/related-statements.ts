import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import type { CompiledResource, Relation } from '../../schema/compiled.ts';
import { addIdTieBreaker } from '../../schema/indexes.ts';
import { relationJoinSql } from '../../schema/relations.ts';
import type { ListCondition } from '../list-query.ts';
import { conditionSql, createSqlParameters, type Parameters } from './conditions.ts';
import { orderSql, type UnnamedStatement } from './list-statements.ts';

/** The records of a reverse relation that a viewer may list. */
export interface RelatedList {
  relation: Relation;
  /** The ids of the records that the related records refer to. */
  parents: readonly string[];
  conditions: readonly ListCondition[];
}

/** The rows of the relation's target that refer to the row `_parents`. */
function relatedRowsSql(resource: CompiledResource, { relation, conditions }: RelatedList, params: Parameters): string {
  const join = relationJoinSql(relation, '_parents', '_row');
  const where = [join, ...conditions.map((condition) => conditionSql(resource, condition, params, '_row'))].join(
    ' and ',
  );
  return `from ${quoteIdentifier(resource.table)} _row where ${where}`;
}

/**
 * The statement that reads the related records of several records, in the order of the parents, and then in the default order of the target.
 * The last column, `_parent`, is the id of the parent.
 *
 * @param resource the target of the relation
 * @param columns the select list
 * @param each the maximum number of records for each parent
 * @param total the maximum number of all records
 */
export function createRelatedStatement(
  resource: CompiledResource,
  columns: string,
  list: RelatedList,
  { each, total }: { each: number; total: number },
): UnnamedStatement {
  const params = createSqlParameters([list.parents]);
  const order = orderSql(resource, addIdTieBreaker(resource.defaultSort), params);
  const related = `select ${columns} ${relatedRowsSql(resource, list, params)} order by ${order} limit ${params.add(each)}`;
  const qualified = columns
    .split(', ')
    .map((column) => `_related.${column}`)
    .join(', ');
  const joined = `select ${qualified}, _parents."id" as "_parent", "_place"
    from unnest($1::text[]) with ordinality _parents("id", "_place") cross join lateral (${related}) _related`;
  const text = `select ${columns}, "_parent" from (${joined}) _all order by "_place", ${order} limit ${params.add(total)}`;
  return { text, values: params.values };
}

/** The statement that counts the related records of several records, for each up to `cap`. Rows: the id of the parent, the number. */
export function createRelatedCountStatement(
  resource: CompiledResource,
  list: RelatedList,
  cap: number,
): UnnamedStatement {
  const params = createSqlParameters([list.parents]);
  const rows = `select ${relatedRowsSql(resource, list, params)} limit ${cap}`;
  const text = `select _parents."id", (select count(*) from (${rows}) _rows) from unnest($1::text[]) _parents("id")`;
  return { text, values: params.values };
}
