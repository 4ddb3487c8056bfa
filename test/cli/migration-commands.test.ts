import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { generate } from '../../src/cli/migration/generate.ts';
import { readDatabase } from '../../src/cli/migration/read-database.ts';
import type { Fields } from '../../src/declare/field.ts';
import type { AnyResource } from '../../src/declare/resource.ts';
import { createApp, defineResource, f } from '../../src/index.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { runCommandsInOneProcess, startCommand } from '../support/processes/command.ts';

const patience = { timeout: 60_000, interval: 25 };

const { folder, writeApp, remove } = createAppProject();
afterAll(remove);
const migrations = join(folder, 'migrations');

/** Returns the lines about the project's own migrations. */
const ownLines = (lines: string[]) => lines.filter((line) => line !== '' && !/^(\w+ {2})?belfry\//.test(line));

/** The project, without migrations of its own, and a database for it. */
async function project() {
  const database = await createTestDatabase();
  const client = new pg.Client(database.databaseUrl);
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await database.drop();
    rmSync(migrations, { recursive: true, force: true });
  });
  const variables = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: database.redisUrl };
  const of = (resources: AnyResource[]) => {
    const app = createApp({ resources }, variables);
    onTestFinished(() => app.close());
    return app;
  };
  const made = (fields: Fields) => of([defineResource('post', { fields })]);
  /** Starts a command in a process. */
  const begin = (command: string, variables: Record<string, string> = {}) =>
    startCommand(folder, command, { DATABASE_URL: database.databaseUrl, ...variables });
  /** Runs a command in a process, and returns what it prints about the project's own migrations. */
  async function run(command: string, variables: Record<string, string> = {}) {
    const { code, output } = await begin(command, variables).ended;
    return { code, output: ownLines(output.split('\n')) };
  }
  /** Runs commands in one process, and returns what they print about the project's own migrations. */
  async function runAll(commands: readonly string[]) {
    const runs = commands.map((command) => ({ folder, command, env: { DATABASE_URL: database.databaseUrl } }));
    const results = await runCommandsInOneProcess(runs);
    return results.map(({ code, output }) => ({ code, output: ownLines(output.split('\n')) }));
  }
  return {
    runAll,
    redis: { REDIS_URL: database.redisUrl, REDIS_PREFIX: database.redisPrefix },
    begin,
    run,
    /** Runs `generate` with these resources in this process. */
    generating: (resources: AnyResource[], ...args: string[]) =>
      generate(of(resources), migrations, args, database.databaseUrl),
    /** Returns the state of the database, or the SQL of pending migrations. */
    reading: async (what: 'status' | 'sql') => ownLines(await readDatabase(database.databaseUrl, migrations, what)),
    /** Runs `generate` in this process. */
    async write(fields: Fields) {
      const { ok, lines } = await generate(made(fields), migrations, [], undefined);
      expect({ ok, lines }).toMatchObject({ ok: true });
    },
    /** Migrates in this process. */
    async apply() {
      const output: string[] = [];
      await made({}).migrate({ mode: 'apply', folder: migrations, say: (line) => output.push(line) });
      return ownLines(output);
    },
    /** Makes the database match a declaration, as `belfry dev` does. */
    sync: (fields: Fields) => made(fields).migrate({ mode: 'sync' }),
    declare: (resources: string) =>
      writeApp(`import { createApp, defineResource, f } from 'belfry';
        export const app = (environment) => createApp({ resources: [${resources}] }, environment);`),
    // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
    query: async (sql: string): Promise<any[]> => (await client.query(sql)).rows,
    async another() {
      const other = new pg.Client(database.databaseUrl);
      await other.connect();
      onTestFinished(() => other.end());
      return other;
    },
  };
}

const DONE = 'The database is up to date.';
const NONE_PENDING = 'No migrations are pending.';
const FIRST = `defineResource('post', { fields: { title: f.string(), views: f.integer(), old: f.string() } })`;
const FIELDS = { title: f.string(), views: f.integer(), old: f.string() };
const UP_TO_DATE = { ok: true, lines: ['The migrations are up to date with the declarations.'] };

