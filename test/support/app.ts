import { afterAll, onTestFinished, TestRunner } from 'vitest';
import type { AnyResource } from '../../src/declare/resource.ts';
import { createApp } from '../../src/index.ts';
import type { App, AppOptions } from '../../src/runtime/create-app.ts';
import type { StartOptions } from '../../src/runtime/start.ts';
import { createTestDatabase } from './database.ts';

/** What an HTTP call of a test came back with. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  body: any;
}

/** Calls of a running app over HTTP, as one client. */
export type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** A client of an app; with a token it is signed in. */
export function clientOf(url: string, token?: string): Client {
  return async (method, path, body, headers = {}) => {
    const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: sent,
      redirect: 'manual',
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
}

/** A person with an account and a session. */
export interface Person {
  id: string;
  email: string;
  token: string;
  call: Client;
}

/** A running app of a test file, with a database of its own. */
export interface TestApp<R extends readonly AnyResource[]> {
  app: App<R>;
  url: string;
  /** Signed out. */
  call: Client;
  env: Record<string, string>;
  /** Registers a person. With roles other than `user` they are given by the system. */
  person(name: string, roles?: string[]): Promise<Person>;
}

let people = 0;

/**
 * Makes and starts an app for the whole test file, or for one test when that asks for it; it is closed, and its database
 * dropped, after the file's last test, or that one.
 * Passwords are hashed cheaply.
 *
 * @param how `env`: what the environment has beside (or instead of) the test's own services
 */
export async function startTestApp<const R extends readonly AnyResource[]>(
  options: AppOptions<R>,
  how: {
    env?: (own: { DATABASE_URL: string; REDIS_URL: string }) => Record<string, string>;
    start?: StartOptions;
  } = {},
): Promise<TestApp<R>> {
  const database = await createTestDatabase();
  const own = { DATABASE_URL: database.databaseUrl, REDIS_URL: database.redisUrl, REDIS_PREFIX: database.redisPrefix };
  const env: Record<string, string> = { NODE_ENV: 'test', ...own, ...how.env?.(own) };
  const cheap = { logN: 4, r: 8, p: 1 };
  const settings = { ...options.settings, auth: { password: cheap, ...options.settings?.auth } };
  const app = createApp({ ...options, settings }, env);
  // Within a test vitest takes an afterAll and forgets it.
  const atEnd = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  atEnd(async () => {
    await app.close();
    await database.drop();
  });
  await app.migrate({ mode: 'sync' });
  const { url } = await app.start({ port: 0, ...how.start });
  const call = clientOf(url);
  return {
    app,
    url,
    call,
    env,
    async person(name, roles) {
      // Of a domain of their own: the count goes on from file to file, and must not meet one of a test's.
      const email = `${name.toLowerCase()}-${++people}@people.example.com`;
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
      return { id: user.id, email, token, call: clientOf(url, token) };
    },
  };
}
