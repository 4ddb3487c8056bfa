import { appendFileSync } from 'node:fs';
import { afterAll, expect, onTestFinished, TestRunner } from 'vitest';
import type { ProcessRole } from '../../src/declare/process-role.ts';
import type { AnyResource } from '../../src/declare/resource.ts';
import { createApp } from '../../src/index.ts';
import { type App, type AppOptions, findAssembly } from '../../src/runtime/create-app.ts';
import { planTestDatabase } from './database/test-database.ts';

/** The response to an HTTP call of a test. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
}

/** Calls a running app over HTTP, as one client. */
export type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<ApiResponse>;

/** Creates a client of an app; with a token it is signed in. */
export function createClient(url: string, token?: string): Client {
  return async (method, path, body, headers = {}) => {
    const requestBody = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(requestBody === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: requestBody,
      redirect: 'manual',
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
}

/** A user with an account and a session. */
export interface Person {
  id: string;
  email: string;
  token: string;
  call: Client;
}

/** A running app of a test file, with its own database. */
export interface TestApp<R extends readonly AnyResource[]> {
  app: App<R>;
  url: string;
  /** A signed-out client. */
  call: Client;
  env: Record<string, string>;
  /** Registers a user. Roles other than `user` are assigned by the system. */
  person(name: string, roles?: string[]): Promise<Person>;
}

let userCount = 0;

/** Counts the app for the report at the end of the run (scripts/test/report.ts). */
function noteBoot(): void {
  const file = process.env.TEST_BOOTS_FILE;
  if (file !== undefined) appendFileSync(file, `${expect.getState().testPath}\n`);
}

/**
 * Creates and starts an app for the whole test file, or for one test if called within it. The app is closed, and its database
 * dropped, after the last test of the file, or after that test.
 * Passwords are hashed with a low cost.
 *
 * @param testOptions
 *   - `env`: environment variables in addition to (or instead of) the test's services
 *   - `port`: default any free port
 *   - `roles`: default `web` alone; `all` are those that the environment does not disable. A test that waits for deliveries, pushes, jobs
 *     or events names the roles that do this work. Each role works in the background even if there is nothing to do, and so takes time
 *     from the tests of other files.
 */
export async function startTestApp<const R extends readonly AnyResource[]>(
  options: AppOptions<R>,
  testOptions: {
    env?: (services: { DATABASE_URL: string; REDIS_URL: string }) => Record<string, string>;
    port?: number;
    roles?: readonly ProcessRole[] | 'all';
  } = {},
): Promise<TestApp<R>> {
  const { port = 0, roles = ['web'] } = testOptions;
  const database = planTestDatabase();
  const services = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  const env: Record<string, string> = { NODE_ENV: 'test', ...services, ...testOptions.env?.(services) };
  // The test's own clients, which get `env`, may need a session of their own. The app connects through the run's pooler.
  const isOwnAddress = env.DATABASE_URL === services.DATABASE_URL;
  const appEnv = isOwnAddress ? { ...env, ...database.appVariables } : env;
  const cheapPasswordCost = { logN: 4, r: 8, p: 1 };
  const settings = { ...options.settings, auth: { password: cheapPasswordCost, ...options.settings?.auth } };
  const app = createApp({ ...options, settings }, appEnv);
  // Within a test, vitest ignores afterAll.
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  atEnd(async () => {
    await app.close();
    await database.drop();
  });
  if (isOwnAddress) await database.createWithTables(findAssembly(app)!);
  else {
    // The app reaches the database through a proxy, or uses another one.
    await database.create();
    await app.migrate({ mode: 'sync' });
  }
  noteBoot();
  const { url } = await app.start({ port, ...(roles !== 'all' && { roles }) });
  const call = createClient(url);
  return {
    app,
    url,
    call,
    env,
    async person(name, roles) {
      // In a separate domain: the counter continues across files, and the address must not collide with one in a test.
      const email = `${name.toLowerCase()}-${++userCount}@people.example.com`;
      const { status, body } = await call('POST', '/api/auth/register', {
        name,
        email,
        password: 'correct horse battery',
      });
      if (status !== 201) throw new Error(`${email} was not registered: ${status} ${JSON.stringify(body)}`);
      const { user, token } = body.data;
      if (roles !== undefined)
        await (app.service as (name: string) => ReturnType<typeof app.service>)('user').update(user.id, {
          roles,
        } as never);
      return { id: user.id, email, token, call: createClient(url, token) };
    },
  };
}
