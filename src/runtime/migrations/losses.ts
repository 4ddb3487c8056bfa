import { namesBefore } from './column-changes.ts';
import type { Declared } from './declared.ts';
import type { Renames } from './find-renames.ts';
import type { Snapshot, TableShape } from './snapshot.ts';

/** A table or a column that goes, by its name in the database before. */
export interface Loss {
  table: string;
  /** undefined for a whole table. */
  column: string | undefined;
  /** New columns of its table, or new tables, that could be it under another name. */
  candidates: readonly string[];
}

// What every table has says nothing of where it came from.
const COMMON = new Set(['id', 'created_at', 'updated_at']);

function ownColumns(table: TableShape): Set<string> {
  return new Set(Object.keys(table.columns).filter((name) => !COMMON.has(name)));
}

/** Whether half of a table's columns are in another one, by name and type. */
function resembles(gone: TableShape, made: TableShape): boolean {
  const own = [...ownColumns(gone)];
  const shared = own.filter((name) => made.columns[name]?.type === gone.columns[name]!.type);
  return shared.length > 0 && shared.length * 2 >= own.length;
}

/** New columns of a table that a dropped one could be: of its type, and of its kind if there is such a one. */
function columnCandidates(before: Snapshot, table: TableShape, gone: string, after: TableShape, declared: Declared) {
  const kept = before.belfry?.columns[`${table.name}.${gone}`];
  if (kept?.bound !== undefined) return [];
  const made = Object.values(after.columns).filter(({ name, type }) => {
    if (table.columns[name] !== undefined || type !== table.columns[gone]!.type) return false;
    return declared.columns.get(`${table.name}.${name}`)?.bound === undefined;
  });
  const alike = made.filter(({ name }) => declared.columns.get(`${table.name}.${name}`)?.kind === kept?.kind);
  return (alike.length > 0 ? alike : made).map(({ name }) => name);
}

/**
 * What goes between two descriptions.
 *
 * @param before with everything renamed already
 */
export function findLosses(before: Snapshot, after: Snapshot, declared: Declared, renames: Renames): Loss[] {
  const made = Object.entries(after.tables).flatMap(([key, table]) =>
    before.tables[key] === undefined ? [table] : [],
  );
  return Object.entries(before.tables).flatMap(([key, table]): Loss[] => {
    const next = after.tables[key];
    if (next === undefined) {
      const candidates = made.filter((one) => resembles(table, one)).map(({ name }) => name);
      return [{ table: table.name, column: undefined, candidates }];
    }
    const gone = Object.keys(table.columns).filter((name) => next.columns[name] === undefined);
    return gone.map((name) => ({
      ...namesBefore(renames, table.name, name),
      candidates: columnCandidates(before, table, name, next, declared),
    }));
  });
}
