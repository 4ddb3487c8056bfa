// `npm run migrate`: applies the migrations that the database does not have yet. Several may run at once.
// `-- --status` lists them and `-- --dry-run` prints the SQL of the pending ones; both change nothing.
// Needs only DATABASE_URL (or DATABASE_DIRECT_URL, behind a connection pooler), from the shell or from .env.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readMigrateArguments } from './migration/migrate-arguments.ts';
import { DATABASE_ONLY } from './operations/load-app.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'migrations');

function fail(error: unknown): never {
  console.error((error as Error).message);
  process.exit(1);
}

function readArguments() {
  try {
    return readMigrateArguments(process.argv.slice(2));
  } catch (error) {
    return fail(error);
  }
}

const mode = readArguments();
// An error in the app's code is shown with its stack trace.
const { app } = await import('../src/app/index.ts');
try {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  // This also validates the environment.
  const migratedApp = app({ ...process.env, ...DATABASE_ONLY });
  if (mode === 'apply') {
    await migratedApp.migrate({ mode: 'apply', folder, say: console.log });
    console.log('The database is up to date.');
  } else {
    const directUrl = (process.env.DATABASE_DIRECT_URL || process.env.DATABASE_URL)!;
    const { readDatabase } = await import('./migration/read-database.ts');
    console.log((await readDatabase(directUrl, folder, mode)).join('\n'));
  }
  await migratedApp.close();
} catch (error) {
  fail(error);
}
