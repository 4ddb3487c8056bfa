import { isDeepStrictEqual } from 'node:util';
import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { CREATE_LOCK_FUNCTIONS, createLockTriggerSql } from '../../../records/schema/constraints.ts';
import type { StoredConstraints } from './declared.ts';
import type { Snapshot } from './snapshot.ts';

type StoredConstraint = StoredConstraints[string][string];

/** The changes of the constraints that resources declare. */
interface ConstraintChanges {
  /** To run before columns change. */
  drops: string[];
  renames: string[];
  /** To run once the tables and columns exist. */
  additions: string[];
  /** Unique indexes of tables that already existed. */
  indexes: string[];
  /** The statements that check the existing rows. */
  validations: string[];
  notes: string[];
}

/** Applies a change to the parts of an SQL text that are not literals. */
function mapOutsideLiterals(sql: string, change: (part: string) => string): string {
  const parts = sql.split(/('(?:[^']|'')*')/);
  return parts.map((part, i) => (i % 2 === 1 ? part : change(part))).join('');
}

/** Renames a column in the constraints of a table, as Postgres does. Changes the snapshot in place. */
export function renameColumnInConstraints(snapshot: Snapshot, table: string, from: string, to: string): void {
  const own = snapshot.belfry?.constraints?.[table];
  if (own === undefined) return;
  const rename = (sql: string) =>
    mapOutsideLiterals(sql, (part) => part.replaceAll(quoteIdentifier(from), () => quoteIdentifier(to)));
  const renamed = Object.entries(own).map(([name, { kind, definition, lockedBy }]) => [
    name,
    { kind, definition: rename(definition), lockedBy: lockedBy.map(rename) },
  ]);
  snapshot.belfry!.constraints = { ...snapshot.belfry!.constraints, [table]: Object.fromEntries(renamed) };
}

function mentionsColumn({ definition }: StoredConstraint, column: string): boolean {
  return mapOutsideLiterals(definition, (part) => part.replaceAll(quoteIdentifier(column), '')) !== definition;
}

function dropStatements(table: string, name: string, { kind }: StoredConstraint): string[] {
  const [quotedTable, quotedName] = [quoteIdentifier(table), quoteIdentifier(name)];
  if (kind === 'unique') return [`DROP INDEX IF EXISTS ${quotedName};`];
  const drop = `ALTER TABLE ${quotedTable} DROP CONSTRAINT IF EXISTS ${quotedName};`;
  return kind === 'exclude' ? [`DROP TRIGGER IF EXISTS ${quotedName} ON ${quotedTable};`, drop] : [drop];
}

function renameStatements(table: string, { kind }: StoredConstraint, from: string, to: string): string[] {
  const [quotedTable, old, name] = [table, from, to].map(quoteIdentifier);
  if (kind === 'unique') return [`ALTER INDEX ${old} RENAME TO ${name};`];
  const rename = `ALTER TABLE ${quotedTable} RENAME CONSTRAINT ${old} TO ${name};`;
  return kind === 'exclude' ? [rename, `ALTER TRIGGER ${old} ON ${quotedTable} RENAME TO ${name};`] : [rename];
}

function addConstraint(
  table: string,
  name: string,
  constraint: StoredConstraint,
  tableExists: boolean,
  changes: ConstraintChanges,
): void {
  const [quotedTable, quotedName] = [quoteIdentifier(table), quoteIdentifier(name)];
  const { kind, definition } = constraint;
  if (kind === 'unique') {
    const create = `CREATE UNIQUE INDEX ${quotedName} ON ${quotedTable} USING btree ${definition};`;
    (tableExists ? changes.indexes : changes.additions).push(create);
    return;
  }
  const add = `ALTER TABLE ${quotedTable} ADD CONSTRAINT ${quotedName} ${definition}`;
  if (kind === 'exclude') {
    changes.additions.push(`${add};`, createLockTriggerSql(table, { ...constraint, name }));
    if (tableExists)
      changes.notes.push(
        `${table} gets the constraint ${name}: existing rows that conflict would stop the migration, and reads and writes wait while its index is built`,
      );
    return;
  }
  changes.additions.push(tableExists ? `${add} NOT VALID;` : `${add};`);
  if (!tableExists) return;
  changes.validations.push(`ALTER TABLE ${quotedTable} VALIDATE CONSTRAINT ${quotedName};`);
  changes.notes.push(`${table} gets the constraint ${name}: existing rows that break it would stop the migration`);
}

/** The columns of a table that are dropped, replaced, or change their type. Constraints over them are created again. */
function findChangedColumns(table: string, renamed: Snapshot, before: Snapshot, next: Snapshot): string[] {
  const key = `public.${table}`;
  const columns = Object.values(renamed.tables[key]?.columns ?? {});
  const isKept = ({ name, type }: { name: string; type: string }) =>
    before.tables[key]?.columns[name] !== undefined && next.tables[key]?.columns[name]?.type === type;
  return columns.filter((column) => !isKept(column)).map(({ name }) => name);
}

function planConstraintsOfTable(
  table: string,
  earlier: StoredConstraints[string],
  wanted: StoredConstraints[string],
  changed: readonly string[],
  tableExists: boolean,
  changes: ConstraintChanges,
): void {
  const left = new Map(Object.entries(earlier));
  const added: [string, StoredConstraint][] = [];
  const isUnchanged = (one: StoredConstraint, other: StoredConstraint) =>
    isDeepStrictEqual(one, other) && !changed.some((column) => mentionsColumn(one, column));
  for (const [name, constraint] of Object.entries(wanted)) {
    const own = left.get(name);
    if (own === undefined || !isUnchanged(own, constraint)) added.push([name, constraint]);
    else left.delete(name);
  }
  for (const [name, constraint] of added) {
    const from = [...left].find(([, one]) => isUnchanged(one, constraint))?.[0];
    if (from !== undefined && from !== name && earlier[name] === undefined) {
      changes.renames.push(...renameStatements(table, constraint, from, name));
      left.delete(from);
    } else addConstraint(table, name, constraint, tableExists, changes);
  }
  for (const [name, constraint] of left) changes.drops.push(...dropStatements(table, name, constraint));
}

/**
 * Plans the changes of declared constraints.
 *
 * @param renamed the earlier description, with all renames applied
 * @param before the same after the columns have changed: without those that are dropped and created again
 */
export function planConstraints(renamed: Snapshot, before: Snapshot, next: Snapshot): ConstraintChanges {
  const changes: ConstraintChanges = { drops: [], renames: [], additions: [], indexes: [], validations: [], notes: [] };
  const [earlier, wanted] = [renamed.belfry?.constraints ?? {}, next.belfry?.constraints ?? {}];
  for (const table of new Set([...Object.keys(earlier), ...Object.keys(wanted)])) {
    // A table takes its constraints with it.
    if (next.tables[`public.${table}`] === undefined) continue;
    const changed = findChangedColumns(table, renamed, before, next);
    const tableExists = renamed.tables[`public.${table}`] !== undefined;
    planConstraintsOfTable(table, earlier[table] ?? {}, wanted[table] ?? {}, changed, tableExists, changes);
  }
  if (changes.additions.some((statement) => statement.includes(' EXCLUDE USING gist ')))
    changes.additions.unshift('CREATE EXTENSION IF NOT EXISTS btree_gist;', ...CREATE_LOCK_FUNCTIONS);
  return changes;
}
