import type { PgTable } from 'drizzle-orm/pg-core';
import { getTableConfig } from '../../platform/postgres/drizzle.ts';

/** The names that tables take in the schema: their own, and those of their indexes, keys and sequences. With those of `sync`. */
export function relationNames(tables: Record<string, PgTable>): Set<string> {
  const names = Object.values(tables).flatMap((table) => {
    const { name, columns, indexes, primaryKeys, uniqueConstraints } = getTableConfig(table);
    return [
      name,
      `${name}_pkey`,
      ...indexes.flatMap(({ config }) => config.name ?? []),
      ...columns.flatMap((column) => (column.isUnique ? (column.uniqueName ?? []) : [])),
      ...columns.map((column) => `${name}_${column.name}_seq`),
      ...[...primaryKeys, ...uniqueConstraints].flatMap((key) => key.getName() ?? []),
    ];
  });
  return new Set([...names, 'belfry_sync', 'belfry_sync_pkey']);
}
