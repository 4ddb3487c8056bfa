import { expect, test } from 'vitest';
import { generate } from '../../../src/cli/migration/generate.ts';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

const post = (fields: Fields) => defineResource('post', { fields });
const note = defineResource('note', { fields: { body: f.text() } });
const COMMAND = 'npx belfry migration generate';

async function withRows() {
  const project = await createMigrationProject();
  await project.change([post({ title: f.string(), subtitle: f.string(), views: f.integer() }), note]);
  await project.query(`insert into posts (id, title, subtitle, views) values ('1', 'a', 'x', 1), ('2', 'b', null, 2)`);
  await project.query(`insert into notes (id, body) values ('1', 'x')`);
  return project;
}

const FEWER = [post({ title: f.string(), views: f.integer() })];

test('each loss is listed with the number of rows that hold a value and the command that allows it; nothing is written', async () => {
  const project = await withRows();
  expect(await project.generate(FEWER, 'less')).toEqual({
    ok: false,
    lines: [
      'This would lose data:',
      '  - posts.subtitle: 1 row holds a value',
      `      to drop it: ${COMMAND} less --drop posts.subtitle`,
      '  - table notes: it has 1 row',
      `      to drop it: ${COMMAND} less --drop-table notes`,
      'Combine the options in one command. --allow-loss drops everything that is not renamed.',
    ],
  });
  expect(await project.apply()).toEqual([]);
});

test('allowing one loss does not allow another', async () => {
  const project = await withRows();
  const { ok, lines } = await project.generate(FEWER, '--drop', 'posts.subtitle');
  expect(ok).toBe(false);
  expect(lines).toEqual([
    'This would lose data:',
    '  - table notes: it has 1 row',
    `      to drop it: ${COMMAND} --drop posts.subtitle --drop-table notes`,
  ]);
});

test.each([
  ['each loss is allowed by name', ['--drop', 'posts.subtitle', '--drop-table', 'notes']],
  ['all losses are allowed', ['--allow-loss']],
])('a migration with losses is written when %s, and declared fields keep their values', async (_, given) => {
  const project = await withRows();
  await project.change(FEWER, ...given);
  expect(
    await project.query('select to_jsonb(p) - $1::text[] as row from posts p order by id', [
      ['created_at', 'updated_at'],
    ]),
  ).toEqual([{ row: { id: '1', title: 'a', views: 1 } }, { row: { id: '2', title: 'b', views: 2 } }]);
  expect(await project.query(`select to_regclass('notes') as there`)).toEqual([{ there: null }]);
});

test.each([
  ['--drop', 'posts.title', '--drop posts.title: this migration would not drop that column.'],
  ['--drop-table', 'posts', '--drop-table posts: this migration would not drop that table.'],
])('%s of a field or resource that is still declared is refused', async (option, name, line) => {
  const project = await withRows();
  await expect(project.generate(FEWER, option, name)).rejects.toThrow(line);
});

test('allowing all losses does not allow an unsafe change of type', async () => {
  const project = await withRows();
  const next = [post({ title: f.integer(), views: f.integer() })];
  expect((await project.generate(next, '--allow-loss')).lines[0]).toBe('This cannot be done safely:');
});

test('without a database, or if it does not respond, losses are listed without the number of rows', async () => {
  const project = await withRows();
  const app = project.app(...FEWER);
  const nowhere = await generate(app, project.folder, [], undefined);
  expect(nowhere.lines).toContain('  - posts.subtitle');
  expect(nowhere.lines.at(-1)).toBe('(set DATABASE_URL to see how many rows hold a value)');
  const dead = await generate(app, project.folder, [], 'postgres://a:hidden@127.0.0.1:1/b');
  expect(dead.lines.at(-1)).toMatch(
    /^\(the rows that hold a value were not counted: connect ECONNREFUSED 127\.0\.0\.1:1\)$/,
  );
});

test('values that would be lost are counted under the name that the database still uses', async () => {
  const project = await withRows();
  const article = defineResource('article', {
    renamedFrom: 'post',
    fields: { headline: f.string().renamedFrom('title'), views: f.integer() },
  });
  const { lines } = await project.generate([article, note]);
  expect(lines).toContain('  - posts.subtitle: 1 row holds a value');
  await project.change([article, note], '--drop', 'posts.subtitle');
  expect(await project.query('select headline from articles order by id')).toEqual([
    { headline: 'a' },
    { headline: 'b' },
  ]);
});

test('a rename is proposed only to a column of the same type', async () => {
  const project = await withRows();
  const next = [
    post({ title: f.string(), a: f.enum(['x']), b: f.string(), c: f.integer(), d: f.string().encrypted() }),
    note,
  ];
  const { lines } = await project.generate(next);
  expect(lines.filter((line) => line.includes('to rename it'))).toEqual([
    `      to rename it to b: ${COMMAND} <name> --rename posts.subtitle=b`,
    `      to rename it to c: ${COMMAND} <name> --rename posts.views=c`,
  ]);
});

test('a check lists the pending changes, exits with an error, and writes nothing', async () => {
  const project = await withRows();
  expect(await project.generate(FEWER, '--check')).toEqual({
    ok: false,
    lines: [
      'The migrations are behind the declarations. npx belfry migration generate would write:',
      '  DROP TABLE "notes" CASCADE;',
      '  ALTER TABLE "posts" DROP COLUMN "subtitle";',
    ],
  });
  expect(await project.apply()).toEqual([]);
});
