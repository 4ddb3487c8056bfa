import type { AnyPgColumn, ExtraConfigColumn, PgColumnBuilderBase, PgTable } from 'drizzle-orm/pg-core';
import {
  customType,
  foreignKey,
  index,
  pgTable,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../../platform/data/postgres/drizzle.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import { arrayTextSql, digestSql, prefixSql } from '../fields/index-expressions.ts';
import { type CompiledField, type CompiledResource, type Index, sqlTypeOf } from './compiled.ts';
import { foreignKeyNameOf } from './references.ts';
import { archiveDeletionTimeIndexName, archiveOwnerIndexName } from './table-names.ts';

function createColumn(field: CompiledField): PgColumnBuilderBase {
  const type = sqlTypeOf(field);
  return customType<{ data: unknown }>({ dataType: () => type })(field.column);
}

type Columns = Record<string, ExtraConfigColumn>;

// Puts nulls first in a descending column, as ORDER BY … DESC does. With drizzle's default, nulls last, the index would serve no sort.
function orderIndexColumn(column: ExtraConfigColumn, descending: boolean) {
  return descending ? column.desc().nullsFirst() : column;
}

function createIndex({ field }: CompiledResource, { name, method, unique, terms }: Index, columns: Columns) {
  const { field: first, column } = terms[0]!;
  const own = columns[first]!;
  if (method === 'search') {
    const isArray = field.get(first)?.spec.inner !== undefined;
    return index(name).using('gin', isArray ? sql.raw(`${arrayTextSql(column)} gin_trgm_ops`) : own.op('gin_trgm_ops'));
  }
  if (method === 'digest') return uniqueIndex(name).on(sql.raw(digestSql(column)));
  if (method === 'prefix') return index(name).on(sql.raw(prefixSql(quoteIdentifier(column))), columns.id!);
  if (method !== 'btree') return index(name).using(method, own);
  const [one, ...rest] = terms.map((term) => orderIndexColumn(columns[term.field]!, term.descending));
  return (unique ? uniqueIndex(name) : index(name)).on(one!, ...rest);
}

function createArchiveIndexes({ archived, table, ownerField }: CompiledResource, columns: Columns) {
  if (!archived) return [];
  const purged = index(archiveDeletionTimeIndexName(table)).on(columns.deletedAt!);
  const owner = ownerField === undefined || ownerField === 'id' ? undefined : columns[ownerField];
  return owner === undefined ? [purged] : [purged, index(archiveOwnerIndexName(table)).on(owner, columns.id!)];
}

/** Creates the foreign keys of a table. The archive has none: its records may refer to deleted ones. */
function createForeignKeys(resource: CompiledResource, columns: Columns, tableOf: (resource: string) => PgTable) {
  if (resource.archived) return [];
  return resource.fields.flatMap((field) => {
    const name = foreignKeyNameOf(resource, field);
    if (name === undefined) return [];
    const { id } = tableOf(field.target!) as unknown as { id: AnyPgColumn };
    return [foreignKey({ name, columns: [columns[field.name] as unknown as AnyPgColumn], foreignColumns: [id] })];
  });
}

/**
 * Returns the drizzle table definition of a resource.
 *
 * @param tableOf returns the table of a resource that a foreign key refers to. Called once all tables are created
 */
export function createResourceTable(resource: CompiledResource, tableOf: (resource: string) => PgTable): PgTable {
  const times = {
    createdAt: timestamptz('created_at').notNull().default(sql`now()`),
    updatedAt: timestamptz('updated_at').notNull().default(sql`now()`),
  };
  const fields = Object.fromEntries(resource.fields.map((field) => [field.name, createColumn(field)]));
  const archived = {
    deletedAt: timestamptz('deleted_at').notNull(),
    // Null in rows that were archived before this column existed.
    deletedUnder: text('deleted_under').array(),
  };
  const shape = {
    id: text('id').primaryKey(),
    ...fields,
    ...(resource.timestamps ? times : {}),
    ...(resource.archived ? archived : {}),
  };
  return pgTable(resource.table, shape, (table) => {
    const columns = table as unknown as Columns;
    return [
      ...resource.indexes.map((one) => createIndex(resource, one, columns)),
      ...createArchiveIndexes(resource, columns),
      ...createForeignKeys(resource, columns, tableOf),
    ];
  }) as unknown as PgTable;
}
