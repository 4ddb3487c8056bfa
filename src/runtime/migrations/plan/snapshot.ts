import { createRequire } from 'node:module';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { DeclaredFacts, StoredConstraints } from './declared.ts';
import type { StoredMembers } from './members.ts';

/** A column as described by drizzle-kit. */
interface ColumnShape {
  name: string;
  type: string;
  notNull: boolean;
  primaryKey: boolean;
  default?: unknown;
}

/** An index, a key or a constraint as described by drizzle-kit; its properties depend on its kind. */
export interface NamedShape {
  name: string;
  [detail: string]: unknown;
}

/** The parts of a table in drizzle-kit's snapshot that have a name in the database. */
export const NAMED_PARTS = [
  'indexes',
  'foreignKeys',
  'compositePrimaryKeys',
  'uniqueConstraints',
  'checkConstraints',
] as const;

/** A table as described by drizzle-kit. */
export type TableShape = {
  name: string;
  columns: Record<string, ColumnShape>;
} & Record<(typeof NAMED_PARTS)[number], Record<string, NamedShape>>;

/** A stored description of a column, to detect later that its values cannot be read as another kind. */
export interface StoredColumn {
  /** `string`, `array of string`, … */
  kind: string;
  /** The encryption context of the column's ciphertexts, without the record's id: `post/secret`. Missing: not encrypted. */
  bound?: string;
  /** The values of an enum, or of an array of enums. Missing in older snapshots. */
  values?: readonly string[];
  /** The members of an object, or of an array of objects. Missing in older snapshots. */
  members?: StoredMembers;
  /** Whether the field has a default. */
  hasDefault?: true;
  /** Maximum bytes of a text in the column, or of an item in its array. Missing if there is no limit, and in older snapshots. */
  longest?: number;
}

/** drizzle-kit's description of a set of tables (its format 7), with additional facts from the declarations. */
export interface Snapshot {
  id: string;
  prevId: string;
  /** Tables by `public.<table>`. */
  tables: Record<string, TableShape>;
  /** Columns by `<table>.<column>`; the names of resources by table; constraints; statements of extensions. Missing in older snapshots. */
  belfry?: {
    columns: Record<string, StoredColumn>;
    resources: Record<string, string>;
    constraints?: StoredConstraints;
    /** Whether `columns` says which fields have a default. */
    knowsDefaults?: true;
    statements?: readonly string[];
  };
  [other: string]: unknown;
}

/** The functions of drizzle-kit that are used. */
interface DrizzleKit {
  generateDrizzleJson(tables: Record<string, PgTable>): Snapshot;
  generateMigration(from: Snapshot, to: Snapshot): Promise<string[]>;
}

// drizzle-kit is a development dependency that is needed only to compare tables. Load its CommonJS build. The ESM build loads the ESM build
// of drizzle-orm, and Node then reads a large package.json again for each module: more than a second in total.
const requireCommonJs = createRequire(import.meta.url);
function loadDrizzleKit(): DrizzleKit {
  try {
    return requireCommonJs('drizzle-kit/api');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error('The package drizzle-kit is missing. Run: npm install --save-dev drizzle-kit', { cause: error });
  }
}

/**
 * Gives columns the defaults of their fields. The app always supplies a value, so these defaults serve the existing rows of a new column,
 * and processes with older code, which do not know the column and continue to insert rows during a deploy.
 */
function setColumnDefaults(snapshot: Snapshot, { columns }: DeclaredFacts): void {
  for (const table of Object.values(snapshot.tables)) {
    for (const column of Object.values(table.columns)) {
      const fill = columns.get(`${table.name}.${column.name}`)?.fill;
      if (fill !== undefined) column.default = fill;
    }
  }
}

/**
 * Removes the defaults of fields from columns that exist without a default: all code knows these columns, and columns of earlier
 * migrations have none. Changes `next` in place.
 *
 * @param before the existing tables
 */
export function keepMissingDefaults(before: Snapshot, next: Snapshot, { columns }: DeclaredFacts): void {
  for (const [key, table] of Object.entries(next.tables)) {
    for (const column of Object.values(table.columns)) {
      const existing = before.tables[key]?.columns[column.name];
      const isFill = columns.get(`${table.name}.${column.name}`)?.fill !== undefined;
      if (isFill && existing !== undefined && existing.default === undefined) delete column.default;
    }
  }
}

/** Describes the declared tables as a snapshot, to compare it with other snapshots. */
export function takeSnapshot(tables: Record<string, PgTable>, declared: DeclaredFacts): Snapshot {
  const { generateDrizzleJson } = loadDrizzleKit();
  // Convert the snapshot to the form that is read back from a file: without keys that have no value.
  const described: Snapshot = JSON.parse(JSON.stringify(generateDrizzleJson(tables)));
  setColumnDefaults(described, declared);
  const columns = [...declared.columns].map(([key, { kind, bound, values, members, longest, hasDefault }]) => [
    key,
    {
      kind,
      ...(hasDefault && { hasDefault: true }),
      ...(bound && { bound }),
      ...(values && { values }),
      ...(members && { members }),
      ...(longest !== undefined && { longest }),
    },
  ]);
  const resources = [...declared.tables].map(([table, { resource }]) => [table, resource]);
  const { statements, constraints } = declared;
  return {
    ...described,
    belfry: {
      columns: Object.fromEntries(columns),
      resources: Object.fromEntries(resources),
      knowsDefaults: true,
      ...(Object.keys(constraints).length > 0 && { constraints }),
      ...(statements.length > 0 && { statements }),
    },
  };
}

/** Creates the snapshot of a database without tables. */
export function createEmptySnapshot(): Snapshot {
  return loadDrizzleKit().generateDrizzleJson({});
}

/** Generates the statements that turn one snapshot into another. drizzle-kit must not need to ask: see `planSchemaChange`. */
export function generateStatements(from: Snapshot, to: Snapshot): Promise<string[]> {
  return loadDrizzleKit().generateMigration(from, to);
}
