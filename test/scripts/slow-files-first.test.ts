import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SLOW_FILES } from '../support/vitest/slow-files-first.ts';

test('every file in the list of slow test files exists', () => {
  expect(SLOW_FILES.filter((file) => !existsSync(file))).toEqual([]);
});
