import { expect, test } from 'vitest';
import type { createApp, webhooks } from '../../../../src/index.ts';
import type { Person } from '../../../support/app.ts';
import { startWebhooksConsole } from './app.ts';

const { ask, running, settle, subscribe } = await startWebhooksConsole();
const { person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<[], [ReturnType<typeof webhooks>]>> &
  typeof running.app;

interface Explained {
  verdict: string;
  isDelivered: boolean;
  rules: { rule: string; result: string; text: string }[];
  deliveries: { id: string; status: string }[];
}

async function explain(endpoint: string, query: Record<string, string>, headers = {}): Promise<Explained> {
  const search = new URLSearchParams({ endpoint, ...query });
  const path = `/console/api/webhooks/explain?${search}`;
  const { status, body } = await running.call('GET', path, undefined, headers);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

const failedRules = ({ rules }: Explained) => rules.filter(({ result }) => result === 'fail').map(({ rule }) => rule);

async function write(owner: Person, values: object = {}): Promise<string> {
  const { body } = await owner.call('POST', '/api/notes', { text: 'x', ...values });
  return body.data.id;
}

test('a delivered event is explained by the id of its delivery, with every rule that it passed', async () => {
  const ada = await person('Ada');
  const endpoint = await subscribe(ada);
  await write(ada);
  const { id } = await settle(endpoint, 'succeeded');
  const found = await explain(endpoint, { event: id });
  expect(found).toMatchObject({ verdict: 'It was delivered, after 1 attempt', isDelivered: true });
  expect(found.rules.map(({ rule }) => rule)).toEqual([
    'Sent events',
    'Age',
    'Subscription',
    'Enabled',
    'Owner',
    'Scope filter',
    'Read policy',
  ]);
  expect(failedRules(found)).toEqual([]);
});

test('an explanation is German for a German page', async () => {
  const ada = await person('Ada');
  const endpoint = await subscribe(ada);
  await write(ada);
  const { id } = await settle(endpoint, 'succeeded');
  const found = await explain(endpoint, { event: id }, { 'belfry-language': 'de' });
  expect(found.verdict).toBe('Es wurde zugestellt, nach 1 Versuch');
  expect(found.rules).toMatchObject([
    { rule: 'Gesendete Ereignisse', result: 'pass', text: 'note.created wird an Webhooks gesendet' },
    { rule: 'Alter', text: 'Der Endpunkt ist älter als das Ereignis' },
    { rule: 'Abonnement', text: 'Der Endpunkt hat note.created abonniert' },
    { rule: 'Aktiv' },
    { rule: 'Besitzer' },
    { rule: 'Scope-Filter', text: 'Der Scope-Filter schließt den Datensatz ein' },
    { rule: 'Lese-Policy', text: 'Der Besitzer darf den Datensatz lesen (policies.read von note: owner)' },
  ]);
});

test('the first rule that fails explains why another endpoint did not get the event', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const endpoint = await subscribe(ada);
  const [other, deaf] = [await subscribe(bob), await subscribe(ada, ['note.deleted'])];
  const note = await write(ada);
  const { id: event } = await settle(endpoint, 'succeeded');
  const policy = await explain(other, { event });
  expect([failedRules(policy), policy.verdict]).toEqual([
    ['Read policy'],
    'The owner may not read the record (policies.read of note: owner)',
  ]);
  expect(failedRules(await explain(deaf, { event }))).toEqual(['Subscription']);
  await ask('PATCH', `/endpoints/${deaf}`, { enabled: false });
  expect(failedRules(await explain(deaf, { event }))).toEqual(['Subscription', 'Enabled']);
  const late = await subscribe(ada);
  expect(failedRules(await explain(late, { record: note, name: 'note.created' }))).toEqual([]);
});

test('an event is explained by its record: the scope filter, deleted records and unknown ones', async () => {
  const ada = await person('Ada');
  const endpoint = await subscribe(ada);
  const hidden = await app.service('note').create({ text: 'x', hidden: true, owner: ada.id });
  const scoped = await explain(endpoint, { record: hidden.id, name: 'note.created' });
  expect([failedRules(scoped), scoped.verdict]).toEqual([
    ['Scope filter'],
    'The scope filter of note hides the record from the owner',
  ]);
  const note = await write(ada);
  await settle(endpoint, 'succeeded');
  expect(await explain(endpoint, { record: note, name: 'note.created' })).toMatchObject({
    verdict: 'The last delivery of this record: It was delivered, after 1 attempt',
    isDelivered: false,
    deliveries: [{ status: 'succeeded' }],
  });
  await ada.call('DELETE', `/api/notes/${note}`);
  await settle(endpoint, 'succeeded');
  await expect
    .poll(async () => (await explain(endpoint, { record: note, name: 'note.deleted' })).deliveries.length, {
      timeout: 30_000,
    })
    .toBe(1);
  const unknown = await explain(endpoint, { record: '0'.repeat(24), name: 'note.created' });
  expect(unknown.rules.at(-1)).toMatchObject({ rule: 'Record', result: 'unknown' });
  expect(failedRules(await explain(endpoint, { record: note, name: 'user.exploded' }))).toContain('Sent events');
});

test('an event that the app published is explained by its receiver', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const endpoint = await subscribe(ada, ['invoice.*']);
  const publish = app.webhooks.publish as (name: string, data: object, options: object) => Promise<{ id: string }>;
  const { id } = await publish('invoice.paid', { invoice: 'A' }, { owner: bob.id });
  const found = await explain(endpoint, { event: id });
  expect([failedRules(found), found.verdict]).toEqual([['Receiver'], 'The event was published for another user']);
});

test('an endpoint that is bound to an API key is explained by the scopes of the key', async () => {
  const ada = await person('Ada');
  const { body: key } = await ada.call('POST', '/api/auth/api-keys', {
    name: 'key',
    scopes: ['webhooks:write', 'notes:read'],
  });
  const { body } = await running.call(
    'POST',
    '/api/webhooks',
    { url: 'http://127.0.0.1:9/', events: ['note.*'] },
    { authorization: `Bearer ${key.data.key}` },
  );
  const note = await write(ada);
  const passed = await explain(body.data.id, { record: note, name: 'note.created' });
  expect(passed.rules.filter(({ rule }) => rule.startsWith('Key') || rule === 'API key')).toMatchObject([
    { result: 'pass' },
    { result: 'pass' },
  ]);
  await ada.call('DELETE', `/api/auth/api-keys/${key.data.id}`);
  expect(failedRules(await explain(body.data.id, { record: note, name: 'note.created' }))).toContain('API key');
});

test('a question about nothing is refused, and events older than the log are said to be so', async () => {
  const endpoint = await subscribe(await person('Ada'));
  expect((await explain(endpoint, { event: '5f0000000000000000000000' })).verdict).toContain('older than 14 days');
  const fresh = Math.floor(Date.now() / 1000)
    .toString(16)
    .padEnd(24, '0');
  expect((await ask('GET', `/explain?endpoint=${endpoint}&event=${fresh}`)).body.error.code).toBe('NOT_FOUND');
  for (const query of [
    '',
    `endpoint=${endpoint}`,
    `endpoint=${endpoint}&event=x`,
    `endpoint=${endpoint}&record=${fresh}`,
  ])
    expect((await ask('GET', `/explain?${query}`)).status, query).toBe(400);
  expect((await ask('GET', `/explain?endpoint=${fresh}&event=${fresh}`)).status).toBe(404);
});
