import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAllExtensions } from '../../scripts/framework-app.ts';
import { app as sampleApp } from '../../src/app/index.ts';
import { comment } from '../../src/app/resources/comment.ts';
import { post } from '../../src/app/resources/post.ts';
import { user } from '../../src/app/resources/user.ts';
import { generate } from '../../src/cli/migration/generate.ts';
import { apiKeys, audit, createApp, defineResource, defineUser, f, twoFactor, webhooks } from '../../src/index.ts';
import { applyMigrations } from '../../src/runtime/migrations/apply.ts';
import { readFrameworkMigrations } from '../../src/runtime/migrations/framework.ts';
import { type Snapshot, takeSnapshot } from '../../src/runtime/migrations/plan/snapshot.ts';
import { readMigrations } from '../../src/runtime/migrations/read-migrations.ts';
import {
  applyEarlierMigrations,
  createEmptyDatabase,
  EARLIER_MIGRATIONS,
  migrateAndClose,
} from '../support/database/earlier-databases.ts';
import { withoutResourcesOfApp } from '../support/database/framework-extensions.ts';
import { readSchema, removeFieldDefaults } from '../support/database/read-schema.ts';

const FRAMEWORK = readFrameworkMigrations().map(({ name }) => `${name} applied`);
const UP_TO_DATE = { ok: true, lines: ['The migrations are up to date with the declarations.'] };

const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8'));

/** Creates a folder with this repository's migrations, as a fork has it. */
function createFork() {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-fork-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync('migrations', folder, { recursive: true });
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value, null, 2));
  const fileOf = (name: string) => join(folder, `${name}.sql`);
  /** Applies all migrations of the fork, in the order in which they are given. */
  const applyAll = (query: Parameters<typeof applyEarlierMigrations>[0], names: readonly string[]) => {
    const times = new Map(readMigrations(folder).map(({ name, when }) => [name, when]));
    return applyEarlierMigrations(
      query,
      names.map((name) => ({ file: fileOf(name), when: times.get(name)! })),
    );
  };
  return { folder, write, applyAll, read: (file: string) => readJson(join(folder, file)) };
}

/** Runs `generate` for an app and closes it. */
async function generateAndClose(app: ReturnType<typeof createApp>, folder: string, ...args: string[]) {
  const outcome = await generate(app, folder, args, undefined);
  await app.close();
  return outcome;
}

test.each([
  ['its own first migration', false],
  ['the frozen first migration, taken from a newer version', true],
])('a fork of an early version, with resources of its own and %s, upgrades and keeps its rows', async (_, isFrozen) => {
  const { folder, write, applyAll, read } = createFork();
  const { env, query } = await createEmptyDatabase();
  const ticket = defineResource('ticket', { fields: { title: f.string().required().max(200).sortable() } });
  const fork = () =>
    createApp({ resources: [defineUser(), ticket], extensions: [webhooks(), apiKeys(), twoFactor()] }, env);

  // What the fork generated at that time: its own tables come and the samples go, while Belfry's tables stay as they were then.
  expect(await generateAndClose(fork(), folder, 'tickets', '--allow-loss')).toMatchObject({ ok: true });
  rmSync(join(folder, 'belfry'), { recursive: true });
  cpSync(join(EARLIER_MIGRATIONS, '1795268476645_init.sql'), join(folder, '0000_init.sql'));
  const former = readJson('migrations/meta/0000_snapshot.json');
  delete former.tables['public.webhook_deliveries'].columns.subject_id;
  write('meta/0000_snapshot.json', former);
  const generated = read('meta/0001_snapshot.json');
  const isSample = (key: string) => Object.hasOwn(former.belfry.resources, key.replace('public.', ''));
  const stale = Object.entries(former.tables).filter(([key]) => !isSample(key));
  write('meta/0001_snapshot.json', { ...generated, tables: { ...generated.tables, ...Object.fromEntries(stale) } });
  const journal = read('meta/_journal.json');
  const [init, own] = journal.entries;
  write('meta/_journal.json', { ...journal, entries: [{ ...init, when: 1795269702409 }, own] });
  await applyAll(query, ['0000_init', '0001_tickets']);
  await query(`insert into tickets (id, title, created_at, updated_at) values ('t', 'Kept', now(), now())`);

  if (isFrozen) {
    for (const name of ['0000_init.sql', 'meta/0000_snapshot.json'])
      cpSync(join('migrations', name), join(folder, name));
    write('meta/_journal.json', { ...journal, entries: [init, own] });
  }
  expect(await generateAndClose(fork(), folder, '--check')).toEqual(UP_TO_DATE);
  expect(await migrateAndClose(fork(), folder)).toEqual(FRAMEWORK);
  expect(await query('select title from tickets')).toEqual([{ title: 'Kept' }]);
  const fresh = await createEmptyDatabase();
  await migrateAndClose(createApp({ resources: [] }, fresh.env), folder);
  expect(await readSchema({ query })).toEqual(await readSchema(fresh));
});

