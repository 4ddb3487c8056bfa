import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSettingsPage } from '../../../scripts/docs/settings.ts';

const page = createSettingsPage();

test('docs/operate/settings.md is what the schemas of the settings say: npm run docs:settings writes it', () => {
  expect(readFileSync(join(import.meta.dirname, '../../../docs/operate/settings.md'), 'utf8')).toBe(page);
});

test.each([
  ['a whole number with a unit and bounds', '| `http.stallMs` | ms, 100 to 3,600,000 | 30,000 |'],
  ['a number above a bound', '| `secretGraceHours` | hours, 0 to 8,760 | 24 |'],
  ['a choice', "| `unknownFields` | `'reject'`, `'strip'` | `'reject'` |"],
  [
    'an object or false',
    '| `rateLimit.auth` | `{ limit, windowMs }`, or `false` | `{ limit: 10, windowMs: 900000 }` |',
  ],
  ['a policy', "| `createPolicy` | [policy](../build/resources.md#policies) | `'authenticated'` |"],
  ['a member of a nested object', '| `lockout.maxAttempts` | whole number, 1 to 20 | 5 |'],
  [
    'a variable with the form that its error names',
    '| `PORT` | a number from 0 to 65535 | `5001` | The port of the web process. |',
  ],
  ['a variable that shares a comment', '| `PUSH_WORKER` | on or off | `on` | as above |'],
])('the page describes %s', (_what, row) => {
  expect(page).toContain(row);
});
