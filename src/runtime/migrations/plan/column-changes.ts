import { quoteIdentifier } from '../../../platform/postgres/identifiers.ts';
import { conversion } from './convert.ts';
import type { Declared, DeclaredColumn } from './declared.ts';
import type { Renames } from './renames.ts';
import type { RequestedChanges } from './requested-changes.ts';
import { type KeptColumn, NAMED_PARTS, type NamedShape, type Snapshot, type TableShape } from './snapshot.ts';
import { membersNote, misshapen, uncheckedNote } from './stored-values.ts';

/** A column that cannot change to its declaration without losing or breaking its values. */
export interface Refusal {
  table: string;
  column: string;
  /** Its earlier name: `posts.title`. */
  was: string;
  /** The reason, as a sentence. */
  why: string;
  /** For a change of type: an example expression for `--using`; undefined if there is none. */
  example: string | undefined;
  /** Its type in the database; undefined if its values are unreadable after the change, whatever the type. */
  from: string | undefined;
  /** Its type in the declarations. */
  type: string;
  /** For a column whose type stays the same: the expression for `--using` if all values are valid unchanged. */
  asIs?: string | undefined;
}

/** A column that may contain values that are no longer valid, by its earlier name in the database. */
export type Unchecked = {
  table: string;
  column: string;
  /** The note about the column. */
  note: string;
  array: boolean;
} & (
  | {
      /** The values of its enum. */
      values: readonly string[];
    }
  | {
      /** Maximum bytes of a text that fit into an index. */
      room: number;
    }
);

interface ColumnChanges {
  statements: string[];
  refusals: Refusal[];
  /** Columns that are dropped and created again, by their earlier names. */
  replaced: { table: string; column: string }[];
  notes: string[];
  unchecked: Unchecked[];
  /** Columns with an unused `--using`, because their type does not change. */
  unused: string[];
}

/** Why the values of a column could not be read after the change, whatever its type. */
function unreadable(kept: KeptColumn | undefined, now: DeclaredColumn | undefined, moved: boolean): string | undefined {
  if (now === undefined) return undefined;
  if (kept === undefined) {
    return moved && now.bound !== undefined
      ? `${now.field} is encrypted, and ciphertexts are bound to the names that they were written under`
      : undefined;
  }
  if (kept.bound !== now.bound) {
    if (now.bound === undefined) return `its values are encrypted, and ${now.field} would show them as they are stored`;
    if (kept.bound === undefined) return `its values are not encrypted, and ${now.field} could not decrypt them`;
    const was = kept.bound.replace('/', '.');
    return `the ciphertexts of ${was} are bound to that name, and ${now.field} could not decrypt them`;
  }
  if (kept.kind === 'password' && now.kind !== 'password')
    return `its values are hashes of passwords, and ${now.field} would show them`;
  if (kept.kind !== 'password' && now.kind === 'password')
    return `its values are no hashes of passwords, and nobody could sign in by ${now.field}`;
  return undefined;
}

function usesColumn(part: NamedShape, column: string): boolean {
  const lists = [part.columns, part.columnsFrom].filter(Array.isArray) as (string | { expression: string })[][];
  return lists.flat().some((term) => (typeof term === 'string' ? term : term.expression) === column);
}

/** Removes a column from a description, with its indexes and constraints. */
function removeColumn(snapshot: Snapshot, table: TableShape, column: string): void {
  delete table.columns[column];
  delete snapshot.belfry?.columns[`${table.name}.${column}`];
  for (const part of NAMED_PARTS) {
    table[part] = Object.fromEntries(Object.entries(table[part]).filter(([, one]) => !usesColumn(one, column)));
  }
}

/** The earlier names of a table and a column that were renamed. */
export function namesBefore(renames: Renames, table: string, column: string): { table: string; column: string } {
  return {
    table: renames.tables.find(({ to }) => to === table)?.from ?? table,
    column: renames.columns.find((one) => one.table === table && one.to === column)?.from ?? column,
  };
}

/**
 * Changes columns that stay to their declared types.
 *
 * @param snapshot the earlier description with all renames applied; changed in place to the description after the statements
 */
export function changeColumns(
  snapshot: Snapshot,
  next: Snapshot,
  declared: Declared,
  requested: RequestedChanges,
  renames: Renames,
): ColumnChanges {
  const changes: ColumnChanges = { statements: [], refusals: [], replaced: [], notes: [], unchecked: [], unused: [] };
  const unused = new Set(requested.using.keys());

  function change(table: TableShape, column: string, type: string): void {
    const key = `${table.name}.${column}`;
    const before = namesBefore(renames, table.name, column);
    const was = `${before.table}.${before.column}`;
    const from = table.columns[column]!.type;
    const now = declared.columns.get(key);
    const kept = snapshot.belfry?.columns[key];
    const expression = requested.using.get(key) ?? requested.using.get(was);
    const refuse = (why: string, how: { example?: string | undefined; from?: string } = {}) =>
      changes.refusals.push({ table: table.name, column, was, why, example: how.example, from: how.from, type });

    const broken = unreadable(kept, now, was !== key);
    const odd = broken === undefined && from === type ? misshapen(kept, now) : undefined;
    // SQL can convert JSON to other JSON, but not one ciphertext to another.
    const sealed = now?.bound !== undefined;
    let how = from === type ? undefined : conversion(quoteIdentifier(column), from, type, now?.spec);
    if (odd !== undefined && !sealed && expression !== undefined) how = { using: expression };
    const unfit = odd !== undefined && how === undefined;
    const wrong = broken !== undefined || unfit || (how !== undefined && 'loss' in how && expression === undefined);
    if (wrong && (requested.dropped.has(key) || requested.dropped.has(was))) {
      changes.statements.push(`ALTER TABLE ${quoteIdentifier(table.name)} DROP COLUMN ${quoteIdentifier(column)};`);
      changes.replaced.push(before);
      removeColumn(snapshot, table, column);
      return;
    }
    if (broken !== undefined) refuse(broken);
    else if (unfit) {
      const asIs = sealed ? undefined : quoteIdentifier(column);
      const refusal = { table: table.name, column, was, why: odd!, example: undefined, type, asIs };
      changes.refusals.push({ ...refusal, from: undefined });
    } else if (how === undefined) {
      const note = uncheckedNote(key, kept, now) ?? membersNote(key, kept, now);
      if (note === undefined) return;
      changes.notes.push(note);
      if (now?.values !== undefined && !sealed)
        changes.unchecked.push({ ...before, note, values: now.values, array: type.endsWith('[]') });
      return;
    } else if (wrong && 'loss' in how) {
      refuse(`its type cannot become ${type} (it is ${from}): ${how.loss}`, { example: how.example, from });
    } else {
      const using = expression ?? ('using' in how ? how.using : '');
      unused.delete(requested.using.has(key) ? key : was);
      changes.statements.push(
        `ALTER TABLE ${quoteIdentifier(table.name)} ALTER COLUMN ${quoteIdentifier(column)} SET DATA TYPE ${type} USING ${using};`,
      );
      changes.notes.push(`${key} becomes ${type}: nobody reads or writes ${table.name} while its rows are rewritten`);
    }
    // Continue as if the column had been changed, so that one run reports all problems.
    table.columns[column]!.type = type;
  }

  for (const [key, table] of Object.entries(snapshot.tables)) {
    for (const wanted of Object.values(next.tables[key]?.columns ?? {})) {
      if (table.columns[wanted.name] !== undefined) change(table, wanted.name, wanted.type);
    }
  }
  changes.unused.push(...unused);
  return changes;
}
