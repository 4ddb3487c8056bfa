import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import {
  createApp,
  defineResource,
  defineUser,
  emailVerification,
  f,
  invitations,
  securityMails,
  webhooks,
} from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const GERMAN = { 'accept-language': 'de-AT, en;q=0.5' };
const ENGLISH = { 'accept-language': 'en-GB' };
const PASSWORD = 'correct horse battery';

const note = defineResource('note', { fields: { title: f.string() }, policies: { create: 'public' } });
const extensions = [emailVerification(), securityMails(), invitations({ policy: 'authenticated' }), webhooks()];
const { app, call, person } = await startTestApp(
  { resources: [defineUser(), note], extensions, languages: ['en', 'de'] },
  { roles: 'all' },
);

let count = 0;
const newAddress = () => `reader-${++count}@example.com`;
/** Waits for the e-mail of a kind to an address, and returns the language in which it is written. */
async function languageOf(
  to: string,
  subjects: RegExp,
  from: Pick<typeof app, 'captured'> = app,
): Promise<string | undefined> {
  const find = async () => (await from.captured.mails()).find((mail) => mail.to === to && subjects.test(mail.subject));
  await expect.poll(find, { timeout: 60_000, interval: 20 }).toBeDefined();
  return /^<div lang="(\w+)"/.exec((await find())!.html)?.[1];
}

const VERIFY = /Verify your|Bestätigen Sie Ihre/;
const RESET = /Choose a new password|Wählen Sie ein neues/;
const CHANGED = /password was changed|Passwort wurde geändert/;

test.each([
  [GERMAN, 'de'],
  [ENGLISH, 'en'],
  [{ 'accept-language': 'fr' }, 'en'],
  [{ 'accept-language': 'fr, de', 'belfry-language': 'de' }, 'de'],
])('the first e-mail to a new user is in the language of the registration: %j', async (headers, language) => {
  const email = newAddress();
  const { status } = await call('POST', '/api/auth/register', { name: 'Ada', email, password: PASSWORD }, headers);
  expect(status).toBe(201);
  expect(await languageOf(email, VERIFY)).toBe(language);
});

test('the event of a new user has the locale of the registration, and events of other resources have none', async () => {
  // Without a relay, the events stay.
  const quiet = await startTestApp({ resources: [defineUser(), note] });
  const sql = new Client({ connectionString: quiet.env.DATABASE_URL! });
  await sql.connect();
  onTestFinished(() => sql.end());
  const body = { name: 'Ada', email: newAddress(), password: PASSWORD };
  const registered = await quiet.call('POST', '/api/auth/register', body, GERMAN);
  const signedIn = { ...GERMAN, authorization: `Bearer ${registered.body.data.token}` };
  expect((await quiet.call('POST', '/api/notes', { title: 'x' }, signedIn)).status).toBe(201);
  await quiet.app.service('user').create({ name: 'Ben', email: newAddress(), password: PASSWORD });
  const { rows } = await sql.query('select name, payload from outbox order by id');
  expect(rows.map(({ name, payload: { record, ...others } }) => [name, others])).toEqual([
    ['user.created', { locale: 'de-AT' }],
    ['note.created', {}],
    ['user.created', {}],
  ]);
});

test('a reset link is in the language of the request, whatever the language of the registration', async () => {
  const email = newAddress();
  await call('POST', '/api/auth/register', { name: 'Ada', email, password: PASSWORD }, ENGLISH);
  await call('POST', '/api/auth/password/forgot', { email }, GERMAN);
  expect(await languageOf(email, RESET)).toBe('de');
});

test('an e-mail about the security of an account is in the language of the request that changed it', async () => {
  const ada = await person('Ada');
  const body = { currentPassword: PASSWORD, newPassword: 'another horse battery' };
  expect((await ada.call('POST', '/api/auth/password', body, GERMAN)).status).toBe(204);
  expect(await languageOf(ada.email, CHANGED)).toBe('de');
});

test('an e-mail about a new endpoint is in the language of the request', async () => {
  const ada = await person('Ada');
  const body = { url: 'https://hooks.example.com/', events: ['note.created'] };
  expect((await ada.call('POST', '/api/webhooks', body, GERMAN)).status).toBe(201);
  expect(await languageOf(ada.email, /endpoint was created|Webhook-Endpunkt erstellt/)).toBe('de');
});

test('an invitation is in the language of the member who invites', async () => {
  const [ada, email] = [await person('Ada'), newAddress()];
  expect((await ada.call('POST', '/api/invitations', { email }, GERMAN)).status).toBe(201);
  expect(await languageOf(email, /invited|eingeladen/)).toBe('de');
});

test('an e-mail that no request caused, or that was stored before, is in the default language', async () => {
  const [ada, ben] = [await person('Ada'), await person('Ben')];
  await app.mail.sendComposed('password-changed', { userId: ada.id, ip: '' });
  expect(await languageOf(ada.email, CHANGED)).toBe('en');
  await app.mail.sendComposed('password-changed', { userId: ben.id, ip: '', locale: { evil: true } });
  expect(await languageOf(ben.email, CHANGED)).toBe('en');
});

test('the field locale of the user comes before the language of the request, and the first language of the app is its default', async () => {
  const resources = [defineUser({ fields: { locale: f.string().max(35) } })];
  const other = await startTestApp(
    { resources, extensions: [securityMails()], languages: ['de', 'en'] },
    { roles: 'all' },
  );
  const register = async (locale: string | null, headers: Record<string, string>) => {
    const email = newAddress();
    const body = { name: 'Ada', email, password: PASSWORD, locale };
    const made = await other.call('POST', '/api/auth/register', body, headers);
    await other.call('POST', '/api/auth/password/forgot', { email }, headers);
    return { email, id: made.body.data.user.id as string };
  };
  expect(await languageOf((await register('en', GERMAN)).email, RESET, other.app)).toBe('en');
  expect(await languageOf((await register('de', ENGLISH)).email, RESET, other.app)).toBe('de');
  const { id, email } = await register(null, ENGLISH);
  expect(await languageOf(email, RESET, other.app)).toBe('en');
  await other.app.mail.sendComposed('password-changed', { userId: id, ip: '' });
  expect(await languageOf(email, CHANGED, other.app)).toBe('de');
});

test('an app that names no languages writes in English', async () => {
  const other = await startTestApp({ resources: [defineUser()] }, { roles: 'all' });
  const ada = await other.person('Ada');
  await other.call('POST', '/api/auth/password/forgot', { email: ada.email }, GERMAN);
  expect(await languageOf(ada.email, RESET, other.app)).toBe('en');
});

test('mail.locale may still name another language than the app', () => {
  const environment = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' };
  const settings = { mail: { locale: 'fr' } };
  expect(() => createApp({ resources: [defineUser()], languages: ['en'], settings }, environment)).not.toThrow();
});
