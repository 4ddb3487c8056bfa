import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { defineResource, f } from '../../../src/index.ts';
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
