import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { generate } from '../../../src/cli/migration/generate.ts';
import { createApp, defineExtension, defineUser } from '../../../src/index.ts';
import { integer, pgTable, text } from '../../../src/platform/postgres/drizzle.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

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
