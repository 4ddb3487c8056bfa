import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { createSqlParameters } from '../query/sql/conditions.ts';
import type { UnnamedStatement } from '../query/sql/list-statements.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { archiveTable } from '../schema/table-names.ts';
import type { Codec } from './codec.ts';
import { type Cause, createEventValuesOfMany, outboxInsertOfManySql } from './event.ts';
import { type ClearedField, clearedValueSql } from './referring-rows.ts';
import { restoreSql } from './write-statements.ts';

const quotedArchiveTable = ({ table }: CompiledResource) => quoteIdentifier(archiveTable(table));

/** Locks a deleted record. Returns the time of its deletion as text, with the precision of Postgres. */
export function createArchiveLockStatement(resource: CompiledResource, id: string): UnnamedStatement {
  return {
    text: `select "deleted_at"::text from ${quotedArchiveTable(resource)} where "id" = $1 for update`,
    values: [id],
  };
}

/** A search for the deleted records of one resource that refer to others by a field. */
interface ArchiveSearch {
  resource: CompiledResource;
  field: CompiledField;
  /** The ids of the records that they refer to. */
  targets: readonly string[];
}

/**
 * Finds the records that a cascade deleted at a time: one statement for all searches. Rows: the index of the search, the id of the record. All
 * records of a deletion have the time at which its transaction began, and a cascade deletes only under these two privileges.
 */
export function createArchiveSearchStatement(
  searches: readonly ArchiveSearch[],
  deletedAt: string,
  limit: number,
): UnnamedStatement {
  const params = createSqlParameters([deletedAt]);
  const parts = searches.map(({ resource, field, targets }, i) => {
    const where = `"deleted_at" = $1::timestamptz and "deleted_under" in (array['system'], array['owner'])
    and ${quoteIdentifier(field.column)} = any(${params.add(targets)}::text[])`;
    return `select * from (select ${i} as "_search", "id" from ${quotedArchiveTable(resource)} where ${where} order by "id" limit ${limit} for update) _found_${i}`;
  });
  return { text: parts.join(' union all '), values: params.values };
}

/** Clears the references of deleted records to other deleted records. */
export function createArchiveClearingStatement(
  resource: CompiledResource,
  ids: readonly string[],
  cleared: readonly ClearedField[],
): UnnamedStatement {
  const params = createSqlParameters([ids]);
  const sets = cleared.map(
    ({ field, deleted }) => `${quoteIdentifier(field.column)} = ${clearedValueSql(field, params.add(deleted))}`,
  );
  const text = `update ${quotedArchiveTable(resource)} _row set ${sets.join(', ')} where "id" = any($1::text[])`;
  return { text, values: params.values };
}

/** Restores deleted records by id and writes an event for each. Returns the restored records. */
export function createRestoreOfManyStatement(
  resource: CompiledResource,
  { columns }: Codec,
  ids: readonly string[],
  cause: Cause,
): UnnamedStatement {
  const text = `with ${restoreSql(resource, '"id" = any($1::text[])')},
  ${outboxInsertOfManySql(resource, 'restored', 1)} select ${columns} from _new`;
  return { text, values: [ids, ...createEventValuesOfMany(resource, 'restored', cause, ids)] };
}
