import type { Client } from 'pg';
import { describePostgresProblem, suggestPostgresFix } from '../../platform/data/postgres/problems.ts';
import { withDeadline } from '../../platform/helpers/concurrency/deadline.ts';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import { VERSION } from '../../platform/helpers/version.ts';
import { type Finding, failure, ok, warning } from '../../platform/observability/finding.ts';
import type { Environment } from '../../platform/settings/environment.ts';
import { assertSameDatabase, connectForMigrations } from '../migrations/direct-connection.ts';
import { describeFrameworkCopy, isFrameworkMigration } from '../migrations/framework.ts';
import type { Migration } from '../migrations/journal.ts';
import { readMigrations } from '../migrations/read-migrations.ts';
import { type MigrationState, readMigrationState } from '../migrations/state.ts';
import { isSynced } from '../migrations/sync.ts';

const DEADLINE_MS = 5000;
const PERMISSION_DENIED = '42501';

/** How the tables of a database are kept up to date, and the errors in that. */
export interface MigrationDiagnosis {
  /** `sync`: by `belfry dev`, `apply`: by migrations; undefined if that is not known. */
  mode: 'apply' | 'sync' | undefined;
  findings: Finding[];
  /** The names of the migrations that are pending; undefined if they are not known. */
  pending: string[] | undefined;
}

const listNames = (migrations: readonly Migration[]) => migrations.map(({ name }) => name).join(', ');

function describePending(pending: readonly Migration[]): Finding[] {
  const { app = [], belfry = [] } = Object.groupBy(pending, (one) => (isFrameworkMigration(one) ? 'belfry' : 'app'));
  const fix = 'run npx belfry migrate';
  return [
    ...(belfry.length > 0 ? [failure(`Pending migrations of Belfry: ${listNames(belfry)}`, fix)] : []),
    ...(app.length > 0 ? [failure(`Pending migrations of the app: ${listNames(app)}`, fix)] : []),
  ];
}

function describeState({ applied, pending, edited, unknown }: MigrationState): Finding[] {
  const findings = describePending(pending);
  if (edited.length > 0)
    findings.push(
      failure(
        `Migrations were changed after they were applied: ${listNames(edited)}`,
        'run npx belfry migrate, which changes nothing and says what to do for each of them',
      ),
    );
  if (unknown > 0)
    findings.push(
      warning(
        `The database is ahead: it has ${unknown} ${unknown === 1 ? 'migration' : 'migrations'} that neither this version of the app nor Belfry ${VERSION} has`,
        'deploy the version that migrated the database, unless you went back to this one on purpose',
      ),
    );
  return findings.length > 0 ? findings : [ok(`All ${applied.length} migrations are applied`)];
}

async function compare(client: Client, folder: string): Promise<MigrationDiagnosis> {
  if (await isSynced(client))
    return { mode: 'sync', findings: [ok('The tables are managed by belfry dev, not by migrations')], pending: [] };
  const migrations = readMigrations(folder);
  const copy = describeFrameworkCopy(folder);
  const state = await readMigrationState(client, migrations);
  const findings = [...describeState(state), ...(copy === undefined ? [] : [warning(copy)])];
  return { mode: 'apply', findings, pending: state.pending.map(({ name }) => name) };
}

function describeError(error: unknown, { databaseDirectUrl }: Environment): Finding {
  if (error instanceof StartupError) return failure(error.message.replace('\n  - ', ' ').replaceAll(/\n {2}- /g, '; '));
  const { path, message } = error as NodeJS.ErrnoException;
  // Only errors of files have a path.
  if (path !== undefined)
    return failure(`The migrations cannot be read: ${message}`, 'allow the user of the app to read the folder');
  // The app runs without this permission.
  if ((error as { code?: string }).code === PERMISSION_DENIED) {
    return warning(
      `The user of the database may not see which migrations are applied: ${message}`,
      'run npx belfry migration status as the user that migrates',
    );
  }
  const variable = databaseDirectUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  return failure(
    `The migrations cannot be checked: the server of ${variable} ${describePostgresProblem(error)}`,
    suggestPostgresFix(error, variable),
  );
}

/**
 * Compares the database with the migrations of a project and of Belfry, over the connection that `belfry migrate` uses.
 *
 * @param folder the folder of the project's migrations
 */
export async function diagnoseMigrations(env: Environment, folder: string): Promise<MigrationDiagnosis> {
  let client: Client | undefined;
  try {
    client = await withDeadline(connectForMigrations(env), DEADLINE_MS);
    if (env.databaseDirectUrl !== undefined) await assertSameDatabase(client, env);
    return await compare(client, folder);
  } catch (error) {
    return { mode: undefined, findings: [describeError(error, env)], pending: undefined };
  } finally {
    await client?.end();
  }
}
