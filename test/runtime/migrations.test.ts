import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { app as exampleApp } from '../../src/app/index.ts';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';
import { statementsBetween, takeSnapshot } from '../../src/runtime/migrations/diff.ts';
import { createTestDatabase } from '../support/database.ts';

async function emptyDatabase() {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
  };
  return { env, url: database.databaseUrl };
}

async function rows(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('five instances that apply the migrations at once apply each once, and the app starts on the result', async () => {
  const { env, url } = await emptyDatabase();
  Object.assign(process.env, env);
  const apps = Array.from({ length: 5 }, () => exampleApp());
  await Promise.all(apps.map((app) => app.migrate({ mode: 'apply' })));
  await apps[0]!.start({ port: 0, roles: ['web'] });
  await Promise.all(apps.map((app) => app.close()));
  const journal = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'));
  expect(await rows(url, 'select 1 from drizzle.__drizzle_migrations')).toHaveLength(journal.entries.length);
});

test('the migrations folder is up to date with the example app', async () => {
  const { env } = await emptyDatabase();
  Object.assign(process.env, env);
  const app = exampleApp();
  const { entries } = JSON.parse(readFileSync('migrations/meta/_journal.json', 'utf8'));
  const last = JSON.parse(readFileSync(`migrations/meta/${entries.at(-1).tag.slice(0, 4)}_snapshot.json`, 'utf8'));
  expect((await statementsBetween(last, await takeSnapshot(app.tables))).statements).toEqual([]);
  await app.close();
});

test('sync adds and drops columns as the declarations change, and keeps the rows', async () => {
  const { env, url } = await emptyDatabase();
  const declared = (fields: Parameters<typeof defineResource>[1]['fields']) =>
    createApp({ resources: [defineUser(), defineResource('note', { fields })] }, env);
  const before = declared({ title: f.string().required(), old: f.string() });
  await before.migrate({ mode: 'sync' });
  await before.service('note').create({ title: 'kept', old: 'gone' } as never);
  await before.close();
  const after = declared({ title: f.string().required(), fresh: f.integer().sortable() });
  await Promise.all([after.migrate({ mode: 'sync' }), after.migrate({ mode: 'sync' })]);
  await after.close();
  expect(await rows(url, 'select title, fresh from notes')).toEqual([{ title: 'kept', fresh: null }]);
  await expect(rows(url, 'select old from notes')).rejects.toThrow('column "old" does not exist');
});

test('an app refuses to start on a database without its columns, naming them and the command that mends it', async () => {
  const { env } = await emptyDatabase();
  const app = createApp({ resources: [defineUser()] }, env);
  await expect(app.start({ port: 0 })).rejects.toThrow(/missing: .*table users[\s\S]*npm run migrate/);
  await app.close();
});

test('apply on an empty folder says how the first migration is made', async () => {
  const { env } = await emptyDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'belfry-empty-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const app = createApp({ resources: [defineUser()] }, env);
  await expect(app.migrate({ mode: 'apply', folder })).rejects.toThrow('npm run migration:generate');
  await app.close();
});

const things = (fields: Parameters<typeof defineResource>[1]['fields'], env: Record<string, string>) =>
  createApp({ resources: [defineUser(), defineResource('thing', { fields })] }, env);

test('a sync that fails changes nothing, says which statement, and works once the declaration is mended', async () => {
  const { env } = await emptyDatabase();
  const before = things({ a: f.string() }, env);
  await before.migrate({ mode: 'sync' });
  for (const a of ['same', 'same']) await before.service('thing').create({ a } as never);
  await before.close();
  const wrong = things({ a: f.string().unique(), b: f.string() }, env);
  await expect(wrong.migrate({ mode: 'sync' })).rejects.toThrow(
    /nothing was changed[\s\S]*things_a_unique[\s\S]*could not create unique index/,
  );
  await wrong.close();
  const mended = things({ a: f.string(), b: f.string() }, env);
  await mended.migrate({ mode: 'sync' });
  expect((await mended.service('thing').list()).meta.total).toBe(2);
  await mended.close();
});

test('a type that the values can not be turned into is refused, naming the column and the mend', async () => {
  const { env } = await emptyDatabase();
  const before = things({ a: f.string() }, env);
  await before.migrate({ mode: 'sync' });
  await before.close();
  const after = things({ a: f.integer() }, env);
  await expect(after.migrate({ mode: 'sync' })).rejects.toThrow(/"a" can not be turned into its new type/);
  await after.close();
});

test('a sync that may not lose data refuses to drop a column or a table, and lists them', async () => {
  const { env } = await emptyDatabase();
  const before = things({ a: f.string(), b: f.string() }, env);
  await before.migrate({ mode: 'sync' });
  await before.close();
  const fewer = things({ a: f.string() }, env);
  await expect(fewer.migrate({ mode: 'sync', mayLose: false })).rejects.toThrow(
    /would lose data[\s\S]*DROP COLUMN "b"/,
  );
  await fewer.close();
  const none = createApp({ resources: [defineUser()] }, env);
  await expect(none.migrate({ mode: 'sync', mayLose: false })).rejects.toThrow(/DROP TABLE "things"/);
  await none.close();
});

test('a database kept by migrations is not synced, and one kept by sync is not migrated', async () => {
  const migrated = await emptyDatabase();
  Object.assign(process.env, migrated.env);
  const one = exampleApp();
  await one.migrate({ mode: 'apply' });
  await expect(one.migrate({ mode: 'sync' })).rejects.toThrow('kept by migrations');
  await one.close();
  const synced = await emptyDatabase();
  Object.assign(process.env, synced.env);
  const other = exampleApp();
  await other.migrate({ mode: 'sync' });
  await expect(other.migrate({ mode: 'apply' })).rejects.toThrow('kept by sync');
  await other.close();
});
