import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { findConversion } from './convert.ts';
import type { DeclaredColumn, DeclaredFacts } from './declared.ts';
import type { Renames } from './renames.ts';
import type { RequestedChanges } from './requested-changes.ts';
import { NAMED_PARTS, type NamedShape, type Snapshot, type StoredColumn, type TableShape } from './snapshot.ts';
import { describeUncheckedMembers, describeUncheckedValues, findShapeMismatchReason } from './stored-values.ts';

/** A column that cannot change to its declaration without losing or breaking its values. */
export interface RefusedChange {
  table: string;
  column: string;
  /** The name of the column in the database, before its rename: `posts.title`. */
  earlierName: string;
  /** Why the column cannot change, as a sentence. */
  reason: string;
  /** If the type of the column changes: an example of an expression for `--using`; undefined if there is no conversion. */
  example: string | undefined;
  /** The type of the column in the database; undefined if its values would be unreadable, whatever the type. */
  from: string | undefined;
  /** The type of the column in the declarations. */
  type: string;
  /** For a column whose type stays the same: the expression for `--using` if all values are valid unchanged. */
  asIs?: string | undefined;
}

/** A column that may contain values that are no longer valid, with its name in the database before the change. */
export type UncheckedColumn = {
  table: string;
  column: string;
  /** The note for the developer about the column's values. */
  note: string;
  array: boolean;
} & (
  | {
      /** The values that the column's enum allows. */
      values: readonly string[];
    }
  | {
      /** Maximum bytes of a text that fit into the column's index. */
      room: number;
    }
  | {
      /** The table to whose rows the column must refer. */
      target: string;
    }
  | {
      /** Rows without a value stay so, although new ones get a default. */
      missing: true;
    }
);

interface ColumnChanges {
  statements: string[];
  refusals: RefusedChange[];
  /** Columns that are dropped and created again, by their earlier names. */
  replaced: { table: string; column: string }[];
  notes: string[];
  unchecked: UncheckedColumn[];
  /** Columns with a useless `--using`: their type does not change. */
  unused: string[];
}

/** Returns why the values of a column could not be read after the change, whatever its type; undefined if they could. */
function findUnreadableReason(
  kept: StoredColumn | undefined,
  now: DeclaredColumn | undefined,
  moved: boolean,
): string | undefined {
  if (now === undefined) return undefined;
  if (kept === undefined) {
    return moved && now.bound !== undefined
      ? `${now.field} is encrypted, and ciphertexts are bound to the names that they were written under`
      : undefined;
  }
  if (kept.bound !== now.bound) {
    if (now.bound === undefined) return `its values are encrypted, and ${now.field} would return them undecrypted`;
    if (kept.bound === undefined) return `its values are not encrypted, and ${now.field} could not decrypt them`;
    const earlierName = kept.bound.replace('/', '.');
    return `the ciphertexts of ${earlierName} are bound to that name, and ${now.field} could not decrypt them`;
  }
  if (kept.kind === 'password' && now.kind !== 'password')
    return `its values are password hashes, and ${now.field} would return them`;
  if (kept.kind !== 'password' && now.kind === 'password')
    return `its values are not password hashes, so nobody could sign in with ${now.field}`;
  return undefined;
}

function listsColumn(part: NamedShape, column: string): boolean {
  const lists = [part.columns, part.columnsFrom].filter(Array.isArray) as (string | { expression: string })[][];
  return lists.flat().some((term) => (typeof term === 'string' ? term : term.expression) === column);
}

/** Removes a column from a snapshot, with its indexes and constraints. Changes the snapshot in place. */
function removeColumn(snapshot: Snapshot, table: TableShape, column: string): void {
  delete table.columns[column];
  delete snapshot.belfry?.columns[`${table.name}.${column}`];
  for (const part of NAMED_PARTS) {
    table[part] = Object.fromEntries(Object.entries(table[part]).filter(([, one]) => !listsColumn(one, column)));
  }
}

/** Returns the names that a table and its column have in the database, before the renames. */
export function findEarlierNames(renames: Renames, table: string, column: string): { table: string; column: string } {
  return {
    table: renames.tables.find(({ to }) => to === table)?.from ?? table,
    column: renames.columns.find((one) => one.table === table && one.to === column)?.from ?? column,
  };
}

/** A column that stays: as it is in the database, and as it is declared. */
interface LastingColumn {
  table: TableShape;
  name: string;
  /** `posts.title`. */
  key: string;
  /** Its names in the database, before the renames. */
  before: { table: string; column: string };
  earlierName: string;
  /** Its type in the database. */
  from: string;
  /** Its type in the declarations. */
  type: string;
  kept: StoredColumn | undefined;
  now: DeclaredColumn | undefined;
  isEncrypted: boolean;
  /** The expression that was given with `--using`. */
  expression: string | undefined;
}

/** What happens to a column that stays. */
type Decision =
  | { kind: 'unchanged' }
  | { kind: 'converted'; using: string }
  | ({ kind: 'refused' } & Pick<RefusedChange, 'reason' | 'asIs'> & Partial<Pick<RefusedChange, 'example' | 'from'>>);

