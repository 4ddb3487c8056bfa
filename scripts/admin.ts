// `npm run admin -- create`, `promote`, `demote`, `disable`, `enable`, `list`, `sessions`, `import`: accounts from the command
// line; `mails`: the e-mails that development captured. It needs DATABASE_URL and SVC_ENCRYPTION_KEYS, from the shell or from .env, or a running `npm run dev`.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../src/runtime/create-app.ts';
import { readAdminArguments } from './admin/arguments.ts';
import { run } from './admin/run.ts';
import { DEVELOPMENT_ENVIRONMENT } from './dev/environment.ts';
import { whenAskedToStop } from './services/when-asked-to-stop.ts';

const root = join(import.meta.dirname, '..');

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to its database; Redis is only told that there is something to do. */
async function loadApp(): Promise<App> {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const development = join(root, DEVELOPMENT_ENVIRONMENT);
  if (!process.env.DATABASE_URL && existsSync(development)) {
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  }
  if (!process.env.SVC_ENCRYPTION_KEYS) fail('SVC_ENCRYPTION_KEYS is missing: say those that the service runs with.');
  const { app } = await import('../src/app/index.ts');
  const redis = process.env.REDIS_URL || 'redis://none';
  return app({ ...process.env, NODE_ENV: 'test', LOG_LEVEL: 'error', REDIS_URL: redis });
}

try {
  const given = readAdminArguments(process.argv.slice(2));
  const app = await loadApp();
  const stop = new AbortController();
  const work = run(app, given, stop.signal);
  if (given.command === 'import') {
    whenAskedToStop(async () => {
      stop.abort();
      await work.catch(() => undefined);
    });
  }
  try {
    if (!(await work)) process.exitCode = 1;
  } finally {
    await app.close();
  }
} catch (error) {
  fail((error as Error).message);
}
