import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { applyMigration } from '../../../src/runtime/migrations/apply.ts';
import { readFrameworkMigrations } from '../../../src/runtime/migrations/framework.ts';
import { readMigrations } from '../../../src/runtime/migrations/read-migrations.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

const note = (fields: Fields) => defineResource('note', { fields });
const DUPLICATES = `insert into notes (id, a) values ('1', 'same'), ('2', 'same'), ('3', 'other')`;

/** Returns the number of the project's own migrations that its database has. */
async function countApplied({ query }: MigrationProject): Promise<number> {
  const rows = await query('select created_at::float8 as "when" from drizzle.__drizzle_migrations');
  const ofFramework = new Set(readFrameworkMigrations().map(({ when }) => when));
  return rows.filter(({ when }) => !ofFramework.has(when)).length;
}

test('ten instances that migrate concurrently apply each migration once, even those outside a transaction, and all succeed', async () => {
  const project = await createMigrationProject();
  await project.generate([note({ a: f.string() })]);
  await project.generate([note({ a: f.string().searchable().unique(), b: f.string().sortable() })]);
  const applied = await Promise.all(Array.from({ length: 10 }, () => project.apply()));
  expect(applied.flat()).toEqual(['0000_init', '0001_change', '0002_change_indexes']);
  expect(await countApplied(project)).toBe(3);
  const app = project.app(note({ a: f.string().searchable().unique(), b: f.string().sortable() }));
  await app.start({ port: 0, roles: ['web'] });
});

test('migrating with an empty folder explains how to create the first migration, and applies nothing', async () => {
  const project = await createMigrationProject();
  await expect(project.apply()).rejects.toThrow(
    `There are no migrations:\n  - ${project.folder} contains none. Generate the first one with npx belfry migration generate init, or restore the folder from version control`,
  );
  expect(
    await project.query(
      `select to_regclass('drizzle.__drizzle_migrations') as applied, to_regclass('outbox') as outbox`,
    ),
  ).toEqual([{ applied: null, outbox: null }]);
});

test('indexes of an existing table are built in a separate file, while writes continue', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.query(DUPLICATES);
  expect(await project.change([note({ a: f.string().filterable() })], 'filter')).toEqual(['0001_filter']);
  const sql = readFileSync(join(project.folder, '0001_filter.sql'), 'utf8');
  expect(sql).toMatch(/^-- belfry: no transaction\n[\s\S]*CREATE INDEX CONCURRENTLY "notes_a_index"/);

  const fields = { a: f.string().filterable().searchable() };
  await project.generate([note(fields)]);
  const writer = new pg.Client(project.url);
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query(`begin; insert into notes (id, a) values ('4', 'open')`);
  const applying = project.apply();
  const building = `select count(*)::int as n from pg_stat_activity where query like '%notes_a_search_index%' and wait_event_type = 'Lock' and datname = current_database()`;
  await vi.waitUntil(async () => (await project.query(building))[0].n > 0, { timeout: 60_000 });
  await project.query(`insert into notes (id, a) values ('5', 'meanwhile')`);
  await writer.query('commit');
  expect(await applying).toEqual(['0002_change']);
});

test('a unique index over duplicates fails by name, explains how to find them, and leaves nothing behind; then it succeeds', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.query(DUPLICATES);
  await project.generate([note({ a: f.string().unique() })], 'unique');
  const failure = await project.apply().catch((error: Error) => error.message);
  expect(failure).toContain('notes.a must become unique, but some rows have equal values');
  const search = /find them with: (.*)$/m.exec(failure as string)![1]!;
  expect(await project.query(search)).toEqual([{ a: 'same', count: '2' }]);
  expect(await project.query(`select 1 from pg_class where relname = 'notes_a_unique'`)).toEqual([]);
  expect(await countApplied(project)).toBe(1);
  await project.query(`update notes set a = 'different' where id = '2'`);
  expect(await project.apply()).toEqual(['0001_unique']);
  await expect(project.query(`insert into notes (id, a) values ('4', 'same')`)).rejects.toThrow('notes_a_unique');
});

test('duplicates of a unique index over several fields are reported with all of the fields', async () => {
  const project = await createMigrationProject();
  const fields = { a: f.string(), b: f.string() };
  await project.change([note(fields)]);
  await project.query(
    `insert into notes (id, a, b) values ('1', 'x', 'y'), ('2', 'x', 'y'), ('3', 'x', null), ('4', 'x', null)`,
  );
  await project.generate([defineResource('note', { fields, indexes: [{ fields: ['a', '-b'], unique: true }] })]);
  const failure = await project.apply().catch((error: Error) => error.message);
  expect(failure).toContain('notes.a with notes.b must become unique');
  expect(await project.query(/find them with: (.*)$/m.exec(failure as string)![1]!)).toEqual([
    { a: 'x', b: 'y', count: '2' },
  ]);
});

test('an invalid index of an earlier run is rebuilt, and a valid index is kept', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string(), b: f.string() })]);
  await project.query(DUPLICATES);
  await project.query('create index notes_b_index on notes (b)');
  await project.query('create unique index concurrently notes_a_unique on notes (a)').catch(() => undefined);
  const broken = `select indisvalid as valid from pg_index where indexrelid = 'notes_a_unique'::regclass`;
  expect(await project.query(broken)).toEqual([{ valid: false }]);
  await project.query(`delete from notes where id = '2'`);
  await project.generate([note({ a: f.string().unique(), b: f.string().filterable() })]);
  await project.apply();
  expect(await project.query(broken)).toEqual([{ valid: true }]);
});

