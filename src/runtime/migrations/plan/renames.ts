import { isDeepStrictEqual } from 'node:util';
import { primaryKeyName, quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { StartupError } from '../../../platform/helpers/config-errors.ts';
import { archiveTable } from '../../../records/schema/table-names.ts';
import { renameColumnInConstraints } from './constraints.ts';
import type { DeclaredFacts } from './declared.ts';
import type { RequestedChanges } from './requested-changes.ts';
import { NAMED_PARTS, type NamedShape, type Snapshot, type TableShape } from './snapshot.ts';

/** Tables and columns to rename, in an order that never gives two of them the same name. */
export interface Renames {
  tables: { from: string; to: string }[];
  /** `table`: the name of the table after the renames. */
  columns: { table: string; from: string; to: string }[];
}

interface NameSets {
  /** Returns the form of a name in messages: `posts.title`. */
  label(name: string): string;
  before: ReadonlySet<string>;
  after: ReadonlySet<string>;
}

/**
 * Finds the names that are renamed. If a new name exists in the database already, an earlier migration has made
 * the rename, so its `renamedFrom` has no effect any more.
 *
 * @param earlier earlier names of each new name, latest first
 */
function resolveRenames(
  { label, before, after }: NameSets,
  earlier: ReadonlyMap<string, readonly string[]>,
  errors: string[],
): { from: string; to: string }[] {
  const found: { from: string; to: string }[] = [];
  const gone = new Set<string>();
  const settled = new Set<string>();
  // With a → b and b → c at once, b is free for a only after b has become c.
  for (let more = true; more; ) {
    more = false;
    for (const [to, names] of earlier) {
      if (settled.has(to) || (before.has(to) && !gone.has(to))) continue;
      const from = names.find((name) => before.has(name) && !gone.has(name));
      if (from === undefined) continue;
      found.push({ from, to });
      gone.add(from);
      settled.add(to);
      more = true;
    }
  }
  for (const { from, to } of found) {
    if (!after.has(from) || settled.has(from)) continue;
    errors.push(
      `${label(to)} is declared as renamed from ${from}, but ${from} is declared too: remove renamedFrom, or one of them`,
    );
  }
  return found;
}

function tableNamesOf(snapshot: Snapshot): ReadonlySet<string> {
  return new Set(Object.values(snapshot.tables).map((table) => table.name));
}

function columnNamesOf(snapshot: Snapshot, table: string): ReadonlySet<string> {
  return new Set(Object.keys(snapshot.tables[`public.${table}`]?.columns ?? {}));
}

/** Returns why a requested rename is impossible; undefined if it is possible. */
function findRequestError(
  option: string,
  from: string,
  to: string,
  { before, after, label }: NameSets,
): string | undefined {
  if (!before.has(from)) return `${option}: the migrations have no ${label(from)}`;
  if (after.has(from)) return `${option}: ${label(from)} is still declared`;
  if (!after.has(to)) return `${option}: ${label(to)} is not declared`;
  return before.has(to) ? `${option}: ${label(to)} already exists` : undefined;
}

function findTableRenames(
  previous: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  requested: RequestedChanges,
  errors: string[],
) {
  const names = { before: tableNamesOf(previous), after: tableNamesOf(next), label: (name: string) => `table ${name}` };
  const earlier = new Map([...declared.tables].map(([table, { earlier }]) => [table, earlier]));
  for (const { from, to } of requested.renamedTables) {
    const error = findRequestError(`--rename-table ${from}=${to}`, from, to, names);
    if (error === undefined) earlier.set(to, [from]);
    else errors.push(error);
  }
  return resolveRenames(names, earlier, errors);
}

function findColumnRenames(
  previous: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  requested: RequestedChanges,
  tables: Renames['tables'],
  errors: string[],
): Renames['columns'] {
  const byTable = Map.groupBy(requested.renamedColumns, ({ table }) => {
    return tables.find(({ from }) => from === table)?.to ?? table;
  });
  const after = tableNamesOf(next);
  for (const [table, [one]] of byTable) {
    if (!after.has(table)) errors.push(`--rename ${table}.${one!.from}=${one!.to}: no table ${table} is declared`);
  }
  return [...after].flatMap((table) => {
    const was = tables.find(({ to }) => to === table)?.from ?? table;
    const label = (name: string) => `${table}.${name}`;
    const names = { before: columnNamesOf(previous, was), after: columnNamesOf(next, table), label };
    const earlier = new Map<string, readonly string[]>();
    for (const column of names.after) earlier.set(column, declared.columns.get(label(column))?.earlier ?? []);
    for (const { from, to } of byTable.get(table) ?? []) {
      const error = findRequestError(`--rename ${table}.${from}=${to}`, from, to, names);
      if (error === undefined) earlier.set(to, [from]);
      else errors.push(error);
    }
    return resolveRenames(names, earlier, errors).map((rename) => ({ table, ...rename }));
  });
}

/** Adds the renames of the tables that hold the soft-deleted records of a renamed table. */
function addRenamesOfArchives(requested: RequestedChanges, previous: Snapshot, next: Snapshot): RequestedChanges {
  const [before, after] = [tableNamesOf(previous), tableNamesOf(next)];
  const renamedTables = requested.renamedTables.flatMap((rename) => {
    const [from, to] = [archiveTable(rename.from), archiveTable(rename.to)];
    return before.has(from) && after.has(to) ? [rename, { from, to }] : [rename];
  });
  return { ...requested, renamedTables };
}

/** Adds the renames of columns in the tables that hold soft-deleted records. @param tables all renames of tables, also declared ones */
function addColumnsOfArchives(
  requested: RequestedChanges,
  previous: Snapshot,
  next: Snapshot,
  tables: Renames['tables'],
): RequestedChanges {
  const [before, after] = [tableNamesOf(previous), tableNamesOf(next)];
  const renamedColumns = requested.renamedColumns.flatMap((rename) => {
    const table = archiveTable(tables.find(({ from }) => from === rename.table)?.to ?? rename.table);
    const was = tables.find(({ to }) => to === table)?.from ?? table;
    return before.has(was) && after.has(table) ? [rename, { ...rename, table }] : [rename];
  });
  return { ...requested, renamedColumns };
}

/**
 * Finds the renames between two descriptions: declared by `renamedFrom`, or requested.
 *
 * @throws StartupError listing all impossible renames
 */
export function findRenames(
  previous: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  requested: RequestedChanges,
): Renames {
  const errors: string[] = [];
  const withArchives = addRenamesOfArchives(requested, previous, next);
  const tables = findTableRenames(previous, next, declared, withArchives, errors);
  const all = addColumnsOfArchives(withArchives, previous, next, tables);
  const columns = findColumnRenames(previous, next, declared, all, tables, errors);
  if (errors.length > 0) throw new StartupError('These renames are impossible:', errors);
  return { tables, columns };
}

/** The term of an index, as described by drizzle-kit. */
interface IndexTerm {
  expression: string;
  isExpression: boolean;
}

function renameKey<T>(record: Record<string, T>, from: string, to: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key === from ? to : key, value]));
}

