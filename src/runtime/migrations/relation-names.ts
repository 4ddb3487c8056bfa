import type { PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig } from '../../platform/postgres/drizzle.ts';

/** The names that a table has for sure in the schema: its own, and those of its indexes and keys. */
export function keptNames(table: PgTable): string[] {
  const { name, columns, indexes, primaryKeys, uniqueConstraints } = getTableConfig(table);
  const names = [
    name,
    `${name}_pkey`,
    ...indexes.flatMap(({ config }) => config.name ?? []),
    ...columns.flatMap((column) => (column.isUnique ? (column.uniqueName ?? []) : [])),
    ...[...primaryKeys, ...uniqueConstraints].flatMap((key) => key.getName() ?? []),
  ];
  return [...new Set(names)];
}

/** The names that tables take in the schema, with those of sequences that they may have. With those of `sync`. */
export function relationNames(tables: Record<string, PgTable>): Set<string> {
  const names = Object.values(tables).flatMap((table) => {
    const { name, columns } = getTableConfig(table);
    return [...keptNames(table), ...columns.map((column) => `${name}_${column.name}_seq`)];
  });
  return new Set([...names, 'belfry_sync', 'belfry_sync_pkey']);
}
