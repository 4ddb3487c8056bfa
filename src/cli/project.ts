import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { AuditApi } from '../extensions/audit/index.ts';
import type { PrivacyApi } from '../extensions/privacy/index.ts';
import type { WebhookOperations } from '../extensions/webhooks/index.ts';
import type { App } from '../runtime/create-app.ts';
import { DEVELOPMENT_ENVIRONMENT } from './dev/environment.ts';

const root = join(import.meta.dirname, '..', '..');

/** The APIs of extensions that a deployment may have. */
interface ExtensionApis {
  audit: AuditApi;
  privacy: PrivacyApi;
  webhooks: WebhookOperations;
}

/** Options for loading the app. */
interface LoadOptions {
  /** Overrides the shell and .env. */
  environment: Readonly<Record<string, string>>;
  /** Uses the database of a running `npm run dev` if neither the shell nor .env sets DATABASE_URL. */
  orDevelopment?: boolean;
  /** Ends the command if SVC_ENCRYPTION_KEYS is missing. */
  needsKeys?: boolean;
}

/** Returns the app of this deployment, not connected yet. It works without Redis, which commands use only to wake up workers. */
export async function loadApp(options: LoadOptions): Promise<App & Partial<ExtensionApis>> {
  const { environment, orDevelopment = false, needsKeys = false } = options;
  if (existsSync(join(root, '.env'))) process.loadEnvFile(join(root, '.env'));
  const development = join(root, DEVELOPMENT_ENVIRONMENT);
  if (orDevelopment && !process.env.DATABASE_URL && existsSync(development)) {
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  }
  if (needsKeys && !process.env.SVC_ENCRYPTION_KEYS)
    printErrorAndExit('SVC_ENCRYPTION_KEYS is missing. Set it to the keys that the service runs with.');
  const { app } = await import('../app/index.ts');
  return app({ ...process.env, REDIS_URL: process.env.REDIS_URL || 'redis://none', ...COMMAND, ...environment });
}

/** The name of this command in log lines: `migrate` for scripts/migrate.ts. */
const COMMAND = { LOG_PROCESS: basename(process.argv[1] ?? 'command', '.ts') };

/** The rest of an app's required environment, with unused values, for commands that need only the database. */
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn', ...COMMAND };

/** Prints an error and ends the command with exit code 1. */
export function printErrorAndExit(message: string): never {
  console.error(message);
  process.exit(1);
}
