import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { AuditApi } from '../../extensions/audit/index.ts';
import type { PrivacyApi } from '../../extensions/privacy/index.ts';
import type { WebhookOperations } from '../../extensions/webhooks/index.ts';
import type { App } from '../../runtime/create-app.ts';

/** Where the app's module is looked for, in the project's folder. */
const APP_FILES = ['belfry.config', 'src/app', 'src/app/index'].flatMap((name) =>
  ['.ts', '.js', '.mjs'].map((extension) => name + extension),
);

/** The environment of a running `belfry dev`, in a file that only its user can read. Relative to the project's folder. */
export const DEVELOPMENT_ENVIRONMENT = '.data/environment.json';

/** A project: the folder in which commands run, and the module of its app. */
export interface Project {
  root: string;
  appFile: string;
}

/** The APIs of extensions that an app may have. */
interface ExtensionApis {
  audit: AuditApi;
  privacy: PrivacyApi;
  webhooks: WebhookOperations;
}

/** An app that a command works on. It is closed when the command ends. */
export type OpenedApp = App & Partial<ExtensionApis> & AsyncDisposable;

/** How a command needs the app. */
interface OpenOptions {
  /** The name of the command in log lines. */
  command: string;
  /** The value of `--app`. */
  appFile: string | undefined;
  /** Overrides the shell and .env. */
  environment: Readonly<Record<string, string>>;
  /** Uses the database of a running `belfry dev` if neither the shell nor .env sets DATABASE_URL. */
  orDevelopment?: boolean;
  /** Fails if SVC_ENCRYPTION_KEYS is missing. */
  needsKeys?: boolean;
  /** Fails if REDIS_URL is missing. Other commands use Redis only to wake up workers. */
  needsRedis?: boolean;
}

/** Opens the app for a command. It is not connected yet, and is closed when the command ends. */
export type AppOpener = (options: OpenOptions) => Promise<OpenedApp>;

/** The rest of an app's required environment, with unused values, for commands that need only the database. */
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'error' };

/**
 * Finds the project of the working directory: the nearest folder with an app, at most up to the one with package.json.
 *
 * @param appFile the value of `--app`
 * @throws Error that says where the app is looked for
 */
export function findProject(appFile?: string): Project {
  const cwd = process.cwd();
  if (appFile !== undefined) {
    const file = resolve(appFile);
    if (!existsSync(file)) throw new Error(`--app ${appFile}: there is no such file.`);
    return { root: cwd, appFile: file };
  }
  for (let root = cwd; ; root = dirname(root)) {
    const found = APP_FILES.map((name) => join(root, name)).find((file) => existsSync(file));
    if (found !== undefined) return { root, appFile: found };
    if (existsSync(join(root, 'package.json')) || dirname(root) === root) break;
  }
  throw new Error(
    `No app found in ${cwd}: there is neither src/app.ts nor belfry.config.ts.\nRun the command in the folder of your app, name the file with --app, or create an app: npm create belfry@latest`,
  );
}

/** Reads .env into the environment of this process. Variables that the shell sets take precedence. */
export function loadEnvironmentFile({ root }: Project): void {
  const file = join(root, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
}
