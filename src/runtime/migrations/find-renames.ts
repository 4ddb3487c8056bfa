import { StartupError } from '../../platform/environment.ts';
import type { Declared } from './declared.ts';
import type { RequestedChanges } from './requested-changes.ts';
import type { Snapshot } from './snapshot.ts';

/** Tables and columns that get another name, in an order in which no two ever have the same. */
export interface Renames {
  tables: { from: string; to: string }[];
  /** `table`: as it is called afterwards. */
  columns: { table: string; from: string; to: string }[];
}

interface Names {
  /** How one is called in messages: `posts.title`. */
  label(name: string): string;
  before: ReadonlySet<string>;
  after: ReadonlySet<string>;
}

/**
 * Which names of before live on under another name of after. A name that is there already was renamed long ago: what is
 * declared of it has no effect any more.
 *
 * @param earlier names that one of after may have had, latest first
 */
function resolve(
  { label, before, after }: Names,
  earlier: ReadonlyMap<string, readonly string[]>,
  faults: string[],
): { from: string; to: string }[] {
  const found: { from: string; to: string }[] = [];
  const gone = new Set<string>();
  const settled = new Set<string>();
  // a → b and b → c at once: b is free for a only when it has gone to c.
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
    faults.push(
      `${label(to)} is declared as renamed from ${from}, but ${from} is declared too: remove renamedFrom, or one of them`,
    );
  }
  return found;
}

function tableNames(snapshot: Snapshot): ReadonlySet<string> {
  return new Set(Object.values(snapshot.tables).map((table) => table.name));
}

function columnNames(snapshot: Snapshot, table: string): ReadonlySet<string> {
  return new Set(Object.keys(snapshot.tables[`public.${table}`]?.columns ?? {}));
}

/** The fault of a rename that was asked for and cannot be, if any. */
function askedFault(option: string, from: string, to: string, { before, after, label }: Names): string | undefined {
  if (!before.has(from)) return `${option}: the migrations have no ${label(from)}`;
  if (after.has(from)) return `${option}: ${label(from)} is still declared`;
  if (!after.has(to)) return `${option}: ${label(to)} is not declared`;
  return before.has(to) ? `${option}: ${label(to)} is there already` : undefined;
}

function findTables(
  previous: Snapshot,
  next: Snapshot,
  declared: Declared,
  requested: RequestedChanges,
  faults: string[],
) {
  const names = { before: tableNames(previous), after: tableNames(next), label: (name: string) => `table ${name}` };
  const earlier = new Map([...declared.tables].map(([table, { earlier }]) => [table, earlier]));
  for (const { from, to } of requested.renamedTables) {
    const fault = askedFault(`--rename-table ${from}=${to}`, from, to, names);
    if (fault === undefined) earlier.set(to, [from]);
    else faults.push(fault);
  }
  return resolve(names, earlier, faults);
}

function findColumns(
  previous: Snapshot,
  next: Snapshot,
  declared: Declared,
  requested: RequestedChanges,
  tables: Renames['tables'],
  faults: string[],
): Renames['columns'] {
  const byTable = Map.groupBy(requested.renamedColumns, ({ table }) => {
    return tables.find(({ from }) => from === table)?.to ?? table;
  });
  const after = tableNames(next);
  for (const [table, [one]] of byTable) {
    if (!after.has(table)) faults.push(`--rename ${table}.${one!.from}=${one!.to}: no table ${table} is declared`);
  }
  return [...after].flatMap((table) => {
    const was = tables.find(({ to }) => to === table)?.from ?? table;
    const label = (name: string) => `${table}.${name}`;
    const names = { before: columnNames(previous, was), after: columnNames(next, table), label };
    const earlier = new Map<string, readonly string[]>();
    for (const column of names.after) earlier.set(column, declared.columns.get(label(column))?.earlier ?? []);
    for (const { from, to } of byTable.get(table) ?? []) {
      const fault = askedFault(`--rename ${table}.${from}=${to}`, from, to, names);
      if (fault === undefined) earlier.set(to, [from]);
      else faults.push(fault);
    }
    return resolve(names, earlier, faults).map((rename) => ({ table, ...rename }));
  });
}

/**
 * What is renamed between two descriptions: as declared by `renamedFrom`, and as asked for.
 *
 * @throws StartupError listing all that cannot be
 */
export function findRenames(
  previous: Snapshot,
  next: Snapshot,
  declared: Declared,
  requested: RequestedChanges,
): Renames {
  const faults: string[] = [];
  const tables = findTables(previous, next, declared, requested, faults);
  const columns = findColumns(previous, next, declared, requested, tables, faults);
  if (faults.length > 0) throw new StartupError('This cannot be renamed:', faults);
  return { tables, columns };
}
