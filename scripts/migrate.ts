// `npm run migrate`: applies the migrations that the database does not have yet. Several may run at once.
// `-- --status` lists them, `-- --dry-run` prints the SQL of those to come; both change nothing.
// It needs DATABASE_URL, from the shell or from .env, and nothing else.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from '../src/app/index.ts';
import { MIGRATION_ENVIRONMENT } from './migration/environment.ts';
import { readDatabase } from './migration/read-database.ts';

const OPTIONS = ['--status', '--dry-run'];
const given = process.argv.slice(2);
const unknown = given.filter((word) => !OPTIONS.includes(word));
if (unknown.length > 0 || given.length > 1) {
  const wrong = unknown.length > 0 ? `Unknown argument ${unknown.join(' ')}.` : 'One at a time.';
  console.error(`${wrong} npm run migrate takes --status or --dry-run, or nothing.`);
  process.exit(1);
}

const root = join(import.meta.dirname, '..');
if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
const folder = join(root, 'migrations');

try {
  // It checks what the environment says, with words of its own.
  const made = app({ ...process.env, ...MIGRATION_ENVIRONMENT });
  if (given.length > 0) {
    const lines = await readDatabase(process.env.DATABASE_URL!, folder, given[0] === '--dry-run' ? 'sql' : 'status');
    console.log(lines.join('\n'));
  } else {
    await made.migrate({ mode: 'apply', folder, say: console.log });
    console.log('The database is up to date.');
  }
  await made.close();
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
