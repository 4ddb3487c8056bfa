import { defaultPartitionName } from '../../../platform/data/postgres/daily-partitions.ts';
import { quoteIdentifier } from '../../../platform/data/postgres/identifiers.ts';
import { StartupError } from '../../../platform/helpers/config-errors.ts';
import { ARRAY_TEXT, CREATE_ARRAY_TEXT } from '../../../records/fields/index-expressions.ts';
import { RANGE_TRIGGERS } from '../../../records/ranges/triggers.ts';
import { findEarlierNames, planColumnChanges, type RefusedChange, type UncheckedColumn } from './column-changes.ts';
import { planConstraints } from './constraints.ts';
import type { DeclaredFacts } from './declared.ts';
import { findRowsWithoutDefault } from './defaults.ts';
import { completeForeignKeys, findUncheckedReferences } from './foreign-keys.ts';
import { findLosses, type Loss } from './losses.ts';
import { applyRenames, findRenames, planIndexAndConstraintRenames, type Renames } from './renames.ts';
import type { RequestedChanges } from './requested-changes.ts';
import { createEmptySnapshot, generateStatements, keepMissingDefaults, type Snapshot } from './snapshot.ts';

/** The changes that turn one snapshot of the tables into another. */
export interface Plan {
  /** The statements for one transaction, in order, without the indexes. */
  statements: string[];
  /** Indexes of tables that already existed: `CREATE INDEX …`. */
  indexes: string[];
  /** The statements that check the existing rows of new foreign keys, to run after the indexes. They do not block writes. */
  validations: string[];
  /** The tables and columns that the statements drop. */
  losses: Loss[];
  /** Columns that cannot change as declared. If there are any, the statements must not be run. */
  refusals: RefusedChange[];
  /** Notes that a developer should read before running the statements, one line each. */
  notes: string[];
  /** Columns of the notes that may contain invalid values: the rows with such values can be counted. */
  unchecked: UncheckedColumn[];
}

const DROPS_PART = /^(DROP INDEX|ALTER TABLE \S+ DROP CONSTRAINT)/;
const INDEX = /^CREATE (?:UNIQUE )?INDEX "[^"]+" ON "([^"]+)"/;

const CREATE_TABLE = /^(CREATE TABLE "([^"]+)" \([\s\S]*\));?$/;

// Match the first column of a primary key, as a constraint of the table or of the column.
const TABLE_KEY = /PRIMARY KEY ?\("([^"]+)"/;
const COLUMN_KEY = /"([^"]+)" [^",]+ PRIMARY KEY/;

/**
 * Completes the statement that creates a partitioned table, which drizzle-kit cannot describe: adds the key and the default partition. A
 * sweep deletes old rows of the default partition by the partition column. That column gets an index, unless the primary key begins with
 * it.
 */
function addPartitioning(statement: string, { partitioned }: DeclaredFacts): string[] {
  const [, create, table] = CREATE_TABLE.exec(statement) ?? [];
  const column = partitioned.get(table ?? '');
  if (create === undefined || table === undefined || column === undefined) return [statement];
  const [, keyColumn] = TABLE_KEY.exec(create) ?? COLUMN_KEY.exec(create) ?? [];
  const [partition, index] = [defaultPartitionName(table), `${defaultPartitionName(table)}_${column}_index`].map(
    quoteIdentifier,
  );
  const createIndex = `CREATE INDEX ${index} ON ${partition} USING btree (${quoteIdentifier(column)});`;
  return [
    `${create} PARTITION BY RANGE (${quoteIdentifier(column)});`,
    `CREATE TABLE ${partition} PARTITION OF ${quoteIdentifier(table)} DEFAULT;`,
    ...(keyColumn === column ? [] : [createIndex]),
  ];
}

/** Merges two snapshots: everything in `next`, and the tables and columns that exist only in `previous`. */
function mergeSnapshots(previous: Snapshot, next: Snapshot): Snapshot {
  const tables = { ...previous.tables };
  for (const [name, table] of Object.entries(next.tables)) {
    const before = previous.tables[name];
    tables[name] = before === undefined ? table : { ...table, columns: { ...before.columns, ...table.columns } };
  }
  return { ...next, tables };
}

function findNotes(
  before: Snapshot,
  next: Snapshot,
  declared: DeclaredFacts,
  renames: Renames,
  losses: Loss[],
): string[] {
  const notes: string[] = [];
  for (const [key, table] of Object.entries(next.tables)) {
    const old = before.tables[key];
    if (old === undefined) continue;
    for (const column of Object.values(table.columns).filter(({ name }) => old.columns[name] === undefined)) {
      const unfilled = declared.columns.get(`${table.name}.${column.name}`)?.unfilled;
      if (unfilled !== undefined) notes.push(`${table.name}.${column.name} has no value in existing rows: ${unfilled}`);
      if (column.notNull && column.default === undefined)
        notes.push(
          `${table.name}.${column.name} cannot be added while the table has rows: it is not null without a default`,
        );
    }
    const [was, is] = [before.belfry?.resources[table.name], declared.tables.get(table.name)?.resource];
    if (was !== undefined && is !== undefined && was !== is)
      notes.push(
        `resource ${was} becomes ${is}: its path and event names change too, and endpoints subscribed to ${was}.* receive no more events`,
      );
  }
  if (renames.tables.length + renames.columns.length + losses.length > 0)
    notes.push(
      'processes with the old code fail on renamed or dropped names. See docs/build/migrations.md for the order of deployment',
    );
  // A resource has one note, even if it also has a table for its deleted records.
  return [...new Set(notes)];
}

