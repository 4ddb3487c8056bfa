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
