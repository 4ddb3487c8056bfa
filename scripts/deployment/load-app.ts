import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuditApi } from '../../src/extensions/audit/index.ts';
import type { PrivacyApi } from '../../src/extensions/privacy/index.ts';
import type { WebhookOperations } from '../../src/extensions/webhooks/index.ts';
import type { App } from '../../src/runtime/create-app.ts';
import { DEVELOPMENT_ENVIRONMENT } from '../dev/environment.ts';
import { COMMAND } from './database-only.ts';
import { fail } from './fail.ts';

const root = join(import.meta.dirname, '..', '..');

/** What extensions that a deployment may have offer to commands. */
interface ExtensionApis {
  audit: AuditApi;
  privacy: PrivacyApi;
  webhooks: WebhookOperations;
}

/** How a command loads the app. */
interface LoadOptions {
  /** Goes before what the shell and .env say. */
  environment: Readonly<Record<string, string>>;
  /** Takes the database of a running `npm run dev` where neither the shell nor .env names one. */
  orDevelopment?: boolean;
  /** Ends the command where SVC_ENCRYPTION_KEYS is missing. */
  needsKeys?: boolean;
}

/** The app of this deployment, connected to nothing yet. Redis may be missing: it is only told that there is something to do. */
export async function loadApp(options: LoadOptions): Promise<App & Partial<ExtensionApis>> {
  const { environment, orDevelopment = false, needsKeys = false } = options;
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const development = join(root, DEVELOPMENT_ENVIRONMENT);
  if (orDevelopment && !process.env.DATABASE_URL && existsSync(development)) {
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  }
  if (needsKeys && !process.env.SVC_ENCRYPTION_KEYS)
    fail('SVC_ENCRYPTION_KEYS is missing: say those that the service runs with.');
  const { app } = await import('../../src/app/index.ts');
  return app({ ...process.env, REDIS_URL: process.env.REDIS_URL || 'redis://none', ...COMMAND, ...environment });
}
