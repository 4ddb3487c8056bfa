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

/** A column that may contain values that are no longer valid, by the name that it has in the database before the change. */
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
  /** Columns for which `--using` was given in vain, because their type does not change. */
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

/**
 * Plans the statements that change columns which stay to their declared types.
 *
 * @param snapshot the earlier description with all renames applied; changed in place to the description after the statements
 */
export function planColumnChanges(
  snapshot: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  requested: RequestedChanges,
  renames: Renames,
): ColumnChanges {
  const changes: ColumnChanges = { statements: [], refusals: [], replaced: [], notes: [], unchecked: [], unused: [] };
  const unused = new Set(requested.using.keys());

  function planColumnChange(table: TableShape, column: string, type: string): void {
    const key = `${table.name}.${column}`;
    const before = findEarlierNames(renames, table.name, column);
    const earlierName = `${before.table}.${before.column}`;
    const from = table.columns[column]!.type;
    const now = declared.columns.get(key);
    const kept = snapshot.belfry?.columns[key];
    const expression = requested.using.get(key) ?? requested.using.get(earlierName);
    const addRefusal = (reason: string, conversionFound: { example?: string | undefined; from?: string } = {}) =>
      changes.refusals.push({
        table: table.name,
        column,
        earlierName,
        reason,
        example: conversionFound.example,
        from: conversionFound.from,
        type,
      });

    const unreadableReason = findUnreadableReason(kept, now, earlierName !== key);
    const misshapenReason =
      unreadableReason === undefined && from === type ? findShapeMismatchReason(kept, now) : undefined;
    // SQL can convert JSON to other JSON, but not one ciphertext to another.
    const isEncrypted = now?.bound !== undefined;
    let conversionFound = from === type ? undefined : findConversion(quoteIdentifier(column), from, type, now?.spec);
    if (misshapenReason !== undefined && !isEncrypted && expression !== undefined)
      conversionFound = { using: expression };
    const isMisshapen = misshapenReason !== undefined && conversionFound === undefined;
    const isRefused =
      unreadableReason !== undefined ||
      isMisshapen ||
      (conversionFound !== undefined && 'loss' in conversionFound && expression === undefined);
    if (isRefused && (requested.dropped.has(key) || requested.dropped.has(earlierName))) {
      changes.statements.push(`ALTER TABLE ${quoteIdentifier(table.name)} DROP COLUMN ${quoteIdentifier(column)};`);
      changes.replaced.push(before);
      removeColumn(snapshot, table, column);
      return;
    }
    if (unreadableReason !== undefined) addRefusal(unreadableReason);
    else if (isMisshapen) {
      const asIs = isEncrypted ? undefined : quoteIdentifier(column);
      const refusal = {
        table: table.name,
        column,
        earlierName,
        reason: misshapenReason!,
        example: undefined,
        type,
        asIs,
      };
      changes.refusals.push({ ...refusal, from: undefined });
    } else if (conversionFound === undefined) {
      const note = describeUncheckedValues(key, kept, now) ?? describeUncheckedMembers(key, kept, now);
      if (note === undefined) return;
      changes.notes.push(note);
      if (now?.values !== undefined && !isEncrypted)
        changes.unchecked.push({ ...before, note, values: now.values, array: type.endsWith('[]') });
      return;
    } else if (isRefused && 'loss' in conversionFound) {
      addRefusal(`its type cannot become ${type} (it is ${from}): ${conversionFound.loss}`, {
        example: conversionFound.example,
        from,
      });
    } else {
      const using = expression ?? ('using' in conversionFound ? conversionFound.using : '');
      unused.delete(requested.using.has(key) ? key : earlierName);
      const quoted = quoteIdentifier(column);
      // Postgres could not convert the default.
      const dropDefault = table.columns[column]!.default === undefined ? '' : `ALTER COLUMN ${quoted} DROP DEFAULT, `;
      delete table.columns[column]!.default;
      changes.statements.push(
        `ALTER TABLE ${quoteIdentifier(table.name)} ${dropDefault}ALTER COLUMN ${quoted} SET DATA TYPE ${type} USING ${using};`,
      );
      changes.notes.push(`${key} becomes ${type}: reads and writes of ${table.name} wait while its rows are rewritten`);
    }
    // Continue as if the column had its declared type, so that one run reports the refused changes of all columns.
    table.columns[column]!.type = type;
  }

  for (const [key, table] of Object.entries(snapshot.tables)) {
    for (const wanted of Object.values(next.tables[key]?.columns ?? {})) {
      if (table.columns[wanted.name] !== undefined) planColumnChange(table, wanted.name, wanted.type);
    }
  }
  changes.unused.push(...unused);
  return changes;
}
