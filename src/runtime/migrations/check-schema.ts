import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { StartupError } from '../../platform/environment.ts';
import type { Database } from '../../platform/postgres/database.ts';

const COLUMNS = `select table_name::text, column_name::text from information_schema.columns where table_schema = current_schema()`;

/** What the declarations have and the database lacks: `table posts`, `column posts.title`. */
export async function missingColumns(database: Database, tables: Record<string, PgTable>): Promise<string[]> {
  const rows = await database.write<[string, string]>({ text: COLUMNS, values: [] });
  const there = new Set(rows.flatMap(([table, column]) => [table, `${table}.${column}`]));
  return Object.values(tables).flatMap((table) => {
    const { name, columns } = getTableConfig(table);
    if (!there.has(name)) return [`table ${name}`];
    return columns
      .filter((column) => !there.has(`${name}.${column.name}`))
      .map((column) => `column ${name}.${column.name}`);
  });
}

/** @throws StartupError when the database lacks declared columns, naming them and the command that mends it */
export async function checkSchema(database: Database, tables: Record<string, PgTable>): Promise<void> {
  const missing = await missingColumns(database, tables);
  if (missing.length === 0) return;
  const shown = missing.slice(0, 10).join(', ') + (missing.length > 10 ? ` and ${missing.length - 10} more` : '');
  throw new StartupError('The database does not match the declarations:', [
    `missing: ${shown}`,
    'mend it with: npm run migration:generate (after a change of the declarations), then npm run migrate',
  ]);
}