function renamePrefix<T>(record: Record<string, T>, from: string, to: string): Record<string, T> {
  const replacePrefix = (key: string) => (key.startsWith(from) ? to + key.slice(from.length) : key);
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [replacePrefix(key), value]));
}

function listForeignKeys(snapshot: Snapshot): NamedShape[] {
  return Object.values(snapshot.tables).flatMap((table) => Object.values(table.foreignKeys));
}

function renameTable(snapshot: Snapshot, from: string, to: string): void {
  snapshot.tables = renameKey(snapshot.tables, `public.${from}`, `public.${to}`);
  snapshot.tables[`public.${to}`]!.name = to;
  for (const key of listForeignKeys(snapshot)) {
    for (const end of ['tableFrom', 'tableTo']) if (key[end] === from) key[end] = to;
  }
  if (snapshot.belfry === undefined) return;
  snapshot.belfry.columns = renamePrefix(snapshot.belfry.columns, `${from}.`, `${to}.`);
  snapshot.belfry.resources = renameKey(snapshot.belfry.resources, from, to);
  if (snapshot.belfry.constraints !== undefined)
    snapshot.belfry.constraints = renameKey(snapshot.belfry.constraints, from, to);
}

function renameColumn(snapshot: Snapshot, table: string, from: string, to: string): void {
  const shape = snapshot.tables[`public.${table}`]!;
  const renameInList = (names: unknown) => (names as string[]).map((name) => (name === from ? to : name));
  shape.columns = renameKey(shape.columns, from, to);
  shape.columns[to]!.name = to;
  renameColumnInConstraints(snapshot, table, from, to);
  for (const index of Object.values(shape.indexes)) {
    for (const term of index.columns as IndexTerm[]) {
      if (term.isExpression)
        term.expression = term.expression.replaceAll(quoteIdentifier(from), () => quoteIdentifier(to));
      else if (term.expression === from) term.expression = to;
    }
  }
  for (const part of ['compositePrimaryKeys', 'uniqueConstraints'] as const) {
    for (const each of Object.values(shape[part])) each.columns = renameInList(each.columns);
  }
  for (const key of listForeignKeys(snapshot)) {
    if (key.tableFrom === table) key.columnsFrom = renameInList(key.columnsFrom);
    if (key.tableTo === table) key.columnsTo = renameInList(key.columnsTo);
  }
  if (snapshot.belfry !== undefined)
    snapshot.belfry.columns = renameKey(snapshot.belfry.columns, `${table}.${from}`, `${table}.${to}`);
}

