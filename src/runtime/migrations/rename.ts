import { isDeepStrictEqual } from 'node:util';
import { primaryKeyName } from '../../platform/postgres/identifiers.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import type { Renames } from './find-renames.ts';
import { NAMED_PARTS, type NamedShape, type Snapshot, type TableShape } from './snapshot.ts';

/** What an index is built on, as drizzle-kit describes it. */
interface IndexTerm {
  expression: string;
  isExpression: boolean;
}

function renameKey<T>(record: Record<string, T>, from: string, to: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key === from ? to : key, value]));
}

function renamePrefix<T>(record: Record<string, T>, from: string, to: string): Record<string, T> {
  const renamed = (key: string) => (key.startsWith(from) ? to + key.slice(from.length) : key);
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [renamed(key), value]));
}

function allForeignKeys(snapshot: Snapshot): NamedShape[] {
  return Object.values(snapshot.tables).flatMap((table) => Object.values(table.foreignKeys));
}

function renameTable(snapshot: Snapshot, from: string, to: string): void {
  snapshot.tables = renameKey(snapshot.tables, `public.${from}`, `public.${to}`);
  snapshot.tables[`public.${to}`]!.name = to;
  for (const key of allForeignKeys(snapshot)) {
    for (const end of ['tableFrom', 'tableTo']) if (key[end] === from) key[end] = to;
  }
  if (snapshot.belfry === undefined) return;
  snapshot.belfry.columns = renamePrefix(snapshot.belfry.columns, `${from}.`, `${to}.`);
  snapshot.belfry.resources = renameKey(snapshot.belfry.resources, from, to);
}

function renameColumn(snapshot: Snapshot, table: string, from: string, to: string): void {
  const shape = snapshot.tables[`public.${table}`]!;
  const renamed = (names: unknown) => (names as string[]).map((name) => (name === from ? to : name));
  shape.columns = renameKey(shape.columns, from, to);
  shape.columns[to]!.name = to;
  for (const index of Object.values(shape.indexes)) {
    for (const term of index.columns as IndexTerm[]) {
      if (term.isExpression)
        term.expression = term.expression.replaceAll(quoteIdentifier(from), () => quoteIdentifier(to));
      else if (term.expression === from) term.expression = to;
    }
  }
  for (const part of ['compositePrimaryKeys', 'uniqueConstraints'] as const) {
    for (const each of Object.values(shape[part])) each.columns = renamed(each.columns);
  }
  for (const key of allForeignKeys(snapshot)) {
    if (key.tableFrom === table) key.columnsFrom = renamed(key.columnsFrom);
    if (key.tableTo === table) key.columnsTo = renamed(key.columnsTo);
  }
  if (snapshot.belfry !== undefined)
    snapshot.belfry.columns = renameKey(snapshot.belfry.columns, `${table}.${from}`, `${table}.${to}`);
}

/**
 * Renames tables and columns in a description.
 *
 * @returns the statements, and the description as it is after them; the names of indexes and constraints are the old ones
 */
export function applyRenames(previous: Snapshot, renames: Renames): { statements: string[]; renamed: Snapshot } {
  const renamed = structuredClone(previous);
  const statements: string[] = [];
  for (const { from, to } of renames.tables) {
    renameTable(renamed, from, to);
    statements.push(`ALTER TABLE ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)};`);
    const [key, next] = [primaryKeyName(from), primaryKeyName(to)];
    if (key !== next)
      statements.push(`ALTER INDEX IF EXISTS ${quoteIdentifier(key)} RENAME TO ${quoteIdentifier(next)};`);
  }
  for (const { table, from, to } of renames.columns) {
    renameColumn(renamed, table, from, to);
    statements.push(
      `ALTER TABLE ${quoteIdentifier(table)} RENAME COLUMN ${quoteIdentifier(from)} TO ${quoteIdentifier(to)};`,
    );
  }
  return { statements, renamed };
}

interface Move {
  table: TableShape;
  part: (typeof NAMED_PARTS)[number];
  from: string;
  to: string;
}

/** Indexes and constraints that differ between two descriptions of a table in nothing but their name. */
function movesOf(table: TableShape, next: TableShape): Move[] {
  return NAMED_PARTS.flatMap((part) => {
    const left = Object.values(table[part]).filter(({ name }) => next[part][name] === undefined);
    return Object.values(next[part]).flatMap((wanted) => {
      if (table[part][wanted.name] !== undefined) return [];
      const at = left.findIndex((one) => isDeepStrictEqual({ ...one, name: '' }, { ...wanted, name: '' }));
      return at === -1 ? [] : [{ table, part, from: left.splice(at, 1)[0]!.name, to: wanted.name }];
    });
  });
}

function apply({ table, part, from, to }: Move): string {
  table[part] = renameKey(table[part], from, to);
  table[part][to]!.name = to;
  return part === 'indexes'
    ? `ALTER INDEX ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)};`
    : `ALTER TABLE ${quoteIdentifier(table.name)} RENAME CONSTRAINT ${quoteIdentifier(from)} TO ${quoteIdentifier(to)};`;
}

/**
 * Renames indexes and constraints whose names are made from those of tables and columns, in place of building them anew.
 * One whose new name is still taken is left as it is: it is dropped and made.
 *
 * @param snapshot changed in place
 */
export function renameParts(snapshot: Snapshot, next: Snapshot): string[] {
  const moves = Object.entries(snapshot.tables).flatMap(([key, table]) => {
    const after = next.tables[key];
    return after === undefined ? [] : movesOf(table, after);
  });
  const taken = new Set(
    Object.values(snapshot.tables).flatMap((table) => NAMED_PARTS.flatMap((part) => Object.keys(table[part]))),
  );
  const statements: string[] = [];
  for (let more = true; more; ) {
    more = false;
    for (const move of moves.filter(({ to }) => !taken.has(to))) {
      moves.splice(moves.indexOf(move), 1);
      statements.push(apply(move));
      taken.delete(move.from);
      taken.add(move.to);
      more = true;
    }
  }
  return statements;
}
