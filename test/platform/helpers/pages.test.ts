import { expect, test } from 'vitest';
import { countParameter, toPage } from '../../../src/platform/helpers/pages.ts';

const idOf = (id: number) => `after ${id}`;

test.each([
  ['without rows', [], false, { page: [], next: null }],
  ['with fewer rows than the limit', [1], false, { page: [1], next: null }],
  ['with as many rows as the limit', [1, 2], false, { page: [1, 2], next: null }],
  ['with one row more than the limit', [1, 2, 3], false, { page: [1, 2], next: 'after 2' }],
  ['that was cut for its size', [1], true, { page: [1], next: 'after 1' }],
])('a page %s has the cursor of the next page only if more rows follow', (_, rows, isCut, page) => {
  expect(toPage(rows, 2, idOf, isCut)).toEqual(page);
});

test.each(['0', '11', '1.5', 'x', ''])('"%s" is not a valid count', (text) => {
  const message = 'Must be a whole number from 1 to 10';
  expect(countParameter(10, 5).safeParse(text).error?.issues[0]).toMatchObject({ message });
});

test('a count is a number, or the default without one', () => {
  expect(['1', '10', undefined].map((text) => countParameter(10, 5).parse(text))).toEqual([1, 10, 5]);
});