test('a migration that fails in the middle leaves nothing behind, and the migrations before it stay applied', async () => {
  const project = await createMigrationProject();
  await project.generate([note({ a: f.string() })]);
  await project.generate([note({ a: f.string() })], 'good', '--empty');
  await project.generate([note({ a: f.string() })], 'bad', '--empty');
  writeFileSync(join(project.folder, '0001_good.sql'), `insert into notes (id) values ('good');`);
  writeFileSync(
    join(project.folder, '0002_bad.sql'),
    `insert into notes (id) values ('bad');\n--> statement-breakpoint\nupdate nots set a = 'x';`,
  );
  await expect(project.apply()).rejects.toThrow(
    /The migration 0002_bad failed; none of its changes were kept:[\s\S]*update nots set a = 'x';: relation "nots" does not exist/,
  );
  expect(await project.query('select id from notes')).toEqual([{ id: 'good' }]);
  expect(await countApplied(project)).toBe(2);
});

test('a migration backs off from a held lock, lets other queries through, and retries', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.generate([note({ a: f.string(), b: f.string() })]);
  const holder = new pg.Client(project.url);
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin; select * from notes');
  const applying = project.apply();
  const waiting = `select count(*)::int as n from pg_locks l join pg_class c on c.oid = l.relation where c.relname = 'notes' and not granted`;
  await vi.waitUntil(async () => (await project.query(waiting))[0].n === 1, { timeout: 60_000 });
  // This query waits behind the migration, and proceeds when the migration backs off.
  expect(await project.query('select count(*)::int as n from notes')).toEqual([{ n: 0 }]);
  await holder.query('commit');
  expect(await applying).toEqual(['0001_change']);
});

test('a migration that never gets its lock gives up, leaves nothing behind, and says how to find the session that holds it', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.generate([note({ a: f.string(), b: f.string() })]);
  const [holder, client] = [new pg.Client(project.url), new pg.Client(project.url)];
  await Promise.all([holder.connect(), client.connect()]);
  onTestFinished(async () => {
    await Promise.all([holder.end(), client.end()]);
  });
  await holder.query('begin; select * from notes');
  const pending = readMigrations(project.folder).at(-1)!;
  const patience = { lockMs: 20, pauseMs: 1, tries: 3 };
  const failure = applyMigration(client, pending, patience, createLogger('silent', 'test'));
  await expect(failure).rejects.toThrow(
    /none of its changes were kept:[\s\S]*other sessions held a lock[\s\S]*to find these sessions: select pid/,
  );
  await holder.query('commit');
  expect(await countApplied(project)).toBe(1);
  expect(await project.apply()).toEqual(['0001_change']);
});

test('a file edited after it was applied is reported, and nothing is applied', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  const file = join(project.folder, '0000_init.sql');
  const text = readFileSync(file, 'utf8');
  await project.generate([note({ a: f.string(), b: f.string() })]);
  writeFileSync(file, `${text}\n-- a remark`);
  await expect(project.apply()).rejects.toThrow(
    /Migrations were changed after they were applied to this database:\n {2}- 0000_init\.sql: restore the file/,
  );
  writeFileSync(file, text.replaceAll('\n', '\r\n'));
  expect(await project.apply()).toEqual(['0001_change']);
});

test('a migration that a merge adds before applied ones is applied', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.generate([note({ a: f.string(), b: f.string() })], 'early');
  await project.generate([note({ a: f.string(), b: f.string(), c: f.string() })], 'late');
  const file = join(project.folder, 'meta', '_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8'));
  const early = journal.entries.splice(1, 1);
  writeFileSync(file, JSON.stringify(journal));
  expect(await project.apply()).toEqual(['0002_late']);
  journal.entries.splice(1, 0, ...early);
  writeFileSync(file, JSON.stringify(journal));
  expect(await project.apply()).toEqual(['0001_early']);
});

test.each([
  ['not JSON after a merge', '<<<<<<< HEAD\n{}', '_journal.json was not written by npx belfry migration generate'],
  ['without a file', undefined, '0001_gone.sql is listed in its meta/_journal.json but missing'],
])('a migrations folder that is %s is refused with one line', async (_, text, line) => {
  const project = await createMigrationProject();
  await project.generate([note({ a: f.string() })]);
  const file = join(project.folder, 'meta', '_journal.json');
  const journal = JSON.parse(readFileSync(file, 'utf8'));
  journal.entries.push({ ...journal.entries[0], idx: 1, when: journal.entries[0].when + 1, tag: '0001_gone' });
  writeFileSync(file, text ?? JSON.stringify(journal));
  await expect(project.apply()).rejects.toThrow(line);
});

test('a database that is newer than the code is not changed', async () => {
  const project = await createMigrationProject();
  await project.change([note({ a: f.string() })]);
  await project.query(`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`);
  await project.query('alter table notes add column newer text');
  expect(await project.apply()).toEqual([]);
  const app = project.app(note({ a: f.string() }));
  await app.start({ port: 0, roles: ['web'] });
});
