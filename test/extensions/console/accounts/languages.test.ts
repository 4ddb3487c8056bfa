// What the server says in the console of a German page: labels and words of panels, but no data.
import { expect, test } from 'vitest';
import { panelsOf, startAccountsApp } from './accounts-app.ts';

const API = '/console/api/accounts';
const GERMAN = { 'belfry-language': 'de' };
const { call, person, insertPasskey } = await startAccountsApp('development');
const ada = await person('Ada');
await insertPasskey(ada.id, 'On');

const panelsFor = async (headers: Record<string, string>) =>
  panelsOf((await call('GET', `${API}/users/${ada.id}`, undefined, headers)).body.data);

test('panels have German labels, questions and words; data stays', async () => {
  const panels = await panelsFor(GERMAN);
  expect(panels.passkeys).toMatchObject({
    columns: [
      { name: 'name', label: 'Name' },
      { name: 'kind', label: 'Art', kind: 'text' },
      { name: 'createdAt', label: 'Hinzugefügt', kind: 'time' },
      { name: 'lastUsedAt', label: 'Zuletzt verwendet', kind: 'time' },
    ],
    rows: [{ values: { name: 'On', kind: 'Zwischen Geräten synchronisiert' } }],
    rowActions: [
      { label: 'Entfernen', confirm: { title: 'Diesen Passkey entfernen?' }, done: 'Der Passkey ist entfernt' },
    ],
  });
  expect(panels.password).toMatchObject({
    label: 'Passwort und fehlgeschlagene Anmeldungen',
    facts: [
      { label: 'Passwort', value: 'Gesetzt', kind: 'text', tone: 'good' },
      { label: 'Fehlgeschlagene Anmeldungen', value: 'Keine' },
    ],
  });
  expect(panels.sessions).toMatchObject({ empty: expect.stringMatching(/^Nirgends angemeldet/) });
});

test('panels stay English for other pages', async () => {
  const panels = await panelsFor({ 'accept-language': 'de' });
  expect(panels.passkeys).toMatchObject({
    columns: [{}, { name: 'kind', label: 'Kind', kind: 'text' }, {}, {}],
    rows: [{ values: { name: 'On', kind: 'Synced between devices' } }],
  });
});

test('sections and columns of the list are German', async () => {
  const { body } = await call('GET', `${API}/facts`, undefined, GERMAN);
  expect(body.data.summaries).toContainEqual({ id: 'two-factor', label: 'Zwei-Faktor', kind: 'text' });
  const invitations = body.data.sections.find(({ id }: { id: string }) => id === 'invitations');
  expect(invitations).toMatchObject({
    label: 'Einladungen',
    states: [{ label: 'Offen' }, { label: 'Abgelaufen' }, { label: 'Angenommen' }],
    form: { label: 'Benutzer einladen', fields: [{ name: 'email', label: 'E-Mail-Adresse', kind: 'email' }, {}] },
  });
  expect(invitations.form).not.toHaveProperty('input');
  const english = await call('GET', `${API}/facts`);
  expect(english.body.data.sections.map(({ label }: { label: string }) => label)).toContain('Invitations');
});

test('the words in the rows of a section are German', async () => {
  const email = 'locked@example.com';
  for (const _ of [1, 2]) await call('POST', '/api/auth/login', { email, password: 'wrong' });
  const { body } = await call('GET', `${API}/sections/lockouts?search=${email}`, undefined, GERMAN);
  expect(body.data).toMatchObject([{ id: email, values: { address: email, failures: '2 von 3' } }]);
});
