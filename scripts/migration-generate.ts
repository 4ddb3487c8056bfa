// `npm run migration:generate -- --framework <name>`: writes the SQL that updates Belfry's own migrations (migrations/belfry) to the
// tables of its features. Without `--framework`, it updates migrations/ to the app in src/app, as `npx belfry migration generate` does
// in a project. It asks no questions: options supply what it cannot know (docs/build/migrations.md).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { app } from '../src/app/index.ts';
import { generate, generateFramework } from '../src/cli/migration/generate.ts';
import { createFrameworkApp } from './framework-app.ts';

const root = join(import.meta.dirname, '..');
const given = process.argv.slice(2);
const options = given.filter((word) => word !== '--framework');

/** Creates the app in src/app. The environment does not affect its tables, and it connects to nothing. */
const createApp = () => app({ NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' });

if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
const database = process.env.DATABASE_DIRECT_URL || process.env.DATABASE_URL;
try {
  const { ok, lines } = given.includes('--framework')
    ? await generateFramework(createFrameworkApp(), options)
    : await generate(createApp(), join(root, 'migrations'), options, database);
  console[ok ? 'log' : 'error'](lines.join('\n'));
  process.exit(ok ? 0 : 1);
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