test("a fork's copy of Belfry's migrations is not read, and a notice says that it can be deleted", async () => {
  const { folder, write, applyAll, read } = createFork();
  const { client, query } = await createEmptyDatabase();
  await applyAll(
    query,
    readMigrations('migrations')
      .map(({ name }) => name)
      .slice(0, -1),
  );
  const notices: string[] = [];
  const apply = async () => {
    const applied: string[] = [];
    const log = { info: () => undefined, warn: (line: string) => notices.push(line) };
    await applyMigrations(client, folder, log as never, (line) => applied.push(line));
    return applied;
  };
  expect(await apply()).toEqual(FRAMEWORK.slice(-1));
  expect(notices.splice(0)).toEqual([
    `${join(folder, 'belfry/')} is not used: Belfry's migrations are part of the package. Delete the folder.`,
  ]);

  const journal = read('belfry/meta/_journal.json');
  journal.entries.push({ ...journal.entries[0], idx: 99, when: 1, tag: '0099_more' });
  write('belfry/meta/_journal.json', journal);
  expect(await apply()).toEqual([]);
  expect(notices.splice(0)).toEqual([expect.stringMatching(/but without 0099_more\.sql\. Move these statements/)]);

  rmSync(join(folder, 'belfry'), { recursive: true });
  expect(await apply()).toEqual([]);
  expect(notices).toEqual([]);
});

test("a database that was migrated with a changed copy of one of Belfry's migrations is refused, with the statement that accepts it", async () => {
  const { env, query } = await createEmptyDatabase();
  await migrateAndClose(sampleApp(env), 'migrations');
  const { when } = readFrameworkMigrations()[3]!;
  await query(`update drizzle.__drizzle_migrations set hash = 'changed' where created_at = ${when}`);
  const message = await migrateAndClose(sampleApp(env), 'migrations').catch((error: Error) => error.message);
  expect(message).toContain('belfry/0003_requested_deliveries.sql: the database was migrated with a changed copy');
  await query(/then run: (.*)$/m.exec(message as string)![1]!);
  expect(await migrateAndClose(sampleApp(env), 'migrations')).toEqual([]);
});

/** Every extension except audit, without the fields that some add to the users table and the resources of others, whose tables belong to the fork. */
const createExtensionsOfFork = () =>
  createAllExtensions()
    .filter(({ name }) => name !== 'audit')
    .map(withoutResourcesOfApp);

