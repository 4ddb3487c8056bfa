import pg from 'pg';
import { describePostgresProblem, suggestPostgresFix } from '../../platform/data/postgres/problems.ts';
import { readMigrations } from '../../runtime/migrations/read-migrations.ts';
import { type MigrationState, readMigrationState } from '../../runtime/migrations/state.ts';
import { refuseSyncedDatabase } from '../../runtime/migrations/sync.ts';

function statusLines({ applied, pending, edited, unknown }: MigrationState): string[] {
  const lines = applied.map((one) => {
    return edited.includes(one)
      ? `applied  ${one.name}  (the file was changed since: restore it)`
      : `applied  ${one.name}`;
  });
  lines.push(...pending.map(({ name }) => `pending  ${name}`));
  if (unknown > 0) lines.push(`unknown  ${unknown} more, applied by a newer version of the app or of Belfry`);
  const advice =
    pending.length > 0 ? `Pending: ${pending.length}. Apply with: npx belfry migrate` : 'No migrations are pending.';
  return [...lines, '', advice];
}

function sqlLines({ pending }: MigrationState): string[] {
  if (pending.length === 0) return ['-- Nothing is pending.'];
  return pending.flatMap(({ name, sql }) => [`-- ${name}.sql`, sql]);
}

/**
 * Compares a database with the migrations of a project and of Belfry, without changing it.
 *
 * @returns a line for each migration, or the SQL of the pending ones
 * @throws Error with a message for the terminal
 */
export async function readDatabase(url: string, folder: string, what: 'status' | 'sql'): Promise<string[]> {
  const migrations = readMigrations(folder);
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
  try {
    await client.connect();
  } catch (error) {
    const problem = `Postgres at ${new URL(url).host} ${describePostgresProblem(error)}`;
    const fix = suggestPostgresFix(error, process.env.DATABASE_DIRECT_URL ? 'DATABASE_DIRECT_URL' : 'DATABASE_URL');
    throw new Error([problem, fix].filter((part) => part !== undefined).join('\n'));
  }
  try {
    await refuseSyncedDatabase(client);
    const state = await readMigrationState(client, migrations);
    return what === 'sql' ? sqlLines(state) : statusLines(state);
  } finally {
    await client.end();
  }
}
