import { expect, test } from 'vitest';
import { firstOf } from '../../../src/extensions/realtime/entry.ts';

test.each([
  [[], 0],
  [[5], 1],
  [[50], 1],
  [[50, 1], 1],
  [[4, 4, 2], 3],
  [[4, 4, 3], 2],
  [[1, 50, 1], 1],
])('of entries with %j bytes the first that have 10 together are %i', (sizes, count) => {
  const entries = sizes.map((size, i) => ({ id: `1-${i}`, field: 'e', text: 'x'.repeat(size) }));
  expect(firstOf(entries, 10)).toEqual(entries.slice(0, count));
});
