import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ApiError, ERROR_CODES, validationError } from '../../../src/platform/helpers/errors.ts';

test('docs/build/http.md contains the current error catalogue', () => {
  const docs = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'build', 'http.md'), 'utf8');
  const table = /^\| Status \| Code \|.*\n\|[-|]+\|\n((?:\|.*\n)*)/m.exec(docs)![1]!;
  const catalogue = Object.entries(ERROR_CODES)
    .sort(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, message }]) => `| ${status} | \`${code}\` | ${message} |\n`);
  expect(table).toBe(catalogue.join(''));
});

test('an error reports its first 100 details', () => {
  const details = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, `m${i}`]));
  expect(new ApiError('VALIDATION_ERROR', undefined, { details: details(100) }).details).toEqual(details(100));
  expect(new ApiError('VALIDATION_ERROR', undefined, { details: details(90_000) }).details).toEqual(details(100));
  expect(validationError(details(101)).details).toEqual(details(100));
});
