import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';
import { readResourceSchema } from '../../support/database/read-schema.ts';

const post = (fields: Fields, options: object = {}) => defineResource('post', { fields, ...options });

const before = () =>
  post(
    { title: f.string().unique().searchable().sortable(), views: f.integer().filterable() },
    { indexes: [{ fields: ['views', '-title'] }] },
  );
const after = (renamed = true) => {
  const headline = f.string().unique().searchable().sortable();
  return post(
    { headline: renamed ? headline.renamedFrom('title') : headline, views: f.integer().filterable() },
    { indexes: [{ fields: ['views', '-headline'] }] },
  );
};

async function withRows(atEnd?: Parameters<typeof createMigrationProject>[0]) {
  const project = await createMigrationProject(atEnd);
  await project.change([before()]);
  await project.query(
    `insert into posts (id, title, views) select lpad(i::text, 24, '0'), 'post ' || i, i from generate_series(1, 3) i`,
  );
  return project;
}

/** Shared by all tests of refused changes, which leave the project unchanged. */
let refusing: MigrationProject;
let remove = async () => {};
beforeAll(async () => {
  refusing = await withRows((end) => (remove = end));
});
afterAll(() => remove());

const TITLES = 'select array_agg(headline order by id) as titles from posts';
const KEPT = [{ titles: ['post 1', 'post 2', 'post 3'] }];

test('a renamed field keeps its values, and its indexes are renamed instead of rebuilt', async () => {
  const project = await withRows();
  const files = await project.change([after()], 'headline');
  expect(files).toEqual(['0001_headline']);
  const sql = readFileSync(join(project.folder, '0001_headline.sql'), 'utf8');
  expect(sql).toContain('ALTER TABLE "posts" RENAME COLUMN "title" TO "headline";');
  expect(sql).not.toMatch(/CREATE|DROP/);
  expect(await project.query(TITLES)).toEqual(KEPT);
  const fresh = await createMigrationProject();
  await fresh.sync([after()]);
  expect(await readResourceSchema(project)).toEqual(await readResourceSchema(fresh));
});

test('a rename marker has no effect once it was applied, and neither does removing it', async () => {
  const project = await withRows();
  await project.change([after()]);
  const upToDate = { ok: true, lines: ['The migrations are up to date with the declarations.'] };
  expect(await project.generate([after()])).toEqual(upToDate);
  expect(await project.generate([after(false)])).toEqual(upToDate);
  const again = post(
    {
      title: f.string(),
      headline: f.string().unique().searchable().sortable().renamedFrom('title'),
      views: f.integer().filterable(),
    },
    { indexes: [{ fields: ['views', '-headline'] }] },
  );
  await project.change([again]);
  expect(await project.query('select headline, title from posts order by id limit 1')).toEqual([
    { headline: 'post 1', title: null },
  ]);
});

test('a rename can be requested on the command line instead of declared', async () => {
  const project = await withRows();
  await project.change([after(false)], '--rename', 'posts.title=headline');
  expect(await project.query(TITLES)).toEqual(KEPT);
});

test('a requested rename of a table or column includes the table of its soft-deleted records', async () => {
  const project = await createMigrationProject();
  await project.change([defineResource('memo', { fields: { title: f.string() }, softDelete: true })]);
  await project.query(`insert into memos_deleted (id, title, deleted_at) values ($1, 'Gone', now())`, ['a'.repeat(24)]);
  const note = defineResource('note', { fields: { headline: f.string() }, softDelete: true });
  await project.change([note], '--rename-table', 'memos=notes', '--rename', 'memos.title=headline');
  expect(await project.query('select headline from notes_deleted')).toEqual([{ headline: 'Gone' }]);
  const again = defineResource('note', { fields: { name: f.string() }, softDelete: true });
  await project.change([again], '--rename', 'notes.headline=name');
  expect(await project.query('select name from notes_deleted')).toEqual([{ name: 'Gone' }]);
  const fields = { label: f.string() };
  const declared = defineResource('entry', { renamedFrom: 'note', fields, softDelete: true });
  await project.change([declared], '--rename', 'entries.name=label');
  expect(await project.query('select label from entries_deleted')).toEqual([{ label: 'Gone' }]);
});

