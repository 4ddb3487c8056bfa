import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { StartupError } from '../../platform/helpers/config-errors.ts';
import type { App } from '../../runtime/create-app.ts';
import { type AppOpener, DEVELOPMENT_ENVIRONMENT, findProject, loadEnvironmentFile, type Project } from './project.ts';

type CreateApp = (environment: Record<string, string | undefined>) => App;

/** The first lines of the stack of a syntax error: the place, the line of the file, and a marker below. */
const SYNTAX_ERROR = /^(\S+:\d+)\n.*\n( *)\^/;

/** Returns the first line of a stack trace that is in the project, as `src/app.ts:12:5`. */
function findOrigin({ root }: Project, error: Error): string | undefined {
  const stack = (error.stack ?? '').replace(SYNTAX_ERROR, (_, place, before) => `${place}:${before.length + 1}\n`);
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
    origin === undefined ? reason : `${reason} (${origin})`,
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
    const file = relative(project.root, project.appFile);
    if (typeof (create as Partial<App> | null | undefined)?.start === 'function')
      throw new StartupError(`${file} must export a function that creates the app:`, [
        `${module.app == null ? 'its default export' : '`app`'} is an app, not a function (environment) => createApp({ … }, environment)`,
      ]);
    throw new StartupError(`${file} does not export an app:`, [
      'export a function that creates it: export const app = (environment) => createApp({ … }, environment), or export default',
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
