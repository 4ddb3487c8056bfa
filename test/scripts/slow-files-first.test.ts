import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SLOW } from '../support/vitest/slow-files-first.ts';

test('every path in the list of slow tests exists', () => {
  expect(SLOW.filter((path) => globSync([path, `${path}/**/*.test.ts`]).length === 0)).toEqual([]);
});
