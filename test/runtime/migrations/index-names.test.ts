import { expect, test } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

type Indexes = readonly { fields: readonly string[]; unique?: boolean }[];
const thing = (fields: Fields, indexes: Indexes = [], more: object = {}) =>
  defineResource('thing', { fields, indexes, ...more });

/** The indexes that a migration creates for the resources: their names, with a digest shown as #, and what they cover. */
async function made(resources: readonly AnyResource[]): Promise<string[]> {
  const project = await createMigrationProject();
  expect(await project.change([...resources])).toHaveLength(1);
  const rows = await project.query(
    `select indexname as name, indexdef as text from pg_indexes
      where (tablename like 'things%') and indexname not like '%_pkey' and indexname not like '%_created_at_index'`,
  );
  await project.remove();
  const short = (text: string) => text.replace(/^CREATE (UNIQUE )?INDEX .* USING (.*)$/, '$1$2').toLowerCase();
  return rows.map(({ name, text }) => `${name.replace(/_[0-9a-f]{8}$/, '_#')}: ${short(text)}`).sort();
}

const [a, b] = [() => f.string(), () => f.string()];
test.each<[string, AnyResource[], string[]]>([
  ['a filterable field', [thing({ a: a().filterable() }, [{ fields: ['a'] }])], ['things_a_index: btree (a)']],
  ['an indexed field', [thing({ a: a().index() }, [{ fields: ['a'] }])], ['things_a_index: btree (a)']],
  [
    'a unique field',
    [thing({ a: a().unique().index() }, [{ fields: ['a'], unique: true }, { fields: ['-a'] }])],
    ['things_a_unique: unique btree (a)'],
  ],
  [
    'an index that another declaration makes unique',
    [
      thing({ a: a().filterable(), b: b() }, [
        { fields: ['a'], unique: true },
        { fields: ['a', '-b'] },
        { fields: ['-a', 'b'], unique: true },
      ]),
    ],
    ['things_a_b_unique: unique btree (a desc, b)', 'things_a_unique: unique btree (a)'],
  ],
  [
    'the same index in the same or the reverse direction',
    [thing({ a: a(), b: b() }, [{ fields: ['a', 'b'] }, { fields: ['a', 'b'] }, { fields: ['-a', '-b'] }])],
    ['things_a_b_index: btree (a, b)'],
  ],
  [
    'the default order, and the owner',
    [
      thing(
        { a: a().max(9), who: f.id() },
        [{ fields: ['a', 'createdAt', 'id'] }, { fields: ['who', 'a', 'createdAt', 'id'] }],
        {
          defaultSort: 'a,createdAt',
          owner: 'who',
        },
      ),
    ],
    [
      'things_a_created_at_id_index: btree (a, created_at, id)',
      'things_who_a_created_at_id_index: btree (who, a, created_at, id)',
    ],
  ],
  ['the primary key', [thing({ a: a() }, [{ fields: ['id'], unique: true }, { fields: ['-id'] }])], []],
])('an index that duplicates %s is not created', async (_what, resources, indexes) => {
  expect(await made(resources)).toEqual([...indexes].sort());
});

test.each<[string, AnyResource[], string[]]>([
  [
    'their sort directions',
    [thing({ a: a(), b: b() }, [{ fields: ['a', 'b'] }, { fields: ['-a', 'b'] }])],
    ['things_a_b_index: btree (a, b)', 'things_a_desc_b_index: btree (a desc, b)'],
  ],
  [
    'columns whose names combine to the same index name',
    [
      thing({ a: a(), b: b(), aB: f.string().index(), aDescB: b().filterable() }, [
        { fields: ['a', 'b'] },
        { fields: ['-a', 'b'] },
      ]),
    ],
    [
      'things_a_b_index: btree (a_b)',
      'things_a_desc_b_index: btree (a_desc_b)',
      'things_a_b_index_#: btree (a desc, b)',
      'things_a_b_index_#: btree (a, b)',
    ],
  ],
  [
    'the last word of a column name',
    [thing({ a: a().sortable(), aSort: f.string().index(), aSearch: a().searchable(), b: b() })],
    [
      'things_a_sort_index: btree (a, id)',
      'things_a_search_search_index: gin (a_search gin_trgm_ops)',
      'things_a_sort_index_#: btree (a_sort)',
    ],
  ],
  [
    'table and column whose names combine to the same index name',
    [
      thing({ aB: a().filterable() }),
      defineResource('things-a', { collection: 'things_a', fields: { b: b().filterable() } }),
    ],
    ['things_a_b_index: btree (a_b)', 'things_a_b_index_#: btree (b)'],
  ],
  [
    'the name of the table',
    [thing({ a: a().filterable() }), defineResource('index', { collection: 'things_a_index', fields: { b: b() } })],
    ['things_a_index_#: btree (a)'],
  ],
])('indexes that differ in %s have different names', async (_what, resources, indexes) => {
  expect(await made(resources)).toEqual([...indexes].sort());
});

test('an index may take over the name of another: migrations and sync create both indexes', async () => {
  const before = [thing({ a: a(), b: b(), aB: b() }, [{ fields: ['a', 'b'] }])];
  const after = [thing({ a: a(), b: b(), aB: b().index() }, [{ fields: ['a', 'b'] }, { fields: ['-a', 'b'] }])];
  const indexes = `select indexname as name, indexdef as text from pg_indexes where indexname like 'things_a_%' order by 1`;
  const found: unknown[] = [];
  for (const way of ['change', 'sync'] as const) {
    const project = await createMigrationProject();
    await project[way](before);
    await project[way](after);
    const rows = await project.query(indexes);
    found.push(
      rows.map(({ name, text }) => `${name.replace(/_[0-9a-f]{8}$/, '_#')} ${text.replace(/.* USING btree /, '')}`),
    );
    await project.remove();
  }
  const both = ['things_a_b_index (a_b)', 'things_a_b_index_# (a, b)', 'things_a_desc_b_index (a DESC, b)'];
  expect(found).toEqual([both, both]);
});
