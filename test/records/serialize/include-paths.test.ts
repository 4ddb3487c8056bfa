import { expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { listIncludablePaths, parseInclude } from '../../../src/records/query/include.ts';
import type { Includes } from '../../../src/records/query/list-query.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';

const compiled = compileResources(
  [
    defineResource('post', {
      fields: { author: f.ref('writer'), parent: f.ref('post'), title: f.string(), boss: f.ref('writer').hidden() },
    }),
    defineResource('writer', { fields: { firm: f.ref('firm'), last: f.ref('post'), friend: f.ref('writer') } }),
    defineResource('firm', { fields: { land: f.ref('land') } }),
    defineResource('land', { fields: { ruler: f.ref('ruler') } }),
    defineResource('ruler', { fields: { name: f.string() } }),
  ],
  'reject',
);
const getResource = (name: string) => compiled.find((one) => one.name === name)!;
const post = getResource('post');
const plain = (tree: Includes): object => Object.fromEntries([...tree].map(([name, below]) => [name, plain(below)]));

test.each<[string, object]>([
  ['author', { author: {} }],
  ['parent', { parent: {} }],
  ['author,author.firm', { author: { firm: {} } }],
  ['author.firm.land,author', { author: { firm: { land: {} } } }],
  ['author,parent.author', { author: {}, parent: { author: {} } }],
])('include=%s expands %j', (text, tree) => {
  expect(plain(parseInclude(post, text, getResource))).toEqual(tree);
});

test.each([
  ['title', 'Cannot include "title"; references: author, parent'],
  ['boss', 'Cannot include "boss"; references: author, parent'],
  ['', 'Cannot include ""; references: author, parent'],
  ['author.last', 'Cannot include "author.last"; references of "author" that can be included: firm'],
  ['author.friend', 'Cannot include "author.friend"; references of "author" that can be included: firm'],
  ['author.firm.x', 'Cannot include "author.firm.x"; references of "author.firm" that can be included: land'],
  ['author.firm.land.ruler', 'Cannot include "author.firm.land.ruler"; a path has at most 3 references'],
])('include=%s is refused because it is circular, not a reference, or too long', (text, message) => {
  expect(() => parseInclude(post, text, getResource)).toThrow(message);
});

test('an include accepts up to 20 different paths', () => {
  const names = Array.from({ length: 21 }, (_, i) => `to${i}`);
  const fields = Object.fromEntries(names.map((name) => [name, f.ref('wide')]));
  const [wide] = compileResources([defineResource('wide', { fields })], 'reject');
  const parse = (count: number) => parseInclude(wide!, [...names.slice(0, count), 'to0'].join(), () => wide!);
  expect(parse(20).size).toBe(20);
  expect(() => parse(21)).toThrow('The query parameter "include" takes at most 20 paths');
});

test.each<[number, string[]]>([
  [0, []],
  [1, ['author', 'parent']],
  [2, ['author', 'parent', 'author.firm', 'parent.author']],
  [3, ['author', 'parent', 'author.firm', 'parent.author', 'author.firm.land', 'parent.author.firm']],
])('the paths of at most %d references are exactly those that an include accepts, shortest first', (most, paths) => {
  expect(listIncludablePaths(post, getResource, most)).toEqual(paths);
  for (const path of paths) expect(() => parseInclude(post, path, getResource)).not.toThrow();
});