function decideChange(column: LastingColumn): Decision {
  const { name, key, earlierName, from, type, kept, now, isEncrypted, expression } = column;
  const unreadableReason = findUnreadableReason(kept, now, earlierName !== key);
  if (unreadableReason !== undefined) return { kind: 'refused', reason: unreadableReason };
  if (from === type) {
    const reason = findShapeMismatchReason(kept, now);
    if (reason === undefined) return { kind: 'unchanged' };
    // SQL can convert JSON to other JSON, but not one ciphertext to another.
    if (isEncrypted) return { kind: 'refused', reason };
    if (expression === undefined) return { kind: 'refused', reason, asIs: quoteIdentifier(name) };
    return { kind: 'converted', using: expression };
  }
  if (expression !== undefined) return { kind: 'converted', using: expression };
  const conversion = findConversion(quoteIdentifier(name), from, type, now?.spec);
  if ('using' in conversion) return { kind: 'converted', using: conversion.using };
  const reason = `its type cannot become ${type} (it is ${from}): ${conversion.loss}`;
  return { kind: 'refused', reason, example: conversion.example, from };
}

/** Adds a note about values that stay in their column but may no longer be valid. */
function noteUncheckedValues(
  changes: ColumnChanges,
  { key, before, type, kept, now, isEncrypted }: LastingColumn,
): void {
  const note = describeUncheckedValues(key, kept, now) ?? describeUncheckedMembers(key, kept, now);
  if (note === undefined) return;
  changes.notes.push(note);
  if (now?.values !== undefined && !isEncrypted)
    changes.unchecked.push({ ...before, note, values: now.values, array: type.endsWith('[]') });
}

/** Drops a column; it is created again later. Changes the snapshot in place. */
function replaceColumn(changes: ColumnChanges, snapshot: Snapshot, { table, name, before }: LastingColumn): void {
  changes.statements.push(`ALTER TABLE ${quoteIdentifier(table.name)} DROP COLUMN ${quoteIdentifier(name)};`);
  changes.replaced.push(before);
  removeColumn(snapshot, table, name);
}

/** Converts the values of a column. Changes the description of its table in place. */
function convertColumn(changes: ColumnChanges, { table, name, key, type }: LastingColumn, using: string): void {
  const quoted = quoteIdentifier(name);
  // Postgres could not convert the default.
  const dropDefault = table.columns[name]!.default === undefined ? '' : `ALTER COLUMN ${quoted} DROP DEFAULT, `;
  delete table.columns[name]!.default;
  changes.statements.push(
    `ALTER TABLE ${quoteIdentifier(table.name)} ${dropDefault}ALTER COLUMN ${quoted} SET DATA TYPE ${type} USING ${using};`,
  );
  changes.notes.push(`${key} becomes ${type}: reads and writes of ${table.name} wait while its rows are rewritten`);
}

function toRefusal(
  { table, name, earlierName, type }: LastingColumn,
  { reason, example, from, asIs }: Extract<Decision, { kind: 'refused' }>,
): RefusedChange {
  return { table: table.name, column: name, earlierName, reason, example, from, type, asIs };
}

/**
 * Plans the statements that change columns which stay to their declared types.
 *
 * @param snapshot the earlier description with all renames applied; changed in place to the description after the statements
 */
export function planColumnChanges(
  snapshot: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  { using, dropped }: RequestedChanges,
  renames: Renames,
): ColumnChanges {
  const changes: ColumnChanges = { statements: [], refusals: [], replaced: [], notes: [], unchecked: [], unused: [] };
  const unused = new Set(using.keys());

  function describeColumn(table: TableShape, name: string, type: string): LastingColumn {
    const key = `${table.name}.${name}`;
    const before = findEarlierNames(renames, table.name, name);
    const earlierName = `${before.table}.${before.column}`;
    const now = declared.columns.get(key);
    return {
      table,
      name,
      key,
      before,
      earlierName,
      from: table.columns[name]!.type,
      type,
      now,
      kept: snapshot.belfry?.columns[key],
      isEncrypted: now?.bound !== undefined,
      expression: using.get(key) ?? using.get(earlierName),
    };
  }

  function planColumnChange(column: LastingColumn): void {
    const { table, name, key, earlierName, type } = column;
    const decision = decideChange(column);
    if (decision.kind === 'unchanged') {
      noteUncheckedValues(changes, column);
      return;
    }
    if (decision.kind === 'refused' && (dropped.has(key) || dropped.has(earlierName))) {
      replaceColumn(changes, snapshot, column);
      return;
    }
    if (decision.kind === 'refused') changes.refusals.push(toRefusal(column, decision));
    else {
      unused.delete(using.has(key) ? key : earlierName);
      convertColumn(changes, column, decision.using);
    }
    // Continue as if the column had its declared type: one run then reports the refused changes of all columns.
    table.columns[name]!.type = type;
  }

  for (const [key, table] of Object.entries(snapshot.tables)) {
    for (const wanted of Object.values(next.tables[key]?.columns ?? {})) {
      if (table.columns[wanted.name] !== undefined) planColumnChange(describeColumn(table, wanted.name, wanted.type));
    }
  }
  changes.unused.push(...unused);
  return changes;
}
