import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { ConsoleTab } from '../../../../src/declare/console-tab.ts';
import { adminConsole, audit, createApp, defineExtension, defineUser } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

function createPage(files: Record<string, string>): URL {
  const folder = mkdtempSync(join(tmpdir(), 'console-tab-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return pathToFileURL(`${folder}/`);
}

const page = createPage({ 'tab.js': 'export const tab = {};', 'counter.css': '.counter {}', 'notes.md': 'private' });
let count = 0;

const counterTab: ConsoleTab = {
  id: 'counter',
  label: 'Counter',
  page,
  routes: [
    { method: 'GET', path: '/count', handler: () => ({ count }) },
    {
      method: 'POST',
      path: '/count',
      action: 'counted',
      input: z.strictObject({ by: z.number() }),
      handler({ input }) {
        count += input.by;
        return { count };
      },
    },
    {
      method: 'DELETE',
      path: '/count/:id',
      action: 'countReset',
      recordedAs: ({ params }) => ({ resource: 'user', record: params.id!, details: { former: count } }),
      handler() {
        throw new Error('The counter is stuck');
      },
    },
  ],
};
const toolTab: ConsoleTab = { id: 'tool', label: 'Tool', page, onlyInDevelopment: true, routes: [] };
const counter = defineExtension({ name: 'counter', setup: () => ({ consoleTabs: [counterTab, toolTab] }) });

// The console comes first: it shows tabs of extensions that are set up after it.
const options = { resources: [defineUser()], extensions: [adminConsole({ production: true }), counter, audit()] };
const development = await startTestApp({ ...options, settings: { rateLimit: { enabled: false } } });
const production = await startTestApp(options, {
  env: () => ({
    NODE_ENV: 'production',
    DRAIN_DELAY_MS: '0',
    APP_URL: 'https://api.example.com',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'silent',
  }),
  roles: ['web', 'relay'],
});

test('the console links the tabs of extensions, and serves their pages and scripts, but no other files', async () => {
  const { body } = await development.call('GET', '/console/api/app');
  expect(body.data.tabs.find(({ id }: { id: string }) => id === 'counter')).toEqual({
    id: 'counter',
    label: 'Counter',
    path: '/console/counter',
    page: {
      entry: '/console/assets/tabs/counter/tab.js',
      scripts: ['/console/assets/tabs/counter/tab.js'],
      styles: ['/console/assets/tabs/counter/counter.css'],
    },
  });
  for (const path of ['/console/counter', '/console/counter/any/page', '/console/assets/tabs/counter/tab.js'])
    expect((await fetch(development.url + path)).status, path).toBe(200);
  expect((await fetch(`${development.url}/console/assets/tabs/counter/notes.md`)).status).toBe(404);
  const html = await (await fetch(`${development.url}/console/counter`)).text();
  const [, kit] = /"belfry\/console":"(\/console\/assets\/shared-modules-\w+\.js)"/.exec(html)!;
  const served = await fetch(development.url + kit);
  expect([served.status, served.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
  // The tabs of Belfry are part of the console's own build.
  const audit = body.data.tabs.find(({ id }: { id: string }) => id === 'audit');
  expect(audit.page.entry).toMatch(/^\/console\/assets\/tab-\w+\.js$/);
  for (const path of [audit.page.entry, ...audit.page.scripts, ...audit.page.styles])
    expect((await fetch(development.url + path)).status, path).toBe(200);
  for (const name of ['manifest.json', 'main-ABCDEFGH.js', '..%2fmanifest.json', '__proto__'])
    expect((await fetch(`${development.url}/console/assets/${name}`)).status, name).toBe(404);
});

test('a tab needs the folder of its page', () => {
  expect(errorsOf({ id: 'other', label: 'Other', routes: [] })).toContain(
    'console tab "other": needs page, the folder',
  );
});

test('in development, the routes of a tab need no sign-in, but refuse pages of other origins', async () => {
  expect((await development.call('GET', '/console/api/counter/count')).body.data).toEqual({ count });
  const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
  const path = '/console/api/counter/count';
  expect((await development.call('GET', path, undefined, headers)).status).toBe(403);
  expect((await development.call('POST', path, { by: 1 }, headers)).status).toBe(403);
});

test('routes without a schema refuse parameters and fields, those of the console, too', async () => {
  const path = '/console/api/counter/count';
  for (const route of [path, '/console/api/app', '/console/api/overview', '/console/api/operations/limits'])
    expect((await development.call('GET', `${route}?limit=1`)).body.error, route).toMatchObject({
      code: 'BAD_REQUEST',
      message: 'Unknown query parameter "limit"',
    });
  expect((await development.call('DELETE', `${path}/1`, { by: 1 })).body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    details: { by: 'Unknown field' },
  });
});

test('in production, only administrators reach the routes of a tab, and each action is recorded before it runs', async () => {
  const { call, person } = production;
  const [root, ada] = [await person('Root', ['user', 'admin']), await person('Ada')];
  const path = '/console/api/counter/count';
  for (const method of ['GET', 'POST'] as const) {
    const body = method === 'GET' ? undefined : { by: 1 };
    expect((await call(method, path, body)).status).toBe(401);
    expect((await ada.call(method, path, body)).status).toBe(403);
  }
  const before = count;
  expect((await root.call('POST', path, { by: 'x' })).status).toBe(422);
  expect((await root.call('POST', path, { by: 2 })).body.data).toEqual({ count: before + 2 });
  expect((await root.call('DELETE', `${path}/${ada.id}`)).status).toBe(500);
  const { body: app } = await root.call('GET', '/console/api/app');
  expect(app.data.tabs.map(({ id }: { id: string }) => id)).toEqual([
    'overview',
    'data',
    'accounts',
    'counter',
    'audit',
    'push',
    'mails',
    'jobs',
    'operations',
    'reference',
  ]);
  expect((await fetch(`${production.url}/console/tool`)).status).toBe(404);

  const entries = await vi.waitFor(async () => {
    const { body } = await root.call('GET', '/console/api/audit/entries');
    const found = body.data.filter(({ action }: { action: string }) => action.startsWith('console.'));
    expect(found).toHaveLength(2);
    return found;
  });
  expect(entries).toEqual([
    expect.objectContaining({
      action: 'console.countReset',
      resource: 'user',
      record: ada.id,
      user: root.id,
      via: 'console',
      details: { former: before + 2 },
    }),
    expect.objectContaining({ action: 'console.counted', resource: 'counter', record: null, user: root.id }),
  ]);
});

function errorsOf(...tabs: readonly Partial<ConsoleTab>[]): string {
  const extension = defineExtension({ name: 'probe', setup: () => ({ consoleTabs: tabs as ConsoleTab[] }) });
  try {
    createApp(
      { resources: [defineUser()], extensions: [extension, adminConsole()] },
      { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' },
    );
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each<[fault: string, message: string, tabs: Partial<ConsoleTab>[]]>([
  ['an invalid id', 'the id must consist of lowercase letters and hyphens', [{ ...toolTab, id: 'My tab' }]],
  ['an id of the console', 'the console itself uses this id; choose another one', [{ ...toolTab, id: 'data' }]],
  ['the same id twice', 'another feature adds a tab with this id', [toolTab, toolTab]],
  [
    'a folder without a page',
    'the folder of its page needs a file tab.js',
    [{ ...toolTab, page: new URL('./none/', page) }],
  ],
  [
    'an action that is not recorded',
    'POST /x: needs an action',
    [{ ...toolTab, routes: [{ method: 'POST', path: '/x', handler: () => 1 }] }],
  ],
  [
    'an action with an invalid name',
    'the action must be a word in camelCase',
    [{ ...toolTab, routes: [{ method: 'POST', path: '/x', action: 'Do it', handler: () => 1 }] }],
  ],
])('an app whose tab has %s does not start', (_fault, message, tabs) => {
  expect(errorsOf(...tabs)).toContain(message);
});
