// What the server says about webhooks on a German page. Names, codes and texts of the app stay, and other clients get English.
import { beforeAll, expect, test } from 'vitest';
import type { Person } from '../../../support/app.ts';
import { startWebhooksConsole } from './app.ts';

const GERMAN = { 'belfry-language': 'de' };
const { receiver, running, ask, subscribe, settle } = await startWebhooksConsole();
const { app, call, person } = running;
let ada: Person;
let endpoint: string;
let delivery: string;

beforeAll(async () => {
  receiver.answer(500);
  ada = await person('Ada');
  endpoint = await subscribe(ada);
  await ada.call('POST', '/api/notes', { text: 'x' });
  delivery = (await settle(endpoint, 'failed')).id;
});

const read = async (path: string) => (await ask('GET', path, undefined, GERMAN)).body.data;

test('errors of attempts are German in the console', async () => {
  expect(await read(`/endpoints/${endpoint}`)).toMatchObject({ lastError: 'Status 500', status: 'failing' });
  expect((await read('/endpoints'))[0]).toMatchObject({ lastError: 'Status 500' });
  expect((await read('/deliveries'))[0]).toMatchObject({ error: 'Status 500', type: 'note.created' });
  expect((await read(`/endpoints/${endpoint}/deliveries`))[0]).toMatchObject({ error: 'Status 500' });
  const attempted = { error: 'Status 500', attemptLog: [{ error: 'Status 500', statusCode: 500 }] };
  expect(await read(`/deliveries/${delivery}`)).toMatchObject(attempted);
});

test('errors of attempts are German for the portal, and as they are stored for other clients', async () => {
  const path = `/api/webhooks/${endpoint}`;
  const errors = async (headers: Record<string, string>) => [
    (await ada.call('GET', path, undefined, headers)).body.data.lastError,
    (await ada.call('GET', `${path}/deliveries`, undefined, headers)).body.data[0].attemptLog[0].error,
    (await ada.call('GET', `${path}/explain?event=${delivery}`, undefined, headers)).body.data.delivery.error,
  ];
  expect(await errors(GERMAN)).toEqual(['Status 500', 'Status 500', 'Status 500']);
  expect(await errors({ 'accept-language': 'de' })).toEqual(['status 500', 'status 500', 'status 500']);
});

test('explanations are German', async () => {
  const found = await read(`/explain?endpoint=${endpoint}&event=${delivery}`);
  expect(found.verdict).toBe('Es wurde versucht und ist nach 1 Versuch fehlgeschlagen: Status 500');
  expect(found.deliveries[0].error).toBe('Status 500');
  expect(found.rules).toContainEqual({
    rule: 'Lese-Policy',
    result: 'pass',
    text: 'Der Besitzer darf den Datensatz lesen (policies.read von note: owner)',
  });
  await ada.call('PATCH', `/api/webhooks/${endpoint}`, { enabled: false });
  const record = (await ada.call('GET', '/api/notes')).body.data[0].id;
  const disabled = await read(`/explain?endpoint=${endpoint}&record=${record}&name=note.updated`);
  expect(disabled.verdict).toBe('Der Endpunkt ist deaktiviert: ein Benutzer hat ihn deaktiviert');
});

test('descriptions of events are German, but not those of the app', async () => {
  const events = await read('/events');
  expect(events).toContainEqual({ name: 'note.created', description: 'note wurde erstellt' });
  expect(events).toContainEqual({ name: 'invoice.paid', description: 'An invoice was paid' });
  expect((await read('/event?name=note.restored')) ?? null).toBeNull();
  expect(await read('/event?name=note.deleted')).toMatchObject({ description: 'note wurde gelöscht' });
  const { body } = await call('GET', '/console/api/webhooks/events');
  expect(body.data).toContainEqual({ name: 'note.created', description: 'A note was created' });
});

test('what the receiver finds out about a signature is German', async () => {
  const { body } = await ask('POST', '/receiver/endpoints', { owner: ada.id, events: ['note.created'] });
  await app.service('note').create({ text: 'y', owner: ada.id });
  await expect.poll(async () => (await read('/receiver')).requests.length, { timeout: 30_000 }).toBeGreaterThan(0);
  const [request] = (await read('/receiver')).requests;
  expect(request.endpoint).toBe(body.data.id);
  const { verification } = await read(`/receiver/requests/${request.id}`);
  expect(verification).toEqual({ isValid: true, code: 'VALID', message: 'Die Signatur ist gültig' });
});