/** The statements that drop a column. If the column has the times of creation, the triggers that need it go first. */
function dropWithTriggers(statement: string): string[] {
  const [, table] = /^ALTER TABLE (.+) DROP COLUMN "created_at";$/.exec(statement.trim()) ?? [];
  if (table === undefined) return [statement];
  return [...RANGE_TRIGGERS.map((trigger) => `DROP TRIGGER IF EXISTS ${trigger} ON ${table};`), statement];
}

/** Returns the SQL statements of extensions that are new or have changed since the previous snapshot. */
function findNewStatements(previous: Snapshot, { statements }: DeclaredFacts): readonly string[] {
  const before = new Set(previous.belfry?.statements);
  return statements.filter((statement) => !before.has(statement));
}

/**
 * Plans the change from one description of the tables to another. drizzle-kit creates the statements, but it must never see one
 * addition together with one removal: it would ask on the terminal whether that is a rename. So the plan first applies renames and
 * changes of type, then adds everything new, and then drops.
 *
 * @param previous undefined for an empty database
 * @param next changed in place to the description after the statements
 * @throws StartupError if a requested change is impossible
 */
export async function planSchemaChange(
  previous: Snapshot | undefined,
  next: Snapshot,
  declared: DeclaredFacts,
  requested: RequestedChanges,
): Promise<Plan> {
  const from = previous ?? createEmptySnapshot();
  const renames = findRenames(from, next, declared, requested);
  const { statements: renaming, renamed } = applyRenames(from, renames);
  const losses = findLosses(renamed, next, declared, renames);
  const notes = findNotes(renamed, next, declared, renames, losses);
  const before = structuredClone(renamed);
  const columns = planColumnChanges(before, next, declared, requested, renames);
  if (columns.unused.length > 0) {
    const lines = columns.unused.map((column) => `--using ${column}=…: its type does not change`);
    throw new StartupError('These options have no effect:', lines);
  }
  keepMissingDefaults(before, next, declared);
  renaming.push(...planIndexAndConstraintRenames(before, next));

  const middle = mergeSnapshots(before, next);
  const generated = (await generateStatements(before, middle)).flatMap((statement) =>
    addPartitioning(statement.trim(), declared),
  );
  const removed = await generateStatements(middle, next);
  const tableExists = (table: string | undefined) =>
    table !== undefined && before.tables[`public.${table}`] !== undefined;
  const { completed: added, validations } = completeForeignKeys(generated, declared, tableExists);
  // Postgres cannot build an index of a partitioned table concurrently, so it is built with the other additions.
  const isPartitioned = (table: string | undefined) => declared.partitioned.has(table ?? '');
  const indexes = added.filter((statement) => {
    const table = INDEX.exec(statement)?.[1];
    return tableExists(table) && !isPartitioned(table);
  });
  const drops = added.filter((statement) => DROPS_PART.test(statement));
  const otherAdditions = added.filter((statement) => !indexes.includes(statement) && !drops.includes(statement));
  const sizeLimited = findSizeLimitedIndexes(before, indexes, declared, renames);
  const unfilled = findRowsWithoutDefault(renamed, next, declared, renames);
  const references = findUncheckedReferences(before, generated, declared, renames);
  const constraints = planConstraints(renamed, before, next);
  const needsArrayText = [...otherAdditions, ...indexes].some((statement) => statement.includes(ARRAY_TEXT));
  return {
    statements: [
      ...(needsArrayText ? [CREATE_ARRAY_TEXT] : []),
      ...renaming,
      ...constraints.renames,
      ...constraints.drops,
      ...drops,
      ...columns.statements,
      ...otherAdditions,
      ...removed.flatMap(dropWithTriggers),
      ...constraints.additions,
      ...findNewStatements(from, declared),
    ],
    indexes: [...indexes, ...constraints.indexes],
    losses: [...losses, ...columns.replaced.map((replaced) => ({ ...replaced, candidates: [] }))],
    refusals: columns.refusals,
    validations: [...validations, ...constraints.validations],
    notes: [
      ...notes,
      ...columns.notes,
      ...constraints.notes,
      ...[...unfilled, ...sizeLimited, ...references].map(({ note }) => note),
    ],
    unchecked: [...columns.unchecked, ...unfilled, ...sizeLimited, ...references],
  };
}

// Matches indexes with a size limit. Hash indexes have none, and substring indexes do not contain whole texts.
const INDEX_TERMS = /^CREATE (?:UNIQUE )?INDEX "[^"]+" ON "([^"]+)" USING (?:btree|gin) \(([^)]+)\)/;

/**
 * Notes on new indexes over existing columns: a text that is too long for an index stops the migration.
 *
 * @param before the earlier description, with all renames applied
 * @param indexes the statements that create the indexes
 */
function findSizeLimitedIndexes(
  before: Snapshot,
  indexes: readonly string[],
  declared: DeclaredFacts,
  renames: Renames,
): UncheckedColumn[] {
  const found = new Map<string, UncheckedColumn>();
  for (const statement of indexes) {
    const [, table, terms] = INDEX_TERMS.exec(statement) ?? [];
    if (table === undefined || terms!.includes('gin_trgm_ops')) continue;
    for (const [, column] of terms!.matchAll(/"([^"]+)"/g)) {
      const key = `${table}.${column}`;
      const type = before.tables[`public.${table}`]?.columns[column!]?.type;
      const room = declared.columns.get(key)?.room;
      const longest = before.belfry?.columns[key]?.longest;
      if (room === undefined || (longest !== undefined && longest <= room)) continue;
      if (type !== 'text' && type !== 'text[]') continue;
      const note = `${key} gets an index with at most ${room} bytes per text: longer existing texts would stop the migration`;
      found.set(key, { ...findEarlierNames(renames, table, column!), note, room, array: type === 'text[]' });
    }
  }
  return [...found.values()];
}
