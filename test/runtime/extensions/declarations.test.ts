import { expect, test } from 'vitest';
import type { Route } from '../../../src/declare/route.ts';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { createApp, defineExtension, defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { pgTable, text } from '../../../src/platform/data/postgres/drizzle.ts';
import { VERSION } from '../../../src/platform/helpers/version.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

/** The configuration errors that createApp reports. */
function configErrors(options: Parameters<typeof createApp>[0], variables: Record<string, string> = env): string {
  try {
    createApp(options, variables);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const withRoute = (route: Partial<Route>) =>
  configErrors({
    resources: [defineUser()],
    extensions: [
      defineExtension({
        name: 'probe',
        setup: () => ({ routes: [{ method: 'GET', path: '/probe', handler: () => 'ok', ...route } as Route] }),
      }),
    ],
  });

test('errors in environment, settings, resources, extensions and transports are reported all at once', () => {
  const errorText = configErrors(
    {
      resources: [defineUser(), defineResource('thing', { fields: { id: f.string() } })],
      extensions: [webhooks({ timeoutMs: -1, nope: 1 } as never), webhooks()],
      settings: { unknownFields: 'maybe' } as never,
      transports: [{} as never],
    },
    { ...env, DATABASE_URL: '' },
  );
  for (const part of [
    'DATABASE_URL',
    'unknownFields',
    '"id"',
    'timeoutMs',
    'nope',
    'installed twice',
    'transports[0]',
  ]) {
    expect(errorText).toContain(part);
  }
});

test.each([
  ['an invalid policy', { policy: 'public!' }, 'not a policy token'],
  ['an invalid rate limit', { rateLimit: { limit: 0, windowMs: 1000 } }, "rateLimit: must be 'auth' or { limit"],
  ['a path without a slash', { path: 'probe' }, 'the path must begin with /'],
  ['a path of a resource', { path: '/users' }, 'GET /users: another resource or extension already has this route'],
])('a route of an extension with %s is refused', (_what, route, text) => {
  expect(withRoute(route)).toContain(text);
});

const withPages = (...paths: string[]) =>
  configErrors({
    resources: [defineUser()],
    extensions: [
      defineExtension({
        name: 'probe',
        setup: () => ({ pages: paths.map((path): Route => ({ method: 'GET', path, handler: () => 'ok' })) }),
      }),
    ],
  });

test.each([
  ['below /api', ['/api/probe'], 'the path must begin with / and a fixed word'],
  ['at the path of a health check', ['/healthz'], 'the path must begin with / and a fixed word'],
  ['whose path begins with a parameter', ['/:any'], 'the path must begin with / and a fixed word'],
  [
    'whose path another page has',
    ['/probe', '/probe'],
    'page GET /probe: another resource or extension already has this route',
  ],
])('a page %s is refused', (_what, paths, text) => {
  expect(withPages(...paths)).toContain(text);
});

test('a page may have a path that looks like a path of the API', () => {
  expect(withPages('/', '/users', '/apis', '/.well-known/probe')).toBe('');
});

test('a resource whose path an extension already uses is refused', () => {
  const resources = [defineUser(), defineResource('webhook', { fields: {} })];
  expect(configErrors({ resources, extensions: [webhooks()] })).toContain(
    'GET /webhooks: another resource or extension already has this route',
  );
});

test('an extension without a setup is refused by name', () => {
  expect(configErrors({ resources: [defineUser()], extensions: [{ name: 'empty' } as never] })).toContain(
    'extension "empty": needs',
  );
});

const requiring = (requires: string) =>
  configErrors({
    resources: [defineUser()],
    extensions: [defineExtension({ name: 'probe', requires, setup: () => ({}) })],
  });

test('an extension that requires another version of Belfry is refused, and the error names both versions', () => {
  expect(requiring('>=99')).toContain(`extension "probe" requires Belfry >=99, but this is ${VERSION}`);
});

test('an extension that requires this version is accepted', () => {
  expect(requiring(`>=${VERSION} <99`)).toBe('');
  expect(requiring('*')).toBe('');
});

test('an invalid version range is refused', () => {
  expect(requiring('new')).toContain('extension "probe": requires: "new" is not a version range');
});

test('two extensions with a table of the same name are refused', () => {
  const table = pgTable('notes', { id: text('id').primaryKey() });
  const extension = (name: string) => defineExtension({ name, tables: { notes: table }, setup: () => ({}) });
  expect(configErrors({ resources: [defineUser()], extensions: [extension('one'), extension('two')] })).toContain(
    'table "notes": the extensions',
  );
});

test('a job that an extension does not have cannot be enqueued', async () => {
  let jobs: ExtensionHost['jobs'] | undefined;
  const extension = defineExtension({
    name: 'probe',
    setup(host) {
      jobs = host.jobs;
      return { jobs: { known: { run: async () => undefined } } };
    },
  });
  createApp({ resources: [defineUser()], extensions: [extension] }, env);
  await expect(jobs!.add('unknown', ['1'])).rejects.toThrow('extension "probe" has no job "unknown"');
});