test('a team adds, renames, changes a type and drops with commands alone, and its rows are preserved', {
  timeout: 240_000,
}, async () => {
  const { declare, runAll, generating, reading, apply, query } = await project();
  declare(FIRST);
  const commands = ['migration generate', 'migrate', 'migration status', 'migrate --dry-run'];
  const [check, ...results] = await runAll(['migration generate --check', 'migration status', ...commands]);
  expect(check).toMatchObject({ code: 1 });
  expect(results).toEqual([
    // The check has written nothing.
    { code: 1, output: ['There are no migrations:', expect.any(String)] },
    { code: 0, output: expect.arrayContaining(['migrations/0000_init.sql: 2 statements.']) },
    { code: 0, output: ['0000_init applied', DONE] },
    { code: 0, output: ['applied  0000_init', NONE_PENDING] },
    { code: 0, output: ['-- Nothing is pending.'] },
  ]);
  expect(await generating([defineResource('post', { fields: FIELDS })], '--check')).toEqual(UP_TO_DATE);
  await query(`insert into posts (id, title, views, old) values ('1', 'a', 1, 'x'), ('2', 'b', 2, null)`);

  const changed = defineResource('post', {
    fields: {
      headline: f.string().renamedFrom('title').searchable(),
      views: f.text(),
      status: f.enum(['new', 'read']).default('new').filterable(),
    },
  });
  expect(await generating([changed], 'headline')).toEqual({
    ok: false,
    lines: [
      'This would lose data:',
      '  - posts.old: 1 row holds a value',
      '      to rename it to status: npx belfry migration generate headline --rename posts.old=status',
      '      to drop it: npx belfry migration generate headline --drop posts.old',
    ],
  });
  const { ok, lines } = await generating([changed], 'headline', '--drop', 'posts.old');
  expect(ok).toBe(true);
  expect(lines.slice(0, 2)).toEqual([
    'migrations/0001_headline.sql: 4 statements.',
    'migrations/0002_headline_indexes.sql: 2 statements.',
  ]);

  expect(await reading('status')).toEqual([
    'applied  0000_init',
    'pending  0001_headline',
    'pending  0002_headline_indexes',
    'Pending: 2. Apply with: npx belfry migrate',
  ]);
  const dry = (await reading('sql')).join('\n').split('\n');
  expect(dry).toContain('-- 0001_headline.sql');
  expect(dry).toContain('ALTER TABLE "posts" RENAME COLUMN "title" TO "headline";');
  expect(dry).toContain('-- 0002_headline_indexes.sql');
  expect(dry.join('\n')).not.toContain('CREATE TABLE');
  expect(await query('select title from posts')).toHaveLength(2);

  expect(await apply()).toEqual(['0001_headline applied', '0002_headline_indexes applied']);
  expect(await query('select id, headline, views, status from posts order by id')).toEqual([
    { id: '1', headline: 'a', views: '1', status: 'new' },
    { id: '2', headline: 'b', views: '2', status: 'new' },
  ]);

  writeFileSync(join(folder, 'migrations', '0000_init.sql'), 'select 1;');
  expect((await reading('status'))[0]).toBe('applied  0000_init  (the file was changed since: restore it)');
  await expect(apply()).rejects.toMatchObject({
    message: `Migrations were changed after they were applied to this database:
  - 0000_init.sql: restore the file, and put the change into a new migration`,
  });
});

test('a migrate that is killed while it waits for a lock leaves nothing behind, and the next one finishes', {
  timeout: 240_000,
}, async () => {
  const { declare, write, apply, reading, begin, query, another } = await project();
  declare(FIRST);
  await write(FIELDS);
  await apply();
  await write({ ...FIELDS, more: f.string().default('x') });
  const holder = await another();
  await holder.query('begin; select * from posts');
  const first = begin('migrate');
  const waiting = `select count(*)::int as n from pg_locks where not granted and relation = 'posts'::regclass`;
  await vi.waitUntil(async () => (await query(waiting))[0].n === 1, patience);
  first.child.kill('SIGKILL');
  await first.ended;
  const second = apply();
  await holder.query('commit');
  expect(await second).toEqual(['0001_change applied']);
  expect(await query('select more from posts')).toEqual([]);
  expect(await reading('status')).toEqual(['applied  0000_init', 'applied  0001_change', NONE_PENDING]);
});

const BUILDING = `select pid from pg_stat_activity where datname = current_database() and query like 'CREATE%INDEX CONCURRENTLY%' and wait_event_type = 'Lock'`;

test.each([
  ['its process is killed', 'process'],
  ['its session in Postgres is ended, which leaves a broken index', 'session'],
])('if %s while an index is built, the next migrate finishes', { timeout: 240_000 }, async (_, what) => {
  const { declare, write, apply, begin, query, another } = await project();
  declare(FIRST);
  await write(FIELDS);
  await apply();
  await write({ ...FIELDS, title: f.string().unique(), views: f.integer().sortable() });
  const holder = await another();
  await holder.query(`begin; insert into posts (id, title) values ('1', 'a')`);
  const isBuilding = () => vi.waitUntil(async () => (await query(BUILDING)).length === 1, patience);
  if (what === 'process') {
    const first = begin('migrate');
    await isBuilding();
    first.child.kill('SIGKILL');
    await first.ended;
  } else {
    const first = apply().catch((error: Error) => error.message);
    await isBuilding();
    await query(`select pg_terminate_backend(pid) from (${BUILDING}) as building`);
    expect(await query(`select 1 from pg_index where not indisvalid`)).toHaveLength(1);
    expect(await first).not.toMatch(/\n {4}at /);
  }
  const second = apply();
  await holder.query('commit');
  expect(await second).toEqual(['0001_change applied']);
  const indexes = `select relname as name, indisvalid as valid from pg_index join pg_class c on c.oid = indexrelid where indrelid = 'posts'::regclass order by 1`;
  expect((await query(indexes)).filter(({ valid }) => !valid)).toEqual([]);
  expect((await query(indexes)).map(({ name }) => name)).toEqual([
    'posts_created_at_index',
    'posts_pkey',
    'posts_title_unique',
    ...(
      await query(`select 'posts_updated_at_index' as name where to_regclass('posts_updated_at_index') is not null`)
    ).map(({ name }) => name),
    'posts_views_sort_index',
  ]);
});

