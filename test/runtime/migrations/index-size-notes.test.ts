import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';
import { post, withValues } from './changing-field.ts';

// Random text, because Postgres would compress repeated text.
const LONG = randomBytes(3000).toString('base64');
const of = (declared: string) =>
  `${declared} gets an index with at most 2600 bytes per text: longer existing texts would stop the migration`;

test.each<[string, AnyField, AnyField, unknown[], string]>([
  ['filterable', f.string(), f.string().filterable(), ['x', LONG], '1 row has a longer value'],
  ['sortable', f.string(), f.string().sortable(), ['x'], 'no rows have longer values'],
  ['unique', f.string(), f.string().unique(), [LONG, `${LONG}2`], '2 rows have longer values'],
  ['a text that becomes a string', f.text(), f.string().index(), [LONG], '1 row has a longer value'],
  ['an array', f.array(f.string()), f.array(f.string()).filterable(), [['x'], ['x', LONG]], '1 row has a longer value'],
])(
  'a new index over texts of unlimited length gets a note in its migration with the number of rows at risk: %s',
  async (_what, from, to, values, counted) => {
    const project = await withValues(from, values);
    const { ok, lines } = await project.generate([post(to)], 'indexed');
    expect([ok, lines.filter((line) => line.startsWith('Note: posts.v gets'))]).toEqual([
      true,
      [`Note: ${of('posts.v')}; ${counted}.`],
    ]);
    const sql = readFileSync(join(project.folder, '0001_indexed.sql'), 'utf8');
    expect(sql.split('\n')[0]).toBe('-- belfry: no transaction');
    expect(sql).toContain(`--   ${of('posts.v')}\n`);
    if (counted.startsWith('no ')) {
      expect(await project.apply()).toEqual(['0001_indexed']);
      return;
    }
    const failed = await project.apply().catch((error: Error) => error.message);
    expect(failed).toContain('posts.v gets an index, but some rows have values over its limit of 2600 bytes');
    // The query in the note finds the rows; once they are short, the migration succeeds.
    const [, query] = /find them with: (.+)/.exec(failed as string)!;
    const found = await project.query(query!);
    expect(found).toHaveLength(Number(counted[0]));
    await project.query('delete from posts where id = any($1)', [found.map(({ id }) => id)]);
    expect(await project.apply()).toEqual(['0001_indexed']);
  },
);

test.each<[string, AnyField, AnyField]>([
  ['a string of a declared length', f.string().max(600), f.string().max(600).filterable()],
  ['an enum', f.enum(['a']), f.enum(['a']).filterable()],
  ['a string that had an index', f.string().index(), f.string().unique()],
  ['a text, whose index is a hash', f.text(), f.text().filterable(['eq'])],
  ['a substring search', f.string(), f.string().searchable()],
])('an index into which every existing value fits gets no note: %s', async (_what, from, to) => {
  const project = await withValues(from, []);
  const { ok, lines } = await project.generate([post(to)], 'indexed');
  expect([ok, lines.filter((line) => line.startsWith('Note: '))]).toEqual([true, []]);
});

test('in an index over several fields, each field gets a part of the space', async () => {
  const fields = { v: f.string(), other: f.string() };
  const project = await withValues(f.string(), [LONG]);
  const indexed = defineResource('post', { fields, indexes: [{ fields: ['v', '-other'] }] });
  const { lines } = await project.generate([indexed], 'both');
  const halved = (column: string) => of(column).replace('2600', '1300');
  expect(lines.filter((line) => line.startsWith('Note: '))).toEqual([
    `Note: ${halved('posts.v')}; 1 row has a longer value.`,
    `Note: ${halved('posts.other')}; no rows have longer values.`,
  ]);
  const failed = await project.apply().catch((error: Error) => error.message);
  expect(failed).toContain('posts.v with posts.other gets an index, but some rows have values over its limit');
  expect(await project.query(/find them with: (.+)/.exec(failed as string)![1]!)).toHaveLength(1);
});

test('npx belfry dev prints the same note and changes nothing', async () => {
  const project = await createMigrationProject();
  await project.sync([post(f.string())]);
  const posts = project.app(post(f.string())).service('post');
  await posts.create({ v: LONG });
  const failed = await project.sync([post(f.string().filterable())]).catch((error: Error) => error.message);
  expect(failed).toContain('posts.v gets an index, but some rows have values over its limit of 2600 bytes');
  expect(failed).not.toContain(LONG.slice(0, 50));
  expect(await posts.count()).toBe(1);
});
