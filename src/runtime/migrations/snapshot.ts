import { createRequire } from 'node:module';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Declared } from './declared.ts';
import type { KeptMembers } from './members.ts';

/** A column as drizzle-kit describes it. */
export interface ColumnShape {
  name: string;
  type: string;
  notNull: boolean;
  primaryKey: boolean;
  default?: unknown;
}

/** An index, a key or a constraint as drizzle-kit describes it: what it is made of depends on its kind. */
export interface NamedShape {
  name: string;
  [detail: string]: unknown;
}

/** The parts of a table that have a name in the database. */
export const NAMED_PARTS = [
  'indexes',
  'foreignKeys',
  'compositePrimaryKeys',
  'uniqueConstraints',
  'checkConstraints',
] as const;

/** A table as drizzle-kit describes it. */
export type TableShape = {
  name: string;
  columns: Record<string, ColumnShape>;
} & Record<(typeof NAMED_PARTS)[number], Record<string, NamedShape>>;

/** What is kept of a column to see, later, that its values cannot be read as something else. */
export interface KeptColumn {
  /** `string`, `array of string`, … */
  kind: string;
  /** What its ciphertexts are bound to, when it is encrypted: `post/secret`. */
  bound?: string;
  /** Of an enum, or of an array of them. Not in snapshots of before it was kept. */
  values?: readonly string[];
  /** Of an object, or of an array of them. Not in snapshots of before it was kept. */
  members?: KeptMembers;
  /** Bytes of the longest text in it, or in its array. Not where it may be of any length, nor in snapshots of before it was kept. */
  longest?: number;
}

/** drizzle-kit's description of a set of tables (its format 7), and besides it what only declarations know. */
export interface Snapshot {
  id: string;
  prevId: string;
  /** By `public.<table>`. */
  tables: Record<string, TableShape>;
  /**
   * Columns by `<table>.<column>`; the names of resources by table; statements of extensions. Not in snapshots of before there was
   * this.
   */
  belfry?: { columns: Record<string, KeptColumn>; resources: Record<string, string>; statements?: readonly string[] };
  [other: string]: unknown;
}

/** What is taken of drizzle-kit. */
interface Kit {
  generateDrizzleJson(tables: Record<string, PgTable>): Snapshot;
  generateMigration(from: Snapshot, to: Snapshot): Promise<string[]>;
}

// A development dependency that is wanted only when tables are compared. Its CommonJS build: the other one loads drizzle-orm's,
// of which Node reads the large package.json anew for each module, for more than a second.
const load = createRequire(import.meta.url);
const kit = (): Kit => load('drizzle-kit/api');

/** Describes tables. */
export function takeSnapshot(tables: Record<string, PgTable>, declared: Declared): Snapshot {
  const { generateDrizzleJson } = kit();
  // As it is read back from a file: without keys that have no value.
  const described: Snapshot = JSON.parse(JSON.stringify(generateDrizzleJson(tables)));
  const columns = [...declared.columns].map(([key, { kind, bound, values, members, longest }]) => [
    key,
    {
      kind,
      ...(bound && { bound }),
      ...(values && { values }),
      ...(members && { members }),
      ...(longest !== undefined && { longest }),
    },
  ]);
  const resources = [...declared.tables].map(([table, { resource }]) => [table, resource]);
  const { statements } = declared;
  return {
    ...described,
    belfry: {
      columns: Object.fromEntries(columns),
      resources: Object.fromEntries(resources),
      ...(statements.length > 0 && { statements }),
    },
  };
}

/** The description of a database without tables. */
export function emptySnapshot(): Snapshot {
  return kit().generateDrizzleJson({});
}

/** The statements that turn one description into another, by drizzle-kit. It must not have to ask: see `diff.ts`. */
export function drizzleStatements(from: Snapshot, to: Snapshot): Promise<string[]> {
  return kit().generateMigration(from, to);
}
