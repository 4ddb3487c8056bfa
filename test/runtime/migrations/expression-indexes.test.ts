// Indexes over expressions: of long texts and of arrays of texts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

const post = (fields: Fields) => defineResource('post', { fields });
const plain = { body: f.text(), about: f.text(), tags: f.array(f.string()) };
const marked = { body: f.text().unique(), about: f.text().sortable(), tags: f.array(f.string()).searchable() };
const LONG = Array.from({ length: 9000 }, (_, i) => String.fromCodePoint(0x4e00 + ((i * 7919) % 20_000))).join('');

const INDEXES = `select indexname as name, indexdef as text from pg_indexes
  where tablename = 'posts' and indexname ~ 'unique|sort_index|search_index' order by 1`;
const shape = (columns: { body?: string } = {}) => [
  `posts_about_sort_index USING btree ("left"(about, 600), id)`,
  `posts_${columns.body ?? 'body'}_unique USING btree (sha256((replace(${columns.body ?? 'body'}, '\\'::text, '\\\\'::text))::bytea))`,
  'posts_tags_search_index USING gin (belfry_array_text(tags) gin_trgm_ops)',
];
async function indexes(project: Awaited<ReturnType<typeof createMigrationProject>>): Promise<string[]> {
  const rows = await project.query(INDEXES);
  return rows.map(({ name, text }) => `${name} USING ${text.split(' USING ')[1]}`);
}

test('expression indexes are created with a new table, once, and after the function that they need', async () => {
  const project = await createMigrationProject();
  expect(await project.change([post(marked)])).toHaveLength(1);
  expect(await indexes(project)).toEqual(shape().toSorted());
  const again = await project.generate([post(marked)], '--check');
  expect(again.ok, again.lines.join('\n')).toBe(true);
});

test('expression indexes are added to a table with rows while processes run, whatever the length of the texts', async () => {
  const project = await createMigrationProject();
  await project.change([post(plain)]);
  const posts = project.app(post(plain)).service('post');
  await posts.create({ body: `${LONG}a`, about: LONG, tags: ['x', LONG] });
  await posts.create({ body: `${LONG}b`, about: LONG, tags: ['x'] });
  const names = await project.change([post(marked)]);
  const files = names.map((name) => readFileSync(join(project.folder, `${name}.sql`), 'utf8'));
  expect(files[0]).toContain('CREATE OR REPLACE FUNCTION belfry_array_text');
  expect(files.at(-1)).toContain('CONCURRENTLY');
  expect(await indexes(project)).toEqual(shape().toSorted());
});

test('npx belfry dev creates expression indexes too', async () => {
  const project = await createMigrationProject();
  await project.sync([post(plain)]);
  await project.sync([post(marked)]);
  expect(await indexes(project)).toEqual(shape().toSorted());
});

test('a unique index over rows with the same text is refused with a message that says so', async () => {
  const project = await createMigrationProject();
  await project.sync([post(plain)]);
  const posts = project.app(post(plain)).service('post');
  await posts.create({ body: LONG });
  await posts.create({ body: LONG });
  const failed = await project.sync([post(marked)]).catch((error: Error) => error.message);
  expect(failed).toContain('posts.body must become unique, but some rows have equal values');
  expect(await project.query(/find them with: (.+)/.exec(failed as string)![1]!)).toHaveLength(1);
});

test('a renamed column keeps its expression index', async () => {
  const project = await createMigrationProject();
  await project.change([post(marked)]);
  const { body, ...rest } = marked;
  const renamed = post({ ...rest, text: body.renamedFrom('body') });
  const [name] = await project.change([renamed]);
  const sql = readFileSync(join(project.folder, `${name}.sql`), 'utf8');
  expect(sql).not.toMatch(/DROP|CREATE (?:UNIQUE )?INDEX/);
  expect(await indexes(project)).toEqual(shape({ body: 'text' }).toSorted());
});

test('the start reports that the database lacks the function', async () => {
  const project = await createMigrationProject();
  await project.change([post(marked)]);
  await project.query('drop function belfry_array_text(text[]) cascade');
  const app = project.app(post(marked));
  const missing = await app.start({ port: 0, roles: ['web'] }).then(
    () => '',
    (error: Error) => error.message,
  );
  expect(missing).toContain('missing: function belfry_array_text');
});
