import { expect, test } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

const things = (fields: Fields) => [defineUser(), defineResource('thing', { fields })];

async function withThings(project: MigrationProject, fields: Fields, ...rows: Record<string, unknown>[]) {
  const app = project.app(...things(fields));
  await app.migrate({ mode: 'sync' });
  for (const row of rows) await app.service('thing').create(row);
}

test('sync adds columns and drops empty ones as the declarations change, and keeps the rows', async () => {
  const project = await createMigrationProject();
  await withThings(project, { title: f.string().required(), old: f.string() }, { title: 'kept' });
  const after = things({ title: f.string().required(), fresh: f.integer().sortable() });
  await Promise.all([project.sync(after), project.sync(after)]);
  expect(await project.query('select title, fresh from things')).toEqual([{ title: 'kept', fresh: null }]);
  await expect(project.query('select old from things')).rejects.toThrow('column "old" does not exist');
});

test('sync sets the default of a new field in existing rows', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string() }, { a: 'x' });
  await project.sync(things({ a: f.string(), status: f.enum(['active', 'gone']).default('active').filterable() }));
  expect(await project.query('select a, status from things')).toEqual([{ a: 'x', status: 'active' }]);
});

test('a failed sync changes nothing, names the cause and how to find it, and succeeds once the cause is fixed', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string() }, { a: 'same' }, { a: 'same' });
  await expect(project.sync(things({ a: f.string().unique(), b: f.string() }))).rejects.toThrow(
    /nothing was changed[\s\S]*things\.a must become unique[\s\S]*find them with: select "a", count/,
  );
  const app = project.app(...things({ a: f.string(), b: f.string() }));
  await app.migrate({ mode: 'sync' });
  expect((await app.service('thing').list()).meta.total).toBe(2);
});

test('values are converted to a new type if possible', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string(), none: f.string() }, { a: '12' });
  await project.sync(things({ a: f.integer(), none: f.date() }));
  expect(await project.query('select a, none from things')).toEqual([{ a: '12', none: null }]);
});

test('a boolean becomes a number: 1 and 0', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.boolean() }, { a: true });
  await project.sync(things({ a: f.integer() }));
  expect(await project.query('select a from things')).toEqual([{ a: '1' }]);
});

test('a type that the values cannot be converted to is refused; the error names the column and the fix, and not the value', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string() }, { a: 'not a number' });
  const refused = project.sync(things({ a: f.integer() }));
  await expect(refused).rejects.toThrow(/things\.a has values that cannot be converted to bigint[\s\S]*--fresh/);
  await expect(refused).rejects.not.toThrow('not a number');
});

test('encryption can be enabled only for an empty column', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string() }, { a: 'plain' });
  await expect(project.sync(things({ a: f.string().encrypted() }))).rejects.toThrow(
    'things.a: its values are not encrypted, and thing.a could not decrypt them',
  );
  await project.query('update things set a = null');
  await project.sync(things({ a: f.string().encrypted() }));
});

test.each([
  ['the order', [{ fields: ['a', '-b'] }], 'CREATE INDEX things_a_b_index ON public.things USING btree (a, b DESC)'],
  [
    'uniqueness',
    [{ fields: ['a', 'b'], unique: true }],
    'CREATE UNIQUE INDEX things_a_b_unique ON public.things USING btree (a, b)',
  ],
])('a declared index that changes only in %s is updated', async (_, indexes, definition) => {
  const project = await createMigrationProject();
  const fields = { a: f.string(), b: f.string() };
  await project.sync([defineResource('thing', { fields, indexes: [{ fields: ['a', 'b'] }] })]);
  await project.sync([defineResource('thing', { fields, indexes })]);
  const found = await project.query(`select indexdef from pg_indexes where indexname like 'things_a_b%'`);
  expect(found).toEqual([{ indexdef: definition }]);
});

test('a sync without permission to drop refuses to drop even empty columns and tables, and lists them', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string(), b: f.string() });
  await expect(project.sync(things({ a: f.string() }), 'nothing')).rejects.toThrow(/would lose data[\s\S]*things\.b/);
  await expect(project.sync([defineUser()], 'nothing')).rejects.toThrow(/would lose data[\s\S]*table things/);
  await project.sync([defineUser()]);
  await expect(project.query('select 1 from things')).rejects.toThrow('does not exist');
});

test('sync never drops a column that holds values: renamed and renamed back, it still has all of them', async () => {
  const project = await createMigrationProject();
  await withThings(project, { notes: f.string() }, { notes: 'kept' }, {});
  await expect(project.sync(things({ remarks: f.string() }))).rejects.toThrow(
    /would lose data:\n {2}- things\.notes: 1 row holds a value; if it was renamed to remarks, declare that with renamedFrom\('notes'\)\n.*npx belfry dev --allow-loss, or npx belfry dev --fresh/,
  );
  await project.sync(things({ notes: f.string() }));
  expect(await project.query('select notes from things order by 1')).toEqual([{ notes: 'kept' }, { notes: null }]);
  await project.sync(things({ remarks: f.string().renamedFrom('notes') }));
  expect(await project.query('select remarks from things order by 1')).toEqual([
    { remarks: 'kept' },
    { remarks: null },
  ]);
});

test('sync never drops a table with rows unless loss is allowed; then it drops the table and reports that', async () => {
  const project = await createMigrationProject();
  await withThings(project, { a: f.string(), b: f.string() }, { a: 'x' });
  await expect(project.sync([defineUser()])).rejects.toThrow(/table things: it has 1 row; if it was renamed/);
  expect(await project.query('select a from things')).toEqual([{ a: 'x' }]);
  await project.sync([defineUser()], 'anything');
  await expect(project.query('select 1 from things')).rejects.toThrow('does not exist');
});

test('a database managed by migrations is not synced, and one managed by sync is not migrated', async () => {
  const resources = things({ a: f.string() });
  const migrated = await createMigrationProject();
  await migrated.change(resources);
  await expect(migrated.sync(resources)).rejects.toThrow('managed by migrations');
  const synced = await createMigrationProject();
  await synced.generate(resources);
  await synced.sync(resources);
  await expect(synced.apply()).rejects.toThrow('created by npx belfry dev');
});

test('the triggers that count rows in ranges go with the times of creation of a table', async () => {
  const project = await createMigrationProject();
  const fields = { title: f.string() };
  const readTriggers = () =>
    project.query(
      `select tgname from pg_trigger where tgrelid = 'things'::regclass and tgname like 'belfry_range_row_%'`,
    );
  await withThings(project, fields, { title: 'kept' });
  await project.query(`select belfry_count_in_ranges('things', 'things_ranged_until')`);
  expect(await readTriggers()).toHaveLength(4);
  await project.sync([defineUser(), defineResource('thing', { fields, timestamps: false })], 'anything');
  expect(await readTriggers()).toEqual([]);
  expect(await project.query(`select to_regclass('things_ranged_until') as sequence`)).toEqual([{ sequence: null }]);
  expect(await project.query('select title from things')).toEqual([{ title: 'kept' }]);
});
