import { expect, test } from 'vitest';
import { defineExtension, defineResource, defineUser, f, privacy } from '../../../../src/index.ts';
import { getStartupError } from '../../../support/startup-error.ts';

test.each([
  ['exportTtl', '30m', 'must be a duration such as "30s", "15m", "12h" or "7d", from 1h to 30d'],
  ['exportTtl', '721h', 'must be a duration such as "30s", "15m", "12h" or "7d", from 1h to 30d'],
  ['exportTtl', '24', 'must be a duration such as "30s", "15m", "12h" or "7d", from 1h to 30d'],
  ['exportsPerDay', 1.5, 'must be a whole number from 1 to'],
  ['exportsPerDay', Number.NaN, 'must be a whole number from 1 to'],
])('privacy({ %s: %o }) is a configuration error', (name, value, error) => {
  const startupError = getStartupError({ resources: [], extensions: [privacy({ [name]: value })] });
  expect(startupError).toContain(`privacy.${name}: ${error}`);
});

test('privacy() without accounts is a configuration error', () => {
  const note = defineResource('note', { fields: { title: f.string() } });
  expect(getStartupError({ resources: [note], extensions: [privacy()] })).toContain('it needs accounts; declare');
});

test.each([
  ['../../etc/passwd', 'user data "../../etc/passwd": the name must be letters and digits in camelCase'],
  ['/root', 'user data "/root": the name must be letters'],
  ['', 'user data "": the name must be letters'],
  ['sessions', 'user data "sessions": two features use this name'],
])('user data with the name "%s" is a configuration error, because the name becomes a file name', (name, errorText) => {
  const data = { name, description: 'x', async *rows() {}, erase: async () => 0 };
  const hostile = defineExtension({ name: 'hostile', setup: () => ({ userData: [data] }) });
  expect(getStartupError({ resources: [defineUser()], extensions: [hostile, privacy()] })).toContain(errorText);
});
