import type { IndexedColumn, PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig } from '../../platform/data/postgres/drizzle.ts';
import { MAX_IDENTIFIER_BYTES, primaryKeyName, sequenceName } from '../../platform/data/postgres/identifiers.ts';

/** Returns the names of a table's indexes; drizzle derives a name from the columns if the declaration has none. */
function indexNames({ name, indexes }: ReturnType<typeof getTableConfig>): string[] {
  return indexes.map(({ config }) => {
    const columns = config.columns.map((column) => (column as IndexedColumn).name ?? 'expression');
    return config.name ?? `${name}_${columns.join('_')}_index`;
  });
}

/** Returns the relation names that a table uses in the schema: the names of the table, its indexes and its keys. */
export function collectRelationNamesOfTable(table: PgTable): string[] {
  const config = getTableConfig(table);
  const { name, columns, primaryKeys, uniqueConstraints } = config;
  const names = [
    name,
    primaryKeyName(name),
    ...indexNames(config),
    ...columns.flatMap((column) => (column.isUnique ? (column.uniqueName ?? []) : [])),
    ...[...primaryKeys, ...uniqueConstraints].flatMap((key) => key.getName() ?? []),
  ];
  return [...new Set(names)];
}

/** Returns the names of a table, its columns, indexes, keys and constraints that are too long for Postgres. */
export function findOverlongNames(table: PgTable): string[] {
  const { columns, foreignKeys, checks } = getTableConfig(table);
  const names = [
    ...collectRelationNamesOfTable(table),
    ...columns.map((column) => column.name),
    ...foreignKeys.map((key) => key.getName()),
    ...checks.map((check) => check.name),
  ];
  return names.filter((name) => Buffer.byteLength(name) > MAX_IDENTIFIER_BYTES);
}

/** Returns the names that tables use in the schema, including the names of possible sequences and of the `sync` table. */
export function collectRelationNames(tables: Record<string, PgTable>): Set<string> {
  const names = Object.values(tables).flatMap((table) => {
    const { name, columns } = getTableConfig(table);
    return [...collectRelationNamesOfTable(table), ...columns.map((column) => sequenceName(name, column.name))];
  });
  return new Set([...names, 'belfry_sync', 'belfry_sync_pkey']);
}
