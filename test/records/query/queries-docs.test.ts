// Requests the examples of docs/build/queries.md exactly as written, from the resource that the page declares.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { MAX_LIST_VALUES, MAX_SEARCH_LENGTH } from '../../../src/records/query/filter.ts';
import { MAX_LEVELS, MAX_PATHS } from '../../../src/records/query/include.ts';
import { MAX_FOLLOWED, MAX_PATH_RELATIONS } from '../../../src/records/query/paths.ts';
import { MAX_SORT_TERMS } from '../../../src/records/query/sort.ts';
import { startTestApp } from '../../support/app.ts';

const page = readFileSync(new URL('../../../docs/build/queries.md', import.meta.url), 'utf8');
const [, source] = /export const article = ([\s\S]*?;)\n```/.exec(page)!;
const declare = new Function('defineResource', 'f', `return ${source}`);
const open = { list: 'public', read: 'public' } as const;
const { app, call, person } = await startTestApp({
  resources: [
    defineUser(),
    defineResource('area', { fields: { name: f.string().filterable().sortable() }, policies: open }),
    defineResource('topic', { fields: { name: f.string(), parent: f.ref('area').filterable() }, policies: open }),
    defineResource('comment', {
      fields: { article: f.ref('article').filterable(), state: f.string().filterable() },
      policies: open,
    }),
    declare(defineResource, f) as ReturnType<typeof defineResource>,
  ],
});
const ann = await person('Ann');
const service = app.service as (name: string) => ReturnType<typeof app.service>;
for (let i = 0; i < 55; i++) {
  await service('article').create({ title: `Bell ${i}`, views: i % 9, tags: ['news'], author: ann.id } as never);
}

const examples = [...page.matchAll(/^GET (\/api\/\S+)$/gm)].map((match) => match[1]!);

test('every section has examples', () => expect(examples.length).toBeGreaterThan(10));

test.each(examples)('GET %s works as documented', async (path) => {
  const before = path.replace(/&after=.*/, '');
  const cursor = path === before ? '' : (await call('GET', before)).body.meta.next;
  const { status, body } = await call('GET', path.replace('<next>', cursor));
  expect([status, body.error]).toEqual([200, undefined]);
});

test('the documented limits are those of the code', () => {
  for (const words of [
    `up to ${MAX_LIST_VALUES.toLocaleString('en')} values`,
    `up to ${MAX_SEARCH_LENGTH} characters`,
    `up to ${MAX_SORT_TERMS} \`sortable()\` fields`,
    `up to ${MAX_PATHS} paths`,
    `A path follows up to ${MAX_PATH_RELATIONS} relations, and all filters of a list together up to ${MAX_FOLLOWED}`,
  ]) {
    expect(page.replaceAll(/\s+/g, ' ')).toContain(words);
  }
  expect([MAX_LEVELS, page.includes('over up to three references')]).toEqual([3, true]);
});
