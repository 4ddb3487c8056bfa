import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { findEarlierNames, type UncheckedColumn } from './column-changes.ts';
import type { DeclaredColumn, DeclaredFacts } from './declared.ts';
import type { Renames } from './renames.ts';
import type { Snapshot } from './snapshot.ts';

function describeBackfill(table: string, column: string, { fill, unfilled }: DeclaredColumn): string {
  if (fill === undefined) return `${unfilled}, so fill them in code`;
  const [quotedTable, quotedColumn] = [table, column].map(quoteIdentifier);
  return `fill them with: update ${quotedTable} set ${quotedColumn} = ${fill} where ${quotedColumn} is null, in a file that npx belfry migration generate fill_${column} --empty creates`;
}

/**
 * Notes on existing columns whose field has a new default: rows that were stored before have no value.
 *
 * @param before the earlier description, with all renames applied
 */
export function findRowsWithoutDefault(
  before: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  renames: Renames,
): UncheckedColumn[] {
  // A snapshot of an earlier version does not say which fields had a default.
  if (before.belfry?.knowsDefaults !== true) return [];
  return Object.entries(next.tables).flatMap(([tableKey, table]) =>
    Object.keys(table.columns).flatMap((column): UncheckedColumn[] => {
      const key = `${table.name}.${column}`;
      const now = declared.columns.get(key);
      const isNew = before.tables[tableKey]?.columns[column] === undefined;
      if (now === undefined || isNew || !now.hasDefault || before.belfry!.columns[key]?.hasDefault) return [];
      const note = `${key} gets a default, but existing rows without a value stay without one: ${describeBackfill(table.name, column, now)}`;
      return [{ ...findEarlierNames(renames, table.name, column), note, missing: true, array: false }];
    }),
  );
}
