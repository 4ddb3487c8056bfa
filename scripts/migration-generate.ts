// `npm run migration:generate -- <name>`: writes the SQL that updates the last migration to the declarations. It asks no
// questions: options supply what it cannot know (docs/migrations.md).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readMigrationArguments } from './migration/arguments.ts';
import { DATABASE_ONLY } from './operations/load-app.ts';

const root = join(import.meta.dirname, '..');
const given = process.argv.slice(2);

function fail(error: unknown): never {
  console.error((error as Error).message);
  process.exit(1);
}

try {
  // Wrong arguments are reported before the app is loaded.
  readMigrationArguments(given);
} catch (error) {
  fail(error);
}
const [{ app }, { generate }] = await Promise.all([import('../src/app/index.ts'), import('./migration/generate.ts')]);
try {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const database = process.env.DATABASE_DIRECT_URL || process.env.DATABASE_URL;
  // The environment does not affect the tables, and the app does not connect to anything.
  const configuredApp = app({
    ...process.env,
    ...DATABASE_ONLY,
    DATABASE_URL: 'postgres://none/none',
    DATABASE_DIRECT_URL: '',
  });
  const { ok, lines } = await generate(configuredApp, join(root, 'migrations'), given, database);
  console[ok ? 'log' : 'error'](lines.join('\n'));
  process.exit(ok ? 0 : 1);
} catch (error) {
  fail(error);
}
