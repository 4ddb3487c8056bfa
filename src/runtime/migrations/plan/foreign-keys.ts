import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { findEarlierNames, type UncheckedColumn } from './column-changes.ts';
import type { DeclaredFacts } from './declared.ts';
import type { Renames } from './renames.ts';
import type { Snapshot } from './snapshot.ts';

/** Matches the statement that adds a foreign key: table, name, key, column, target. */
const ADD_FOREIGN_KEY =
  /^ALTER TABLE "([^"]+)" ADD CONSTRAINT "([^"]+)" (FOREIGN KEY \("([^"]+)"\) REFERENCES (?:"public"\.)?"([^"]+)"[\s\S]*?);?$/;

/** A foreign key of a resource's table, as a statement adds it. */
interface AddedForeignKey {
  table: string;
  name: string;
  key: string;
  column: string;
  target: string;
}

function parseForeignKey(statement: string, { tables }: DeclaredFacts): AddedForeignKey | undefined {
  const [, table, name, key, column, target] = ADD_FOREIGN_KEY.exec(statement) ?? [];
  if (table === undefined || !tables.has(table)) return undefined;
  return { table, name: name!, key: key!, column: column!, target: target! };
}

/**
 * Completes the statements that add the foreign keys of references. The keys are deferrable, because a deletion can delete records that
 * refer to each other. The existing rows of a table are checked by separate statements, which do not block writes.
 *
 * @param tableExists whether a table already exists and may have rows
 * @returns the statements, and the statements that check the existing rows
 */
export function completeForeignKeys(
  statements: readonly string[],
  declared: DeclaredFacts,
  tableExists: (table: string) => boolean,
): { completed: string[]; validations: string[] } {
  const validations: string[] = [];
  const completed = statements.map((statement) => {
    const added = parseForeignKey(statement, declared);
    if (added === undefined) return statement;
    const [table, name] = [quoteIdentifier(added.table), quoteIdentifier(added.name)];
    const add = `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${added.key} DEFERRABLE`;
    if (!tableExists(added.table)) return `${add};`;
    validations.push(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${name};`);
    return `${add} NOT VALID;`;
  });
  return { completed, validations };
}

/**
 * Notes on new foreign keys over existing columns: a reference to a missing row stops the migration.
 *
 * @param before the earlier description, with all renames applied
 * @param added the statements that add the foreign keys, among others
 */
export function findUncheckedReferences(
  before: Snapshot,
  added: readonly string[],
  declared: DeclaredFacts,
  renames: Renames,
): UncheckedColumn[] {
  return added.flatMap((statement) => {
    const { table, column, target } = parseForeignKey(statement, declared) ?? {};
    if (table === undefined || before.tables[`public.${table}`]?.columns[column!] === undefined) return [];
    const note = `${table}.${column} gets a foreign key to ${target}: references to missing rows would stop the migration`;
    const targetBefore = renames.tables.find(({ to }) => to === target)?.from ?? target!;
    return [{ ...findEarlierNames(renames, table, column!), note, target: targetBefore, array: false }];
  });
}
