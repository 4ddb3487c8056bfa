// `npm run audit -- verify`: walks the chain of the audit trail and names the first row that is not as it was. It needs DATABASE_URL,
// from the shell or from .env, or a running `npm run dev`.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditApi } from '../src/extensions/audit/index.ts';
import type { App } from '../src/runtime/create-app.ts';
import { readAuditArguments } from './audit/arguments.ts';
import { isSound, verificationLines } from './audit/report.ts';
import { DEVELOPMENT_ENVIRONMENT } from './dev/environment.ts';
import { MIGRATION_ENVIRONMENT } from './migration/environment.ts';

const root = join(import.meta.dirname, '..');
const LINE_MS = 5000;
const UNDEFINED_TABLE = '42P01';

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to its database and to nothing else. */
async function loadApp(): Promise<App & { audit?: AuditApi }> {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const development = join(root, DEVELOPMENT_ENVIRONMENT);
  if (!process.env.DATABASE_URL && existsSync(development)) {
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  }
  const { app } = await import('../src/app/index.ts');
  return app({ ...process.env, ...MIGRATION_ENVIRONMENT });
}

try {
  const { expected, json } = readAuditArguments(process.argv.slice(2));
  const app = await loadApp();
  if (app.audit === undefined) fail('This app has no audit trail: see docs/audit.md.');
  let said = performance.now();
  const onProgress = (rows: number) => {
    if (json || performance.now() - said < LINE_MS) return;
    said = performance.now();
    console.log(`${rows.toLocaleString('en-US')} rows …`);
  };
  try {
    const found = await app.audit.verify({ expected, onProgress });
    console.log(json ? JSON.stringify(found) : verificationLines(found).join('\n'));
    if (!isSound(found)) process.exitCode = 1;
  } finally {
    await app.close();
  }
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  fail(code === UNDEFINED_TABLE ? 'The database has no audit trail: apply the migrations (npm run migrate).' : message);
}
