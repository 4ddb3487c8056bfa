import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

const post = defineResource('post', { fields: { title: f.string(), pinned: f.ref('comment') } });
const resources = (field: AnyField) => [post, defineResource('comment', { fields: { post: field } })];
const MISSING = 'ffffffffffffffffffffffff';

const findForeignKeys = (project: MigrationProject) =>
  project.query(
    `select conname as name, convalidated as checked, condeferrable as deferrable from pg_constraint
      where contype = 'f' and conrelid in (select oid from pg_class where relname in ('comments', 'remarks', 'posts')) order by 1`,
  );
const findIndexes = async (project: MigrationProject, table: string) =>
  (await project.query('select indexname from pg_indexes where tablename = $1 order by 1', [table])).map(
    ({ indexname }) => indexname,
  );
const KEY = { name: 'comments_post_fkey', checked: true, deferrable: true };

test('onDelete adds a foreign key and an index without blocking writes, and its removal drops the foreign key', async () => {
  const project = await createMigrationProject();
  await project.change(resources(f.ref('post')));
  const { id } = await project
    .app(...resources(f.ref('post')))
    .service('post')
    .create({});
  await project
    .app(...resources(f.ref('post')))
    .service('comment')
    .create({ post: id });
  const applied = await project.change(resources(f.ref('post', { onDelete: 'cascade' })), 'keys');
  expect(applied).toEqual(['0001_keys', '0002_keys_indexes']);
  const sql = await Promise.all(applied.map((name) => readFile(join(project.folder, `${name}.sql`), 'utf8')));
  expect(sql[0]).toMatch(/ADD CONSTRAINT "comments_post_fkey" FOREIGN KEY [^;]+ DEFERRABLE NOT VALID;/);
  expect(sql[1]).toMatch(
    /belfry: no transaction[\s\S]*CREATE INDEX CONCURRENTLY "comments_post_index"[\s\S]*VALIDATE CONSTRAINT/,
  );
  expect(await findForeignKeys(project)).toEqual([KEY]);
  expect(await findIndexes(project, 'comments')).toContain('comments_post_index');
  expect((await project.generate(resources(f.ref('post', { onDelete: 'restrict' })))).lines).toEqual([
    'The migrations are up to date with the declarations.',
  ]);
  await project.change(resources(f.ref('post')));
  expect(await findForeignKeys(project)).toEqual([]);
});

test('references to missing rows are counted before the migration, and stop it with the statement that finds them', async () => {
  const project = await createMigrationProject();
  await project.change(resources(f.ref('post')));
  const comments = project.app(...resources(f.ref('post'))).service('comment');
  for (let i = 0; i < 2; i++) await comments.create({ post: MISSING });
  const { lines } = await project.generate(resources(f.ref('post', { onDelete: 'setNull' })), 'keys');
  expect(lines.join('\n')).toContain(
    'comments.post gets a foreign key to posts: references to missing rows would stop the migration; 2 rows refer to missing rows; find them with: select "id", "post" from "comments"',
  );
  const expected =
    /comments\.post must refer to existing rows of posts, but 2 rows refer to missing ones[\s\S]*find them with: select "id", "post"/;
  await expect(project.apply()).rejects.toThrow(expected);
  const [found] = await project.query('select count(*)::int as count from comments');
  expect(found).toEqual({ count: 2 });
  await project.query('delete from comments');
  expect(await project.apply()).toEqual(['0002_keys_indexes']);
  expect(await findForeignKeys(project)).toEqual([KEY]);
});

test('sync names the rows that prevent a foreign key, and adds it once they are gone', async () => {
  const project = await createMigrationProject();
  await project.sync(resources(f.ref('post')));
  await project
    .app(...resources(f.ref('post')))
    .service('comment')
    .create({ post: MISSING });
  const after = resources(f.ref('post', { onDelete: 'cascade' }));
  await expect(project.sync(after)).rejects.toThrow(
    /nothing was changed[\s\S]*but 1 row refers to missing ones[\s\S]*find them with: select "id", "post"/,
  );
  await project.query('delete from comments');
  await project.sync(after);
  expect(await findForeignKeys(project)).toEqual([KEY]);
});

test('resources that refer to each other and to themselves are created together', async () => {
  const project = await createMigrationProject();
  const [one, two] = [
    defineResource('post', {
      fields: { top: f.ref('comment', { onDelete: 'setNull' }), parent: f.ref('post', { onDelete: 'cascade' }) },
    }),
    defineResource('comment', { fields: { post: f.ref('post', { onDelete: 'cascade' }) } }),
  ];
  await project.change([one, two]);
  expect((await findForeignKeys(project)).map(({ name }) => name)).toEqual([
    'comments_post_fkey',
    'posts_parent_fkey',
    'posts_top_fkey',
  ]);
  const app = project.app(one, two);
  const first = await app.service('post').create({});
  const comment = await app.service('comment').create({ post: first.id });
  await app.service('post').update(first.id, { parent: first.id, top: comment.id });
  await app.service('post').delete(first.id);
  expect((await app.service('comment').list()).meta.total).toBe(0);
});

test('a foreign key follows the renames of its table and column', async () => {
  const project = await createMigrationProject();
  await project.change(resources(f.ref('post', { onDelete: 'cascade' })));
  const remark = defineResource('remark', {
    fields: { article: f.ref('post', { onDelete: 'cascade' }).renamedFrom('post') },
    renamedFrom: 'comment',
  });
  const renamedPost = defineResource('post', { fields: { title: f.string(), pinned: f.ref('remark') } });
  await project.change([renamedPost, remark]);
  expect(await findForeignKeys(project)).toEqual([{ ...KEY, name: 'remarks_article_fkey' }]);
});

test('a start is refused while a declared foreign key is missing', async () => {
  const project = await createMigrationProject();
  await project.change(resources(f.ref('post', { onDelete: 'cascade' })));
  await project.query('alter table comments drop constraint comments_post_fkey');
  const app = project.app(...resources(f.ref('post', { onDelete: 'cascade' })));
  await expect(app.start({ port: 0, roles: ['web'] })).rejects.toThrow('missing: foreign key comments_post_fkey');
});

test('a list of references needs no change of the table that an array of references has, besides its index', async () => {
  const project = await createMigrationProject();
  await project.change(resources(f.array(f.ref('post'))));
  await project.change(resources(f.refs('post')), 'list');
  expect(await findIndexes(project, 'comments')).toContain('comments_post_gin_index');
});
