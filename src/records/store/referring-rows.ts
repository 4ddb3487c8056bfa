import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { createSqlParameters } from '../query/sql/conditions.ts';
import type { UnnamedStatement } from '../query/sql/list-statements.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { Codec } from './codec.ts';
import { type Cause, createEventValuesOfMany, outboxInsertOfManySql } from './event.ts';
import { archiveInsertSql, archiveParameterValues, qualifyColumns, xminColumnSql } from './write-statements.ts';

/** A search for the records of one resource that refer to deleted records by one field. */
export interface ReferrerSearch {
  resource: CompiledResource;
  field: CompiledField;
  /** The ids of the deleted records. */
  deleted: readonly string[];
  /** Whether the found rows are locked, because they will change. */
  locks: boolean;
  /** The maximum number of records; may be infinite. */
  limit: number;
}

/** The condition that a field refers to at least one of the records in a placeholder. */
function refersToAnySql({ spec, column }: CompiledField, placeholder: string): string {
  const name = quoteIdentifier(column);
  return spec.inner === undefined ? `${name} = any(${placeholder}::text[])` : `${name} && ${placeholder}::text[]`;
}

/**
 * Finds the records that refer to deleted ones, with one statement for all searches. Rows: the index of the search, the id of the record.
 * Rows are locked in the order of their ids: concurrent deletions then wait for each other instead of deadlocking.
 */
export function createReferrerSearchStatement(searches: readonly ReferrerSearch[]): UnnamedStatement {
  const params = createSqlParameters();
  const parts = searches.map(({ resource, field, deleted, locks, limit }, i) => {
    const where = refersToAnySql(field, params.add(deleted));
    const rows = `select ${i} as "_search", "id" from ${quoteIdentifier(resource.table)} where ${where} order by "id"${Number.isFinite(limit) ? ` limit ${limit}` : ''}`;
    return `select * from (${rows}${locks ? ' for update' : ''}) _found_${i}`;
  });
  return { text: parts.join(' union all '), values: params.values };
}

/** Deletes records by id and writes an event for each; with soft delete, moves the records to the archive. Returns the deleted records. */
export function createDeletionOfManyStatement(
  resource: CompiledResource,
  { columns }: Codec,
  ids: readonly string[],
  cause: Cause,
): UnnamedStatement {
  // The owner may restore the records that they deleted themselves. Others need more than ownership: nobody decided on these records.
  const kept = archiveParameterValues(resource, cause.userId, ['system']);
  const given = 1 + kept.length;
  const text = `with _new as (delete from ${quoteIdentifier(resource.table)} where "id" = any($1::text[]) returning *${xminColumnSql(resource)}),${archiveInsertSql(resource, 1)}
  ${outboxInsertOfManySql(resource, 'deleted', given)} select ${columns} from _new`;
  return { text, values: [ids, ...kept, ...createEventValuesOfMany(resource, 'deleted', cause, ids)] };
}

/** A field whose references to deleted records are cleared. */
export interface ClearedField {
  field: CompiledField;
  /** The ids of the deleted records. */
  deleted: readonly string[];
}

/** The value of a field of `_row` without the references to deleted records. */
export function clearedValueSql({ spec, column }: CompiledField, deleted: string): string {
  const value = `_row.${quoteIdentifier(column)}`;
  if (spec.inner === undefined) return `case when ${value} = any(${deleted}::text[]) then null else ${value} end`;
  const remaining = `select _id from unnest(${value}) with ordinality _items(_id, _at) where _id <> all(${deleted}::text[]) order by _at`;
  return `case when ${value} && ${deleted}::text[] then array(${remaining}) else ${value} end`;
}

/**
 * Clears the references of records to deleted ones, and writes an event for each record. Returns each record after and before the change, in
 * one row.
 */
export function createReferenceClearingStatement(
  resource: CompiledResource,
  { columns }: Codec,
  ids: readonly string[],
  cleared: readonly ClearedField[],
  cause: Cause,
): UnnamedStatement {
  const table = quoteIdentifier(resource.table);
  const params = createSqlParameters([ids]);
  const sets = cleared.map(
    ({ field, deleted }) => `${quoteIdentifier(field.column)} = ${clearedValueSql(field, params.add(deleted))}`,
  );
  if (resource.timestamps) sets.push(`"updated_at" = greatest(now(), _row."updated_at" + interval '1 millisecond')`);
  const text = `with _old as (select *${xminColumnSql(resource)} from ${table} where "id" = any($1::text[]) for update),
  _new as (update ${table} _row set ${sets.join(', ')} from _old where _row."id" = _old."id" returning _row.*${xminColumnSql(resource, '_row.')}),
  ${outboxInsertOfManySql(resource, 'updated', params.values.length)}
  select ${qualifyColumns(columns, '_new')}, ${qualifyColumns(columns, '_old')} from _new join _old on _old."id" = _new."id"`;
  return { text, values: [...params.values, ...createEventValuesOfMany(resource, 'updated', cause, ids)] };
}
