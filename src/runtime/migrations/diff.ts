import type { PgTable } from 'drizzle-orm/pg-core';

/** drizzle-kit's description of a set of tables. */
export type Snapshot = {
  id: string;
  prevId: string;
  tables: Record<
    string,
    { columns: Record<string, unknown>; indexes: Record<string, unknown> } & Record<string, unknown>
  >;
} & Record<string, unknown>;

/** SQL statements, and those among them that lose data. */
export interface Difference {
  statements: string[];
  losses: string[];
}

const LOSS = /^(DROP TABLE|ALTER TABLE .* DROP COLUMN)/i;

// A development dependency of a second's loading time: wanted only when tables are compared.
const kit = () => import('drizzle-kit/api');

/** Describes tables. */
export async function takeSnapshot(tables: Record<string, PgTable>): Promise<Snapshot> {
  const { generateDrizzleJson } = await kit();
  return generateDrizzleJson(tables) as unknown as Snapshot;
}

/** Everything of `next`, and what only `previous` has. */
function union(previous: Snapshot, next: Snapshot): Snapshot {
  const tables = { ...previous.tables };
  for (const [name, table] of Object.entries(next.tables)) {
    const before = previous.tables[name];
    tables[name] = before === undefined ? table : { ...table, columns: { ...before.columns, ...table.columns } };
  }
  return { ...next, tables };
}

/**
 * The statements that turn one description into another. First everything new, then everything gone: drizzle-kit asks on the
 * terminal whether a column was renamed as soon as it sees one added and one removed at once.
 *
 * @param previous undefined for an empty database
 */
export async function statementsBetween(previous: Snapshot | undefined, next: Snapshot): Promise<Difference> {
  const { generateDrizzleJson, generateMigration } = await kit();
  const from = previous ?? (generateDrizzleJson({}) as unknown as Snapshot);
  const middle = union(from, next);
  type Json = Parameters<typeof generateMigration>[0];
  const added = await generateMigration(from as unknown as Json, middle as unknown as Json);
  const removed = await generateMigration(middle as unknown as Json, next as unknown as Json);
  const statements = [...added, ...removed];
  return { statements, losses: statements.filter((statement) => LOSS.test(statement)) };
}
