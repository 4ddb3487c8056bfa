import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AuditApi } from '../extensions/audit/index.ts';
import type { PrivacyApi } from '../extensions/privacy/index.ts';
import type { WebhookOperations } from '../extensions/webhooks/index.ts';
import { StartupError } from '../platform/config/environment.ts';
import type { App } from '../runtime/create-app.ts';

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

type Variables = Record<string, string | undefined>;
type CreateApp = (environment: Variables) => App;

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
export const DATABASE_ONLY = { REDIS_URL: 'redis://none', NODE_ENV: 'test', LOG_LEVEL: 'warn' };

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

/** Returns the first line of a stack trace that is in the project, as `src/app.ts:12:5`. */
function findOrigin({ root }: Project, { stack = '' }: Error): string | undefined {
  const places = [...stack.matchAll(/(?:\(|at |^)((?:file:\/\/)?\/[^\s()]+?:\d+(?::\d+)?)\)?$/gm)].map(
    ([, place]) => place!,
  );
  return places
    .map((place) => relative(root, place.startsWith('file:') ? decodeURI(place.replace('file://', '')) : place))
    .find((place) => !place.startsWith('..') && !place.startsWith('node_modules'));
}

/** Describes an error that the app's code threw. */
function createAppError(project: Project, error: unknown): Error {
  if (error instanceof StartupError) return error;
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const origin = error instanceof Error ? findOrigin(project, error) : undefined;
  const file = relative(project.root, project.appFile);
  const reason = `${name}: ${message}`.split('\n')[0]!;
  const described = new StartupError(`${file} cannot be loaded:`, [
    reason,
    ...(origin === undefined ? [] : [`at ${origin}`]),
  ]);
  described.cause = error;
  return described;
}

/**
 * Loads the module of a project's app.
 *
 * @returns its function `app`, or its default export
 * @throws StartupError if the module throws, or if it does not export a function
 */
export async function loadAppModule(project: Project): Promise<{ app: CreateApp }> {
  let module: Partial<Record<'app' | 'default', unknown>>;
  try {
    module = await import(pathToFileURL(project.appFile).href);
  } catch (error) {
    throw createAppError(project, error);
  }
  const create = module.app ?? module.default;
  if (typeof create !== 'function') {
    throw new StartupError(`${relative(project.root, project.appFile)} does not export an app:`, [
      'export a function that creates it: export const app = (environment) => createApp({ … }, environment)',
    ]);
  }
  return {
    app(environment) {
      let app: App;
      try {
        app = create(environment);
      } catch (error) {
        throw createAppError(project, error);
      }
      if (typeof app?.start === 'function') return app;
      throw new StartupError(`${relative(project.root, project.appFile)} does not export an app:`, [
        'its function app(environment) must return createApp({ … }, environment)',
      ]);
    },
  };
}

/** Opens the app of the project in the working directory. */
export const openProjectApp: AppOpener = async (options) => {
  const { command, appFile, environment, orDevelopment, needsKeys, needsRedis } = options;
  const project = findProject(appFile);
  loadEnvironmentFile(project);
  const development = join(project.root, DEVELOPMENT_ENVIRONMENT);
  if (orDevelopment && !process.env.DATABASE_URL && existsSync(development))
    Object.assign(process.env, JSON.parse(readFileSync(development, 'utf8')));
  if (needsKeys && !process.env.SVC_ENCRYPTION_KEYS)
    throw new Error('SVC_ENCRYPTION_KEYS is missing. Set it to the keys that the service runs with.');
  const { app: create } = await loadAppModule(project);
  const REDIS_URL = process.env.REDIS_URL || (needsRedis ? undefined : 'redis://none');
  const app = create({ ...process.env, REDIS_URL, LOG_PROCESS: command, ...environment });
  return Object.assign(app, { [Symbol.asyncDispose]: () => app.close() });
};