/**
 * Renames tables and columns in a description.
 *
 * @returns the statements, and the description after them; indexes and constraints keep their old names
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

interface PartRename {
  table: TableShape;
  part: (typeof NAMED_PARTS)[number];
  from: string;
  to: string;
}

/** Finds indexes and constraints that differ between two snapshots of a table only in their name. */
function findPartRenames(table: TableShape, next: TableShape): PartRename[] {
  return NAMED_PARTS.flatMap((part) => {
    const left = Object.values(table[part]).filter(({ name }) => next[part][name] === undefined);
    return Object.values(next[part]).flatMap((wanted) => {
      if (table[part][wanted.name] !== undefined) return [];
      const at = left.findIndex((one) => isDeepStrictEqual({ ...one, name: '' }, { ...wanted, name: '' }));
      return at === -1 ? [] : [{ table, part, from: left.splice(at, 1)[0]!.name, to: wanted.name }];
    });
  });
}

function applyPartRename({ table, part, from, to }: PartRename): string {
  table[part] = renameKey(table[part], from, to);
  table[part][to]!.name = to;
  return part === 'indexes'
    ? `ALTER INDEX ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)};`
    : `ALTER TABLE ${quoteIdentifier(table.name)} RENAME CONSTRAINT ${quoteIdentifier(from)} TO ${quoteIdentifier(to)};`;
}

/**
 * Plans the renames of indexes and constraints whose names derive from tables and columns, instead of rebuilding them.
 * If a new name is still in use, the index or constraint is dropped and created instead.
 *
 * @param snapshot changed in place
 */
export function planIndexAndConstraintRenames(snapshot: Snapshot, next: Snapshot): string[] {
  const moves = Object.entries(snapshot.tables).flatMap(([key, table]) => {
    const after = next.tables[key];
    return after === undefined ? [] : findPartRenames(table, after);
  });
  const taken = new Set(
    Object.values(snapshot.tables).flatMap((table) => NAMED_PARTS.flatMap((part) => Object.keys(table[part]))),
  );
  const statements: string[] = [];
  for (let more = true; more; ) {
    more = false;
    for (const move of moves.filter(({ to }) => !taken.has(to))) {
      moves.splice(moves.indexOf(move), 1);
      statements.push(applyPartRename(move));
      taken.delete(move.from);
      taken.add(move.to);
      more = true;
    }
  }
  return statements;
}
