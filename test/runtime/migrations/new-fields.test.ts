import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AnyField, Fields } from '../../../src/declare/field.ts';
import { createApp, defineResource, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';
import { readResourceSchema } from '../../support/database/read-schema.ts';

const post = (fields: Fields) => defineResource('post', { fields: { title: f.string(), ...fields } });

async function withRow(atEnd?: Parameters<typeof createMigrationProject>[0]) {
  const project = await createMigrationProject(atEnd);
  await project.change([post({})]);
  await project.query(`insert into posts (id, title) values ('0123456789abcdef01234567', 'kept')`);
  return project;
}

const DEFAULTS = [
  ['an enum', f.enum(['active', 'gone']).default('active').filterable(), 'active'],
  ['a required one', f.string().required().default("it's"), "it's"],
  ['a normalised one', f.string().lowercase().default(' Mixed '), 'mixed'],
  ['a number', f.number().default(-1.5), -1.5],
  ['an integer', f.integer().default(3).sortable(), 3],
  ['a boolean', f.boolean().default(false), false],
  ['a date', f.date().default('2024-02-29'), '2024-02-29T00:00:00.000Z'],
  ['an array', f.array(f.string()).default(['a', "b'c"]).filterable(), ['a', "b'c"]],
  ['an empty array', f.array(f.integer()).default([]), []],
  ['an object', f.object({ a: f.string() }).default({ a: "x'y" }), { a: "x'y" }],
  ['json', f.json().default([1, null, { a: 'b' }]), [1, null, { a: 'b' }]],
] as [string, AnyField, unknown][];

describe('existing rows get the default of a new field, as new records do, and so do the rows of older code', () => {
  const after = post(Object.fromEntries(DEFAULTS.map(([, field], i) => [`v${i}`, field])));
  let project: MigrationProject;
  let made: Record<string, unknown>;
  let records: Record<string, unknown>[];
  const removes: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    project = await withRow((remove) => removes.push(remove));
    await project.change([after]);
    const service = project.app(after).service('post');
    made = (await service.create({ title: 'new' })) as Record<string, unknown>;
    // A process with the code before the change, which does not know the columns.
    await project.app(post({})).service('post').create({ title: 'older code' });
    records = (await service.list()).data as Record<string, unknown>[];
  });
  afterAll(async () => {
    for (const remove of removes) await remove();
  });

  test.each(DEFAULTS.map(([name, , value], i) => [name, value, `v${i}`] as const))('%s', (_name, value, field) => {
    expect(records.map((record) => record[field])).toEqual([value, value, value]);
    expect(made[field]).toEqual(value);
  });

  test('the tables are the same as when they are created from scratch', async () => {
    const fresh = await createMigrationProject();
    await fresh.sync([after]);
    expect(await readResourceSchema(project)).toEqual(await readResourceSchema(fresh));
  });
});

test('the default of a column follows its declaration, and a column without one stays as it is', async () => {
  const project = await withRow();
  const defaults = async () =>
    Object.fromEntries(
      (
        await project.query(
          `select column_name, column_default from information_schema.columns where table_name = 'posts' and column_name like 'v%'`,
        )
      ).map(({ column_name, column_default }) => [column_name, column_default]),
    );
  await project.change([post({ v: f.string().default('one'), v2: f.string() })]);
  expect(await defaults()).toEqual({ v: `'one'::text`, v2: null });
  // Code that knows a column supplies its value, so a default that is declared later adds nothing.
  await project.change([post({ v: f.string().default('two'), v2: f.string().default('x') })]);
  expect(await defaults()).toEqual({ v: `'two'::text`, v2: null });
  await project.change([post({ v: f.string(), v2: f.string() })]);
  expect(await defaults()).toEqual({ v: null, v2: null });
});

test('a column with a default can be renamed, change its type and be dropped', async () => {
  const project = await withRow();
  await project.change([post({ v: f.integer().default(3) })]);
  await project.change([post({ w: f.integer().default(3).renamedFrom('v') })]);
  await project.change([post({ w: f.string().default('4').renamedFrom('v') })]);
  expect(await project.query('select w from posts')).toEqual([{ w: '3' }]);
  const { data } = await project
    .app(post({ w: f.string().default('4') }))
    .service('post')
    .list();
  expect(data).toMatchObject([{ w: '3' }]);
  await project.change([post({})], '--drop', 'posts.w');
  expect(Object.keys((await project.query('select * from posts'))[0])).not.toContain('w');
});

