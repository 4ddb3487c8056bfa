import { join } from 'node:path';
import { PROCESS_ROLES } from '../declare/process-role.ts';
import type { AnyResource } from '../declare/resource.ts';
import type { AssembledApp } from '../runtime/assemble.ts';
import { type App, findAssembly } from '../runtime/create-app.ts';
import { createTestApi } from './api.ts';
import { createCapturedMessages } from './captured.ts';
import { createTestClock } from './clock/test-clock.ts';
import { closeAfterTests } from './close-after-tests.ts';
import { createRecordFactory, type RecordFactory } from './factories/create-records.ts';
import { provideAppDatabase } from './servers/test-database.ts';
import type { TestApp } from './test-app.ts';
import { createSignIn, type TestUser } from './users.ts';
import { settle } from './waiting/settle.ts';
import type { WaitOptions } from './waiting/wait.ts';
import { receiveWebhooks } from './webhook-receiver.ts';

type Variables = Record<string, string | undefined>;

/** The function that an app's module exports: it creates the app for an environment. */
export type AppDefinition<R extends readonly AnyResource[], X> = (environment: Variables) => App<R> & X;

/** Options of `createTestApp`. */
export interface TestAppOptions {
  /** Variables that the definition receives besides those of the test servers. Variables of the process are not passed on. */
  environment?: Record<string, string>;
}

const EXAMPLE = 'export const app = (environment) => createApp({ … }, environment)';

function describeType(value: unknown): string {
  if (value instanceof Promise) return 'a promise';
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}

/** Calls the definition, and returns the app with its parts. @throws TypeError if that is not an app */
function assemble<A>(definition: (environment: Variables) => A, variables: Variables): { app: A; parts: AssembledApp } {
  const app = definition(variables);
  const parts = findAssembly(app);
  if (parts === undefined)
    throw new TypeError(
      `createTestApp: the function must return the result of createApp, but it returned ${describeType(app)}: ${EXAMPLE}`,
    );
  return { app, parts };
}

/** Runs all steps, also after one has failed, and throws the first error. */
async function runAll(steps: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Creates the records of `createMany`. */
async function createMany(factory: RecordFactory, resource: string, count: number, values: unknown): Promise<object[]> {
  const records: object[] = [];
  for (let i = 0; i < count; i++)
    records.push(await factory.create(resource, typeof values === 'function' ? values(i) : values));
  return records;
}

/**
 * Starts an app for tests: all its roles run in this process, with a throw-away database and Redis prefix. Uses the servers of
 * TEST_DATABASE_URL and TEST_REDIS_URL if they are set, otherwise starts its own.
 *
 * With vitest and `node --test`, the app is closed after the tests of the file, or after the test that created it.
 *
 * @param definition the function that the app's module exports
 * @throws StartupError if the app has configuration errors; Error if a server cannot be reached or started
 * @example
 * const test = await createTestApp(app);
 * const ada = await test.signInAs({ name: 'Ada' });
 * const { status } = await ada.api.post('/api/tasks', { title: 'Write a test' });
 */
export async function createTestApp<const R extends readonly AnyResource[], X>(
  definition: AppDefinition<R, X>,
  { environment = {} }: TestAppOptions = {},
): Promise<TestApp<R, X>> {
  if (typeof definition !== 'function')
    throw new TypeError(
      `createTestApp takes the function that the app's module exports, not ${describeType(definition)}: ${EXAMPLE}`,
    );
  const database = await provideAppDatabase();
  const folder = join(process.cwd(), 'migrations');
  const defaults = { NODE_ENV: 'test', HOST: '127.0.0.1', ...environment };
  const { app, parts } = assemble(definition, { ...defaults, ...database.connection });
  const closings: (() => unknown)[] = [() => app.close(), () => database.drop()];
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= runAll(closings);
    return closing;
  };
  try {
    await database.create(parts, folder, async (connection) => {
      const { app: creator } = assemble(definition, { ...defaults, ...connection });
      await creator.migrate({ mode: 'sync', folder }).finally(() => creator.close());
    });
    const { url } = await app.start({ port: 0, roles: PROCESS_ROLES });
    const { clock, stop } = await createTestClock(parts, database.connection);
    closings.unshift(stop);
    await closeAfterTests(close);
    const factory = createRecordFactory(parts.host);
    const testApp = {
      app,
      url,
      api: createTestApi(url),
      clock,
      ...createCapturedMessages(parts),
      signInAs: createSignIn(parts, factory, url),
      create: (resource: string, values?: Record<string, unknown>) => factory.create(resource, values),
      createMany: (resource: string, count: number, values: unknown) => createMany(factory, resource, count, values),
      async receiveWebhooks(user: TestUser<unknown>, events: readonly string[]) {
        const receiver = await receiveWebhooks(user, events);
        closings.push(receiver.close);
        return receiver;
      },
      settle: (options?: WaitOptions) => settle(parts, options),
      close,
      [Symbol.asyncDispose]: close,
    };
    // The methods take any resource; the type knows the resources of the app.
    return testApp as unknown as TestApp<R, X>;
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