test('a dropped and an added column of one type are refused with the commands to rename and to drop', async () => {
  const { ok, lines } = await refusing.generate([after(false)], 'new', 'title');
  expect(ok).toBe(false);
  expect(lines).toEqual([
    'This would lose data:',
    '  - posts.title: 3 rows hold a value',
    '      to rename it to headline: npx belfry migration generate new title --rename posts.title=headline',
    '      to drop it: npx belfry migration generate new title --drop posts.title',
  ]);
});

test('sync applies declared renames, and drops undeclared columns only if it may', async () => {
  const project = await createMigrationProject();
  await project.sync([before()]);
  await project.query(`insert into posts (id, title, views) values ('a', 'kept', 1)`);
  await project.sync([after()]);
  expect(await project.query('select headline from posts')).toEqual([{ headline: 'kept' }]);
  await project.sync([before()], 'anything');
  expect(await project.query('select title from posts')).toEqual([{ title: null }]);
});

test('sync of a named database refuses an undeclared rename and explains how to declare it', async () => {
  const project = await createMigrationProject();
  await project.sync([before()]);
  await expect(project.sync([after(false)], 'nothing')).rejects.toThrow(
    "posts.title: 0 rows hold a value; if it was renamed to headline, declare that with renamedFrom('title')",
  );
});

const article = (renamedFrom?: string) =>
  defineResource('article', {
    fields: { title: f.string().unique().searchable().sortable(), views: f.integer().filterable() },
    indexes: [{ fields: ['views', '-title'] }],
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
  });

test.each([
  ['declared by the old name', article('post'), []],
  ['declared by the old table', article('posts'), []],
  ['requested on the command line', article(), ['--rename-table', 'posts=articles']],
])(
  'a renamed resource (%s) keeps its rows, and everything that carried its name is renamed',
  async (_, resource, given) => {
    const project = await withRows();
    const { lines } = await project.generate([resource], ...given);
    expect(lines.join('\n')).toContain('Note: resource post becomes article');
    await project.apply();
    expect(readFileSync(join(project.folder, '0001_change.sql'), 'utf8')).not.toMatch(/CREATE|DROP/);
    expect(await project.query('select array_agg(title order by id) as titles from articles')).toEqual(KEPT);
    const fresh = await createMigrationProject();
    await fresh.sync([article()]);
    expect(await readResourceSchema(project)).toEqual(await readResourceSchema(fresh));
  },
);

test('a resource whose table name changed is refused with the command to rename it', async () => {
  const { ok, lines } = await refusing.generate([article()]);
  expect(ok).toBe(false);
  expect(lines).toContain('  - table posts: it has 3 rows');
  expect(lines).toContain(
    '      to rename it to articles: npx belfry migration generate <name> --rename-table posts=articles',
  );
  expect(lines).toContain('      to drop it: npx belfry migration generate <name> --drop-table posts');
});

test('a table and its columns can be renamed together, in a chain, with a change of type', async () => {
  const project = await createMigrationProject();
  await project.change([post({ a: f.string().filterable(), b: f.string().filterable(), n: f.integer() })]);
  await project.query(`insert into posts (id, a, b, n) values ('x', 'was a', 'was b', 7)`);
  const next = defineResource('article', {
    renamedFrom: 'post',
    fields: {
      b: f.string().filterable().renamedFrom('a'),
      c: f.string().filterable().renamedFrom('b'),
      count: f.number().renamedFrom('n'),
    },
  });
  await project.change([next]);
  expect(await project.query('select b, c, count from articles')).toEqual([{ b: 'was a', c: 'was b', count: 7 }]);
  const fresh = await createMigrationProject();
  await fresh.sync([next]);
  expect(await readResourceSchema(project)).toEqual(await readResourceSchema(fresh));
});