test('no migration is due for columns of earlier migrations, which have no default', async () => {
  const project = await withRow();
  const declared = [post({ v: f.string().default('x') })];
  await project.change(declared);
  const file = join(project.folder, 'meta', '0001_snapshot.json');
  const snapshot = JSON.parse(readFileSync(file, 'utf8'));
  delete snapshot.tables['public.posts'].columns.v.default;
  writeFileSync(file, JSON.stringify(snapshot));
  const { ok, lines } = await project.generate(declared, '--check');
  expect([ok, ...lines]).toEqual([true, 'The migrations are up to date with the declarations.']);
});

test.each([
  ['a function', f.string().default(() => 'made'), 'its default is a function'],
  ['encrypted', f.string().encrypted().default('x'), 'it is encrypted'],
  ['required without one', f.string().required(), 'it is required and has no default'],
] as [string, AnyField, string][])(
  'existing rows get no value when the default is %s, and a note says so',
  async (_, field, why) => {
    const project = await withRow();
    const { lines } = await project.generate([post({ v: field })]);
    expect(lines).toContain(`Note: posts.v has no value in existing rows: ${why}.`);
    await project.apply();
    expect(await project.query('select title, v from posts')).toEqual([{ title: 'kept', v: null }]);
  },
);

test('filling in a default does not rewrite the table', async () => {
  const project = await withRow();
  const node = `select pg_relation_filenode('posts') as node`;
  const before = await project.query(node);
  await project.change([post({ v: f.string().default('x') })]);
  expect(await project.query(node)).toEqual(before);
});

test('a new table is created with its indexes, in one transaction', async () => {
  const project = await withRow();
  const note = defineResource('note', { fields: { a: f.string().filterable().searchable() } });
  expect(await project.change([post({}), note], 'notes')).toEqual(['0001_notes']);
  expect(readFileSync(join(project.folder, '0001_notes.sql'), 'utf8')).not.toContain('CONCURRENTLY');
});

test('every snapshot describes the schema that its migration produces, and refers to the previous snapshot', async () => {
  const project = await withRow();
  await project.change([post({ v: f.string().filterable() })]);
  await project.change([post({ v: f.string().filterable() })], '--empty');
  const snapshot = (n: number) =>
    JSON.parse(readFileSync(join(project.folder, 'meta', `000${n}_snapshot.json`), 'utf8'));
  const all = [0, 1, 2, 3].map(snapshot);
  for (const n of [1, 2, 3]) expect(all[n].prevId).toBe(all[n - 1].id);
  expect(new Set(all.map(({ id }) => id)).size).toBe(4);
  const indexes = all.map(({ tables }) => Object.keys(tables['public.posts'].indexes).includes('posts_v_index'));
  expect(indexes).toEqual([false, false, true, true]);
});

test('a default that is added to an existing field names the rows that stay without a value, and the statement that fills them', async () => {
  const project = await createMigrationProject();
  const fields = (status: AnyField, code: AnyField) => [post({ status, code })];
  await project.change(fields(f.string().required(), f.string()));
  await project.query(`insert into posts (id, title) values ('1', 'old'), ('2', 'old')`);
  const after = fields(
    f.string().required().default("it's"),
    f.string().default(() => 'x'),
  );
  const { lines } = await project.generate(after, 'defaults');
  const notes = lines.join('\n');
  expect(notes).toContain(
    `posts.status gets a default, but existing rows without a value stay without one: fill them with: update "posts" set "status" = 'it''s'::text where "status" is null`,
  );
  expect(notes).toContain('2 rows have no value');
  expect(notes).toContain(
    'posts.code gets a default, but existing rows without a value stay without one: its default is a function',
  );
  await project.query(/fill them with: (update .* is null)/.exec(notes)![1]!);
  expect(await project.query('select distinct status from posts')).toEqual([{ status: "it's" }]);
  expect((await project.generate(after)).lines).toEqual(['The migrations are up to date with the declarations.']);
});

test('sync warns of rows that a new default leaves without a value', async () => {
  const project = await createMigrationProject();
  await project.sync([post({ status: f.string() })]);
  await project.query(`insert into posts (id, title) values ('1', 'old')`);
  const lines: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((line) => lines.push(String(line)) > 0);
  onTestFinished(() => void vi.restoreAllMocks());
  const resources = [post({ status: f.string().default('new') })];
  const app = createApp({ resources }, { ...project.env, LOG_LEVEL: 'warn' });
  await app.migrate({ mode: 'sync' }).finally(() => app.close());
  expect(lines.join('')).toContain('posts.status gets a default, but existing rows without a value stay without one');
});
