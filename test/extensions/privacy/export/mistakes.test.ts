import { expect, test } from 'vitest';
import { defineResource, f, privacy } from '../../../../src/index.ts';
import { startupError } from '../../../support/startup-error.ts';

test.each([
  ['exportHours', 0],
  ['exportHours', 721],
  ['exportHours', '24'],
  ['exportsPerDay', 1.5],
  ['exportsPerDay', Number.NaN],
])('privacy({ %s: %o }) is a mistake', (name, value) => {
  const said = startupError({ resources: [], extensions: [privacy({ [name]: value })] });
  expect(said).toContain(`privacy.${name}: must be a whole number from 1 to`);
});

test('privacy() without accounts is a mistake', () => {
  const note = defineResource('note', { fields: { title: f.string() } });
  expect(startupError({ resources: [note], extensions: [privacy()] })).toContain('needs accounts, see defineUser');
});