test('of several earlier names, the newest that exists in the database is used', async () => {
  const project = await createMigrationProject();
  await project.change([post({ first: f.string() })]);
  await project.query(`insert into posts (id, first) values ('x', 'kept')`);
  await project.change([post({ third: f.string().renamedFrom('second', 'first') })]);
  expect(await project.query('select third from posts')).toEqual([{ third: 'kept' }]);
});

test.each([
  [
    [post({ title: f.string(), views: f.integer(), headline: f.string().renamedFrom('title') })],
    [],
    'posts.headline is declared as renamed from title, but title is declared too: remove renamedFrom, or one of them',
  ],
  [
    [after(false)],
    ['--rename', 'posts.titel=headline'],
    '--rename posts.titel=headline: the migrations have no posts.titel',
  ],
  [
    [after(false)],
    ['--rename', 'posts.views=headline'],
    '--rename posts.views=headline: posts.views is still declared',
  ],
  [
    [after(false)],
    ['--rename', 'posts.title=haedline'],
    '--rename posts.title=haedline: posts.haedline is not declared',
  ],
  [[after(false)], ['--rename', 'notes.title=headline'], '--rename notes.title=headline: no table notes is declared'],
  [[before()], ['--rename-table', 'notes=posts'], '--rename-table notes=posts: the migrations have no table notes'],
])('an impossible rename is refused with one line (%#)', async (resources, given, line) => {
  await expect(refusing.generate(resources, ...given)).rejects.toThrow(line);
});

const secret = (name: string, options: object = {}) =>
  defineResource(name, { fields: { note: f.text().encrypted(), plain: f.string() }, ...options });

test.each([
  ['a field', post({ memo: f.text().encrypted().renamedFrom('note'), plain: f.string() }), 'posts.memo', 'post.note'],
  ['a resource', secret('letter', { renamedFrom: 'post' }), 'letters.note', 'post.note'],
  ['a resource of the same table', secret('letter', { collection: 'posts' }), 'posts.note', 'post.note'],
])(
  'generate and sync refuse a rename of %s with ciphertexts, because ciphertexts are bound to the name',
  async (_, next, column, bound) => {
    const project = await createMigrationProject();
    await project.change([secret('post')]);
    const { ok, lines } = await project.generate([next]);
    expect(ok).toBe(false);
    expect(lines[1]).toMatch(new RegExp(`^  - ${column}: the ciphertexts of ${bound} are bound to that name, and `));
    expect(lines[2]).toContain('declare a new one, and copy the values in code');

    const synced = await createMigrationProject();
    await synced.sync([secret('post')]);
    await synced.app(secret('post')).service('post').create({ note: 'a secret' });
    await expect(synced.sync([next])).rejects.toThrow(`${column}: the ciphertexts of ${bound} are bound to that name`);
    await synced.query('update posts set note = null');
    await synced.sync([next]);
  },
);

test('two fields renamed from the same field are a configuration error, and so is a rename inside an object', async () => {
  const project = await createMigrationProject();
  const fields = {
    a: f.string().renamedFrom('z'),
    b: f.string().renamedFrom('z'),
    o: f.object({ p: f.string().renamedFrom('q') }),
    c: f.string().renamedFrom('c'),
  };
  expect(() => project.app(post(fields))).toThrow(
    /field "b": "a" is also renamed from "z"; keep one[\s\S]*field "c": renamedFrom\("c"\) names the field itself/,
  );
  expect(() => project.app(post(fields))).toThrow('field "o.p": renamedFrom has no effect inside an array or object');
});

test('renaming a resource, or a field, also renames it in the deleted records', async () => {
  const project = await createMigrationProject();
  const fields = { title: f.string() };
  await project.change([defineResource('post', { fields, softDelete: true })]);
  await project.query(`insert into posts_deleted (id, title, deleted_at) values ('${'1'.repeat(24)}', 'old', now())`);
  const renamed = { headline: f.string().renamedFrom('title') };
  await project.change([defineResource('story', { fields: renamed, softDelete: true, renamedFrom: 'post' })]);
  expect(await project.query('select headline from stories_deleted')).toEqual([{ headline: 'old' }]);
});
