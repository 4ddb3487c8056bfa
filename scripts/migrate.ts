// `npm run migrate`: applies the migrations that the database does not have yet. Several may run at once.
// It needs DATABASE_URL, from the shell or from .env, and nothing else.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from '../src/app/index.ts';
import { MIGRATION_ENVIRONMENT } from './migration-environment.ts';

const unknown = process.argv.slice(2);
if (unknown.length > 0) {
  console.error(`Unknown argument ${unknown.join(' ')}. npm run migrate takes none.`);
  process.exit(1);
}

const settings = join(import.meta.dirname, '..', '.env');
if (existsSync(settings)) process.loadEnvFile(settings);
Object.assign(process.env, MIGRATION_ENVIRONMENT);

try {
  const made = app();
  await made.migrate({ mode: 'apply' });
  await made.close();
  console.log('The database is up to date.');
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
