// SQL that does not follow from declarations: that of migrations written by hand, and the statements of extensions.
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { generate } from '../../../src/cli/migration/generate.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { createApp, defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { integer, pgTable, text } from '../../../src/platform/data/postgres/drizzle.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

const task = (name = 'title') => [
  defineResource('task', { fields: { [name]: f.string(), points: f.integer().filterable() } }),
];

/** Writes a migration by hand. Returns the name of its file. */
async function writeOwnSql(project: MigrationProject, name: string, ...statements: string[]): Promise<string> {
  const { lines } = await project.generate(task(), name, '--empty');
  const file = /migrations\/(\w+)\.sql/.exec(lines.join('\n'))![1]!;
  await writeFile(join(project.folder, `${file}.sql`), statements.join('\n--> statement-breakpoint\n'));
  return file;
}

const sync = (project: MigrationProject, resources: AnyResource[] = task()) =>
  project.app(...resources).migrate({ mode: 'sync', folder: project.folder });

/** A project with generated migrations, of which one has a second file for its indexes, and an empty database. */
async function createProject(): Promise<MigrationProject> {
  const project = await createMigrationProject();
  await project.generate([defineResource('task', { fields: { title: f.string() } })], 'init');
  await project.generate(task(), 'points');
  return project;
}

const RULE = `alter table tasks add constraint tasks_points check (points < 10)`;
const VIEW = `create view open_tasks as select id, title from tasks`;
const readObjects = async (project: MigrationProject) =>
  (
    await project.query(
      `select conname as name from pg_constraint where conname like 'tasks_p%' and contype = 'c' union select relname from pg_class where relkind = 'v' and relname like '%_tasks' order by 1`,
    )
  ).map(({ name }) => name);

test('sync applies the SQL that was written by hand once, in order, and keeps it when declarations change', async () => {
  const project = await createProject();
  await writeOwnSql(project, 'rule', RULE, VIEW);
  await sync(project);
  await sync(project);
  expect(await readObjects(project)).toEqual(['open_tasks', 'tasks_points']);
  await expect(
    project
      .app(...task())
      .service('task')
      .create({ points: 11 }),
  ).rejects.toMatchObject({ status: 422 });
  const more = [defineResource('task', { fields: { title: f.string(), points: f.integer(), note: f.string() } })];
  await sync(project, more);
  await writeOwnSql(project, 'another', `create unique index concurrently tasks_plain on tasks (title)`);
  await sync(project, more);
  expect(await readObjects(project)).toEqual(['open_tasks', 'tasks_points']);
  expect(await project.query(`select 1 as found from pg_class where relname = 'tasks_plain'`)).toEqual([{ found: 1 }]);
});

test('the same files create the same objects by migrations', async () => {
  const project = await createProject();
  const file = await writeOwnSql(project, 'rule', RULE, VIEW);
  expect(await project.apply()).toContain(file);
  expect(await readObjects(project)).toEqual(['open_tasks', 'tasks_points']);
});

test('SQL that fails stops sync with the name of its file, and nothing is changed', async () => {
  const project = await createProject();
  await writeOwnSql(project, 'rule', VIEW, `alter table tasks add check (point < 10)`);
  await expect(sync(project)).rejects.toThrow(
    /The SQL of \w+_rule\.sql cannot be applied; nothing was changed:[\s\S]*column "point" does not exist/,
  );
  expect(await project.query(`select to_regclass('tasks') as found`)).toEqual([{ found: null }]);
});

test('a file that is changed runs again, and if it cannot, the error says how to go on', async () => {
  const project = await createProject();
  const file = await writeOwnSql(project, 'view', `create or replace view open_tasks as select id from tasks`);
  const path = join(project.folder, `${file}.sql`);
  await sync(project);
  await writeFile(path, `create or replace view open_tasks as select id, title from tasks`);
  await sync(project);
  expect(await project.query('select title from open_tasks')).toEqual([]);
  await writeFile(path, `create view open_tasks as select id from tasks`);
  await expect(sync(project)).rejects.toThrow(/was changed after it was applied to this database[\s\S]*--fresh/);
  await writeFile(path, await readFile(path, 'utf8'));
});

test('SQL about names that a later migration has renamed is left out of a new database', async () => {
  const project = await createProject();
  await writeOwnSql(project, 'view', VIEW);
  const renamed = [
    defineResource('task', { fields: { name: f.string().renamedFrom('title'), points: f.integer().filterable() } }),
  ];
  await project.generate(renamed, 'renamed');
  await writeOwnSql(project, 'rule', RULE).catch(() => undefined);
  await sync(project, renamed);
  expect(await readObjects(project)).not.toContain('open_tasks');
});

test('SQL that a developer has already run by hand counts as applied', async () => {
  const project = await createProject();
  await sync(project);
  await project.query(RULE);
  await writeOwnSql(project, 'rule', RULE);
  await sync(project);
  expect(await readObjects(project)).toEqual(['tasks_points']);
});

const counters = pgTable('counters', { id: text('id').primaryKey(), count: integer('count') });

/** An app with an extension whose trigger sets a count. */
function appOf({ env }: MigrationProject, count: number) {
  const counting = defineExtension({
    name: 'counting',
    tables: { counters },
    statements: [
      `create or replace function counts() returns trigger language plpgsql as $$ begin new.count = ${count}; return new; end $$;`,
      'create or replace trigger counters_count before insert on counters for each row execute function counts();',
    ],
    setup: () => ({}),
  });
  const app = createApp({ resources: [defineUser()], extensions: [counting] }, env);
  onTestFinished(() => app.close());
  return app;
}

async function counted({ query }: MigrationProject): Promise<number[]> {
  await query(`insert into counters (id) values (gen_random_uuid()::text)`);
  return (await query('select distinct count from counters order by count')).map((row) => row.count);
}

test('a migration runs the statements of extensions after creating the tables, and again when their text changes', async () => {
  const project = await createMigrationProject();
  const { folder, url } = project;
  const one = appOf(project, 1);
  expect((await generate(one, folder, [], url)).ok).toBe(true);
  const sql = readFileSync(join(folder, '0000_init.sql'), 'utf8');
  expect(sql.indexOf('CREATE TABLE "counters"')).toBeLessThan(sql.indexOf('create or replace function counts'));
  expect(sql.indexOf('create or replace function counts')).toBeLessThan(sql.indexOf('create or replace trigger'));
  await one.migrate({ mode: 'apply', folder });
  expect(await counted(project)).toEqual([1]);
  expect((await generate(one, folder, ['--check'], url)).lines).toEqual([
    'The migrations are up to date with the declarations.',
  ]);

  const two = appOf(project, 2);
  expect((await generate(two, folder, ['--check'], url)).ok).toBe(false);
  expect((await generate(two, folder, ['two'], url)).lines[0]).toBe('migrations/0001_two.sql: 1 statement.');
  await two.migrate({ mode: 'apply', folder });
  expect(await counted(project)).toEqual([1, 2]);
});

test('sync runs the statements of extensions once, and again when their text changes', async () => {
  const project = await createMigrationProject();
  await appOf(project, 1).migrate({ mode: 'sync' });
  await project.query('drop trigger counters_count on counters');
  await appOf(project, 1).migrate({ mode: 'sync' });
  expect(await counted(project)).toEqual([null]);
  await project.query('create trigger counters_count before insert on counters for each row execute function counts()');
  await appOf(project, 3).migrate({ mode: 'sync' });
  expect(await counted(project)).toEqual([3, null]);
});
