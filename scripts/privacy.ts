// `npm run privacy -- report`: where personal data is, who sees it and how long it stays, by the declarations. It needs no database.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { PrivacyApi } from '../src/extensions/privacy/index.ts';
import type { App } from '../src/runtime/create-app.ts';
import { MIGRATION_ENVIRONMENT } from './migration/environment.ts';
import { readPrivacyArguments } from './privacy/arguments.ts';
import { reportLines } from './privacy/report.ts';

const root = join(import.meta.dirname, '..');

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

/** The app of this deployment, to be connected to nothing. */
async function loadApp(): Promise<App & { privacy?: PrivacyApi }> {
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const { app } = await import('../src/app/index.ts');
  return app({ DATABASE_URL: 'postgres://none', ...process.env, ...MIGRATION_ENVIRONMENT });
}

try {
  const { json, strict } = readPrivacyArguments(process.argv.slice(2));
  const app = await loadApp();
  if (app.privacy === undefined) fail('This app lacks the extension privacy(): see docs/privacy.md.');
  const report = app.privacy.report(app.tables);
  console.log(json ? JSON.stringify(report) : reportLines(report).join('\n'));
  if (strict && report.unmarked.length + report.unclaimed.length > 0) process.exitCode = 1;
  await app.close();
} catch (error) {
  fail((error as Error).message);
}
