// `npm run migration:generate -- --framework <name>`: writes the SQL that updates Belfry's own migrations (migrations/belfry) to the
// tables of its features. Without `--framework`, it does the same for the app in src/app, as `npx belfry migration generate` does in a
// project. It asks no questions: options supply what it cannot know (docs/migrations.md).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from '../src/app/index.ts';
import { generate, generateFramework } from '../src/cli/migration/generate.ts';
import { createFrameworkApp } from './framework-app.ts';

const root = join(import.meta.dirname, '..');
const given = process.argv.slice(2).filter((word) => word !== '--framework');
const isFramework = given.length < process.argv.length - 2;
// The environment does not affect the tables, and the app does not connect to anything.
const environment = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' };

if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
const database = process.env.DATABASE_DIRECT_URL || process.env.DATABASE_URL;
try {
  const { ok, lines } = isFramework
    ? await generateFramework(createFrameworkApp(environment), given)
    : await generate(app(environment), join(root, 'migrations'), given, database);
  console[ok ? 'log' : 'error'](lines.join('\n'));
  process.exit(ok ? 0 : 1);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
