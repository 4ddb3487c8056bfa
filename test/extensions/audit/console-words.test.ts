import { expect, test } from 'vitest';
import { actionChoices, actionInWords } from '../../../src/extensions/audit/console/words.ts';
import { adminConsole, audit, defineResource, defineUser, f } from '../../../src/index.ts';
import { toGerman } from '../../../src/platform/languages/de/index.ts';
import { startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { title: f.string(), author: f.ref('user').owner() },
  policies: { create: 'authenticated', update: 'owner' },
  audit: true,
});
const { call, person } = await startTestApp(
  { resources: [note, defineUser()], extensions: [audit(), adminConsole()] },
  { roles: 'all' },
);

test.each([
  ['created', 'Created'],
  ['updated', 'Changed'],
  ['auth.login', 'Signed in'],
  ['auth.email_changed', 'E-mail changed'],
  ['security.api_key_created', 'API key created'],
  ['console.endpointDisabled', 'Endpoint disabled'],
  ['webhook.secret_rotated', 'Webhook secret rotated'],
  ['constructor', 'Constructor'],
])('an action is shown in words: %s', (action, words) => {
  expect(actionInWords(action)).toBe(words);
});

test('the choices of the filter are sorted by their words, and those with the same words have their names', () => {
  expect(actionChoices(['updated', 'console.emailChanged', 'auth.email_changed', 'auth.login'])).toEqual([
    { action: 'updated', words: 'Changed' },
    { action: 'auth.email_changed', words: 'E-mail changed (auth.email_changed)' },
    { action: 'console.emailChanged', words: 'E-mail changed (console.emailChanged)' },
    { action: 'auth.login', words: 'Signed in' },
  ]);
  expect(actionChoices(['auth.email_changed', 'console.emailChanged'], toGerman)).toEqual([
    { action: 'auth.email_changed', words: 'E-Mail-Adresse geändert (auth.email_changed)' },
    { action: 'console.emailChanged', words: 'E-Mail-Adresse geändert (console.emailChanged)' },
  ]);
});

test('the console offers the actions and kinds of records that the trail contains, and its entries have words', async () => {
  const facts = async () => (await call('GET', '/console/api/audit/facts')).body.data;
  expect(await facts()).toEqual({ keepDays: 365, audited: ['note'], actions: [], resources: [] });
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/notes', { title: 'One' });
  await ann.call('PATCH', `/api/notes/${body.data.id}`, { title: 'Two' });
  await expect
    .poll(async () => (await facts()).actions, { timeout: 60_000 })
    .toEqual(
      expect.arrayContaining([
        { action: 'created', words: 'Created' },
        { action: 'updated', words: 'Changed' },
      ]),
    );
  await expect.poll(async () => (await facts()).resources).toEqual(['note', 'user']);
  const entries = (await call('GET', '/console/api/audit/entries?action=updated')).body.data;
  expect(entries).toMatchObject([{ action: 'updated', words: 'Changed', record: body.data.id }]);
  const german = { 'belfry-language': 'de' };
  const inGerman = await call('GET', '/console/api/audit/entries?action=updated', undefined, german);
  expect(inGerman.body.data).toMatchObject([{ action: 'updated', words: 'Geändert' }]);
  const { actions } = (await call('GET', '/console/api/audit/facts', undefined, german)).body.data;
  expect(actions).toContainEqual({ action: 'auth.registered', words: 'Registriert' });
});
