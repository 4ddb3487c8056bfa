import { createHash, randomBytes } from 'node:crypto';
import type { AnyResource } from '../declare/resource.ts';
import type { AssembledApp } from '../runtime/assemble.ts';
import { VERSION } from '../runtime/config-errors.ts';
import { type App, assemblyOf } from '../runtime/create-app.ts';
import { computeFingerprint } from '../runtime/migrations/sync.ts';
import { createTestApi, type TestApi } from './api.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { createRecordFactory } from './factories/create-records.ts';
import { createDatabaseServer, type DatabaseServer } from './servers/database-server.ts';
import { deleteRedisKeys } from './servers/redis-keys.ts';
import { provideTestServers } from './servers/servers.ts';
import { nameTestDatabase, provideTemplate } from './servers/template.ts';
import type { RecordIn, ValuesOf } from './types.ts';
import { createSignIn, type TestUser } from './users.ts';

type Variables = Record<string, string | undefined>;

/** The function that an app's module exports: it creates the app for an environment. */
export type AppDefinition<R extends readonly AnyResource[], X> = (environment: Variables) => App<R> & X;

/** Options of `createTestApp`. */
export interface TestAppOptions {
  /** Variables that the definition receives besides those of the test servers. Variables of the process are not passed on. */
  environment?: Record<string, string>;
}

/** An app that runs for tests, with a database of its own. */
export interface TestApp<R extends readonly AnyResource[], X = unknown> extends AsyncDisposable {
  app: App<R> & X;
  /** The address of the API, such as `http://127.0.0.1:40123`. */
  url: string;
  /** Sends requests without a session. */
  api: TestApi;
  /**
   * Creates a user and starts a session, without a login. Every field may be set, such as `roles`.
   *
   * @param who the values of a new user, or the id of an existing one
   */
  signInAs(who?: ValuesOf<R, 'user'> | string): Promise<TestUser<RecordIn<R, 'user'>>>;
  /** Stops the app and deletes its data. */
  close(): Promise<void>;
}

const servers = new Map<string, DatabaseServer>();

function databaseServerAt(url: string): DatabaseServer {
  let server = servers.get(url);
  if (server === undefined) {
    server = createDatabaseServer(url);
    servers.set(url, server);
  }
  return server;
}

/** Calls the definition, and returns the app with its parts. */
function assemble<A>(definition: (environment: Variables) => A, variables: Variables): { app: A; parts: AssembledApp } {
  const app = definition(variables);
  const parts = assemblyOf(app);
  if (parts === undefined)
    throw new TypeError(
      `createTestApp: the function must return the result of createApp, but it returned ${app instanceof Promise ? 'a promise' : typeof app}. An app's module exports it like this: export const app = (environment) => createApp({ … }, environment)`,
    );
  return { app, parts };
}

/**
 * Starts an app for tests: all its roles run in this process, with a throw-away database and Redis prefix. Uses the servers of
 * TEST_DATABASE_URL and TEST_REDIS_URL if they are set, otherwise starts its own.
 *
 * With vitest and `node --test`, the app is closed after the tests of the file, or after the test that created it.
 *
 * @param definition the function that the app's module exports
 * @throws StartupError if the app has configuration errors
 */
export async function createTestApp<const R extends readonly AnyResource[], X>(
  definition: AppDefinition<R, X>,
  { environment = {} }: TestAppOptions = {},
): Promise<TestApp<R, X>> {
  if (typeof definition !== 'function')
    throw new TypeError(
      "createTestApp takes the function that your app module exports: createTestApp(app), with: import { app } from './belfry.config.ts'",
    );
  const { databaseUrl, redisUrl } = await provideTestServers();
  const server = databaseServerAt(databaseUrl);
  const id = randomBytes(5).toString('hex');
  const database = nameTestDatabase(id);
  const redisPrefix = `belfry-test-${id}`;
  const createVariables = (name: string): Variables => ({
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    ...environment,
    DATABASE_URL: server.addressOf(name),
    REDIS_URL: redisUrl,
    REDIS_PREFIX: redisPrefix,
  });

  const { app, parts } = assemble(definition, createVariables(database));
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= (async () => {
      try {
        await app.close();
      } finally {
        await server.dropDatabase(database);
        await deleteRedisKeys(redisUrl, redisPrefix);
      }
    })();
    return closing;
  };
  try {
    const fingerprint = createHash('sha256')
      .update(`${VERSION} ${computeFingerprint(parts)}`)
      .digest('hex');
    const template = await provideTemplate(server, databaseUrl, fingerprint, async (name) => {
      const { app: creator } = assemble(definition, createVariables(name));
      await creator.migrate({ mode: 'sync' }).finally(() => creator.close());
    });
    await server.copyDatabase(template, database);
    const { url } = await app.start({ port: 0, roles: ['web', 'relay', 'webhook-worker', 'push-worker'] });
    await closeAfterTests(close);
    const factory = createRecordFactory(parts.host);
    return {
      app,
      url,
      api: createTestApi(url),
      signInAs: createSignIn(parts, factory, url) as unknown as TestApp<R, X>['signInAs'],
      close,
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