/** A fork that created the tables of audit, privacy and realtime by a migration of its own, before Belfry's migrations had them. */
function createForkWithOwnExtensionTables() {
  const fork = createFork();
  const extensions = [...createExtensionsOfFork(), audit({ keepDays: 30 })];
  const create = (env: Record<string, string>) => createApp({ resources: [user, post, comment], extensions }, env);
  const { tables, declared } = create({ NODE_ENV: 'test', DATABASE_URL: 'postgres://a/b', REDIS_URL: 'redis://a' });
  const taken = takeSnapshot(tables, declared);
  const name = '0001_audit_privacy_realtime';
  const sql = readFileSync(join(EARLIER_MIGRATIONS, 'audit_privacy_realtime.sql'), 'utf8');
  writeFileSync(join(fork.folder, `${name}.sql`), sql);
  const statements = sql.split('--> statement-breakpoint\n').slice(-3);
  const earlier: Snapshot = readJson('migrations/belfry/meta/0007_snapshot.json');
  const snapshot: Snapshot = {
    ...taken,
    tables: Object.fromEntries(Object.entries(taken.tables).filter(([key]) => earlier.tables[key] === undefined)),
    belfry: { ...taken.belfry!, statements: statements.map((statement) => statement.trim()) },
  };
  fork.write('meta/0001_snapshot.json', snapshot);
  const journal = fork.read('meta/_journal.json');
  // Later than all migrations of Belfry: the fork has not been upgraded yet.
  journal.entries.push({ ...journal.entries[0], idx: 1, when: Date.now(), tag: name });
  fork.write('meta/_journal.json', journal);
  return { ...fork, create, name };
}

test('tables of audit, privacy and realtime that a fork created itself become those of Belfry, and keep their rows and settings', async () => {
  const { folder, applyAll, create, name } = createForkWithOwnExtensionTables();
  const { env, query } = await createEmptyDatabase();
  const before = readMigrations('migrations').map((migration) => migration.name);
  // The migration that creates these tables in Belfry, and those after it, are not applied yet.
  const shared = before.findIndex((one) => one.includes('tables_of_all_extensions'));
  await applyAll(query, [...before.slice(0, shared), name]);
  await query(`insert into audit_entries (id, at, action, previous_hash, hash) values (1, now(), 'created', '', '')`);
  await query(
    `insert into realtime_tickets (ticket_hash, user_id, session_id, expires_at) values ('h', 'u', 's', now())`,
  );

  expect(await generateAndClose(create(env), folder, '--check')).toEqual(UP_TO_DATE);
  expect(await migrateAndClose(create(env), folder)).toEqual(
    FRAMEWORK.slice(FRAMEWORK.findIndex((line) => line.includes('tables_of_all_extensions'))),
  );
  expect(await query('select action from audit_entries')).toEqual([{ action: 'created' }]);
  expect(await query('select ticket_hash from realtime_tickets')).toEqual([{ ticket_hash: 'h' }]);
  expect(await query('select audit_keep_days() as days')).toEqual([{ days: 30 }]);
  await expect(query('delete from audit_entries')).rejects.toThrow('append-only');

  // An empty database gets the same schema, which is the declared one, although the migration of the fork is later than Belfry's.
  const [fresh, synced] = [await createEmptyDatabase(), await createEmptyDatabase()];
  const migrated = await migrateAndClose(create(fresh.env), folder);
  const takeOver = migrated.findIndex((line) => line.includes('tables_of_all_extensions'));
  expect(migrated.slice(takeOver - 1, takeOver + 1)).toEqual([
    `${name} applied`,
    FRAMEWORK.find((line) => line.includes('tables_of_all_extensions')),
  ]);
  const app = create(synced.env);
  await app.migrate({ mode: 'sync' }).finally(() => app.close());
  const schema = removeFieldDefaults(await readSchema(synced));
  expect(await readSchema({ query })).toEqual(schema);
  expect(await readSchema(fresh)).toEqual(schema);
});

test('after the upgrade of a fork, its next migration drops nothing, and only a changed setting of audit is in it', async () => {
  const { folder } = createForkWithOwnExtensionTables();
  const { env } = await createEmptyDatabase();
  const withDays = (keepDays: number) => {
    const extensions = [...createExtensionsOfFork(), audit({ keepDays })];
    return createApp({ resources: [user, post, comment], extensions }, env);
  };
  expect(await generateAndClose(withDays(31), folder, 'days')).toMatchObject({ ok: true });
  expect(readFileSync(join(folder, '0002_days.sql'), 'utf8')).toBe(
    'create or replace function audit_keep_days() returns integer language sql immutable as $$ select 31 $$;\n',
  );
  expect(Object.keys(readJson(join(folder, 'meta/0002_snapshot.json')).tables).sort()).toEqual([
    'public.comments',
    'public.posts',
    'public.users',
  ]);
});
