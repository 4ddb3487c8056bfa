import { expect, test } from 'vitest';
import { suggestClosestName, suggestKnownNames } from '../../../src/platform/helpers/did-you-mean.ts';

const known = ['title', 'body', 'createdAt', 'status'];

test.each([
  ['titel', 'title'],
  ['Title', 'title'],
  ['tilte', 'title'],
  ['creatdAt', 'createdAt'],
  ['created_at', 'createdAt'],
  ['statuss', 'status'],
])('for %s the suggestion is %s', (name, meant) => {
  expect(suggestClosestName(name, known)).toBe(`. Did you mean "${meant}"?`);
});

test.each(['author', 'x', '', 'ti'])('for "%s" there is no suggestion', (name) => {
  expect(suggestClosestName(name, known)).toBe('');
});

test('without a suggestion, all known names are listed', () => {
  expect(suggestKnownNames('author', 'fields', ['title', 'body'])).toBe('; fields: title, body');
  expect(suggestKnownNames('bdy', 'fields', ['title', 'body'])).toBe('. Did you mean "body"?');
});

test('the names of a map are suggested as those of a list', () => {
  const known = new Map([['greet', 1]]);
  expect(suggestKnownNames('gret', 'jobs', known.keys())).toBe('. Did you mean "greet"?');
  expect(suggestKnownNames('thumbnail', 'jobs', known.keys())).toBe('; jobs: greet');
});