test('of two concurrent migrate processes, each migration is applied once, and both succeed', {
  timeout: 240_000,
}, async () => {
  const { declare, write, run, reading } = await project();
  declare(FIRST);
  await write(FIELDS);
  await write({ ...FIELDS, title: f.string().unique() });
  const outcomes = await Promise.all([run('migrate'), run('migrate')]);
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  const lines = outcomes.flatMap(({ output }) => output.filter((line) => line !== DONE));
  expect(lines).toEqual(['0000_init applied', '0001_change applied']);
  expect(await reading('status')).toEqual(['applied  0000_init', 'applied  0001_change', NONE_PENDING]);
});

test('after a rollback, the older code starts on the newer database and reports that the database is ahead', {
  timeout: 240_000,
}, async () => {
  const { declare, write, apply, reading, begin, query, redis } = await project();
  declare(FIRST);
  await write(FIELDS);
  await apply();
  await query('alter table posts add column newer text');
  await query(`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`);
  expect(await reading('status')).toEqual([
    'applied  0000_init',
    'unknown  1 more, applied by a newer version of the app or of Belfry',
    NONE_PENDING,
  ]);
  const web = begin('start web', { ...redis, NODE_ENV: 'test', LOG_LEVEL: 'warn', PORT: '0' });
  await vi.waitUntil(() => web.out.output.includes('listens on'), patience);
  expect(web.out.output).toContain('newer code has migrated the database; migrations unknown to this version: 1');
  web.child.kill('SIGTERM');
  expect((await web.ended).code).toBe(0);
});

test('belfry migrate needs only DATABASE_URL, even in production', { timeout: 240_000 }, async () => {
  const { declare, write, run, query } = await project();
  declare(FIRST);
  await write(FIELDS);
  expect(await run('migrate', { NODE_ENV: 'production' })).toEqual({ code: 0, output: ['0000_init applied', DONE] });
  expect(await query(`select to_regclass('outbox') is not null as made`)).toEqual([{ made: true }]);
});

test('without migrations, and on a database of belfry dev, the error names the command to run', {
  timeout: 240_000,
}, async () => {
  const { declare, write, runAll, sync } = await project();
  declare(FIRST);
  const [absent] = await runAll(['migrate']);
  expect(absent).toMatchObject({
    code: 1,
    output: ['There are no migrations:', expect.stringContaining('npx belfry migration generate')],
  });
  await write(FIELDS);
  await sync(FIELDS);
  for (const result of await runAll(['migrate', 'migrate --dry-run', 'migration status']))
    expect(result).toEqual({
      code: 1,
      output: [
        'This database was created by npx belfry dev (sync mode), so migrations cannot be applied to it:',
        '  - set DATABASE_URL to another database, or empty this one',
      ],
    });
});

test('an app that production refuses can be migrated; doctor names what start refuses', {
  timeout: 240_000,
}, async () => {
  const { begin, run, redis } = await project();
  writeApp(`import { createApp, defineUser, oidc, simulatedProvider } from 'belfry';
    export const app = (environment) => createApp({
      resources: [defineUser()],
      extensions: [oidc({ providers: { simulated: simulatedProvider() } })],
    }, environment);`);
  expect(await run('migration generate init')).toMatchObject({ code: 0 });
  expect(await run('migrate', { NODE_ENV: 'production' })).toEqual({ code: 0, output: ['0000_init applied', DONE] });
  const SVC_ENCRYPTION_KEYS = Buffer.alloc(32, 1).toString('base64');
  const production = { NODE_ENV: 'production', ...redis, SVC_ENCRYPTION_KEYS, APP_URL: 'https://api.example.com' };
  const refusal = expect.stringContaining('oidc.providers.simulated: the simulated provider lets anyone sign in');
  for (const command of ['start relay', 'doctor'])
    expect(await begin(command, production).ended).toMatchObject({ code: 1, output: refusal });
});
