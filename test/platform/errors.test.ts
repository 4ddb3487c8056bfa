import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERROR_CODES } from '../../src/platform/errors.ts';

test('docs/http.md has the catalogue of errors, as it is', () => {
  const docs = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'http.md'), 'utf8');
  const table = /^\| Status \| Code \|.*\n\|[-|]+\|\n((?:\|.*\n)*)/m.exec(docs)![1]!;
  const catalogue = Object.entries(ERROR_CODES)
    .sort(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, message }]) => `| ${status} | \`${code}\` | ${message} |\n`);
  expect(table).toBe(catalogue.join(''));
});
