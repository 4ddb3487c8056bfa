// The language of the messages in responses: `Accept-Language` if the app has languages, and `Belfry-Language` of Belfry's own pages.
import { expect, test } from 'vitest';
import {
  ApiError,
  defineResource,
  defineUser,
  emailSignIn,
  emailVerification,
  f,
  softDelete,
} from '../../../src/index.ts';
import { type Client, startTestApp } from '../../support/app.ts';

const room = defineResource('room', {
  fields: {
    name: f.string().required().max(10).unique(),
    seats: f.integer().min(1).filterable(),
    note: f.string().check((value) => (value === 'full' ? 'Room 7 is full' : true)),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  softDelete: true,
  routes: (route) => [
    route.get('/full', { policy: 'public' }, () => {
      throw new ApiError('CONFLICT', 'Room 7 is full');
    }),
    route.get('/echo', { policy: 'public' }, ({ query }) => {
      throw new ApiError('CONFLICT', String(query.text));
    }),
    route.get('/broken', { policy: 'public' }, () => {
      throw new Error('a secret');
    }),
  ],
});
const declared = {
  resources: [defineUser(), room],
  extensions: [softDelete(), emailVerification(), emailSignIn()],
} as const;

const plain = await startTestApp(declared);
const translated = await startTestApp({
  ...declared,
  languages: ['en', 'de'],
  messages: { de: { 'Room {number} is full': 'Raum {number} ist voll' } },
});

const GERMAN = { 'accept-language': 'de-CH, en;q=0.5' };
const GERMAN_PAGE = { 'belfry-language': 'de' };
const create = (call: Client, body: object, headers: Record<string, string>) =>
  call('POST', '/api/rooms', body, headers);

test('with languages, a client that prefers German gets German', async () => {
  const { status, headers, body } = await create(translated.call, { seats: 0, extra: 1, name: 'x'.repeat(11) }, GERMAN);
  expect(status).toBe(422);
  expect(body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: 'Die Anfrage ist ungültig',
    details: { seats: 'Muss mindestens 1 sein', extra: 'Unbekanntes Feld', name: 'Darf höchstens 10 Zeichen haben' },
  });
  expect(headers.get('content-language')).toBe('de');
  expect(headers.get('vary')).toContain('Accept-Language');
});

test.each([
  ['en', 'en'],
  ['fr', 'en'],
  ['en, de;q=0.9', 'en'],
  ['de;q=0', 'en'],
  ['en;q=0.1, de-AT', 'de'],
])('a client that accepts %s gets %s', async (accepted, language) => {
  const { headers, body } = await translated.call('GET', '/api/nothing', undefined, { 'accept-language': accepted });
  expect(headers.get('content-language')).toBe(language);
  expect(headers.get('vary')).toContain('Accept-Language');
  expect(body.error.message).toBe(language === 'de' ? 'Nicht gefunden' : 'Not found');
});

test('without languages, nothing depends on the client', async () => {
  const inGerman = await create(plain.call, {}, GERMAN);
  const inEnglish = await create(plain.call, {}, {});
  expect(inGerman.body.error).toEqual({ ...inEnglish.body.error, requestId: inGerman.body.error.requestId });
  expect(inGerman.body.error.details).toEqual({ name: 'Is required' });
  expect([...inGerman.headers.keys()].sort()).toEqual([...inEnglish.headers.keys()].sort());
  expect(inGerman.headers.has('content-language')).toBe(false);
  expect(inGerman.headers.has('vary')).toBe(inEnglish.headers.has('vary'));
});

test('a page of Belfry gets its language even if the app has no languages', async () => {
  const { headers, body } = await create(plain.call, {}, GERMAN_PAGE);
  expect(body.error.details).toEqual({ name: 'Ist erforderlich' });
  expect(headers.get('content-language')).toBe('de');
  expect(headers.get('vary') ?? '').not.toContain('Accept-Language');
});

test('the language of a page is preferred to that of its browser', async () => {
  const { body } = await create(translated.call, {}, { ...GERMAN, 'belfry-language': 'en' });
  expect(body.error.message).toBe('The request is invalid');
});

test.each(['fr', 'DE', 'de-DE', 'de, de', '__proto__', '<script>'])('the page language %s is ignored', async (name) => {
  const { body, headers } = await create(plain.call, {}, { 'belfry-language': name });
  expect(body.error.message).toBe('The request is invalid');
  expect(headers.has('content-language')).toBe(false);
});

test('successful responses have no language', async () => {
  const { status, headers } = await translated.call('GET', '/api/rooms', undefined, GERMAN);
  expect(status).toBe(200);
  expect(headers.has('content-language')).toBe(false);
  expect(headers.get('vary') ?? '').not.toContain('Accept-Language');
});

test('the app translates its own messages, also those of fields', async () => {
  expect((await translated.call('GET', '/api/rooms/full', undefined, GERMAN)).body.error.message).toBe(
    'Raum 7 ist voll',
  );
  const { body } = await create(translated.call, { name: 'a', note: 'full' }, GERMAN);
  expect(body.error.details).toEqual({ note: 'Raum 7 ist voll' });
  expect((await translated.call('GET', '/api/rooms/full')).body.error.message).toBe('Room 7 is full');
});

test('an unknown message stays, and its values are no templates', async () => {
  const echo = async (text: string) =>
    (await translated.call('GET', `/api/rooms/echo?text=${encodeURIComponent(text)}`, undefined, GERMAN)).body.error
      .message;
  expect(await echo('Room {number} is full')).toBe('Raum {number} ist voll');
  expect(await echo('What is {number}?')).toBe('What is {number}?');
  expect(await echo('Room $& is full')).toBe('Raum $& ist voll');
});

test('the text by which clients recognize an ended session is the same in every language', async () => {
  const { status, body } = await translated.call('GET', '/api/auth/me', undefined, {
    ...GERMAN,
    authorization: `Bearer ${'a'.repeat(43)}`,
  });
  expect(status).toBe(401);
  expect(body.error.message).toBe('Session is invalid or has expired');
});

test('an unexpected error reveals nothing in German either', async () => {
  const { status, body } = await translated.call('GET', '/api/rooms/broken', undefined, GERMAN);
  expect(status).toBe(500);
  expect(body.error).toEqual({
    code: 'INTERNAL',
    message: 'Etwas ist schiefgegangen',
    requestId: body.error.requestId,
  });
});

test.each<[method: string, path: string, message: string]>([
  [
    'GET',
    '/api/rooms?seats[near]=1',
    'Das Feld „seats“ lässt sich nicht mit „near“ filtern; seine Operatoren: eq, ne, in, nin, exists, gt, gte, lt, lte',
  ],
  ['GET', '/api/rooms?limit=0', 'Der Query-Parameter „limit“ muss eine ganze Zahl von 1 bis 100 sein'],
  [
    'GET',
    '/api/rooms?%zz',
    'Der Query-String ist fehlerhaft: Jedes % muss ein prozentkodiertes UTF-8-Zeichen beginnen, etwa %20',
  ],
  ['PUT', '/api/rooms', 'Dieser Pfad unterstützt diese Methode nicht'],
  ['GET', '/api/users', 'Sie müssen angemeldet sein'],
  ['GET', '/api/rooms/%zz', 'Nicht gefunden'],
])('%s %s is refused in German', async (method, path, message) => {
  const { body } = await translated.call(method, path, undefined, GERMAN);
  expect(body.error.message).toBe(message);
});

test('a malformed body is refused in German', async () => {
  const { body } = await translated.call('POST', '/api/rooms', '{', GERMAN);
  expect(body.error).toMatchObject({ code: 'INVALID_JSON', message: 'Der Body ist kein gültiges JSON' });
});

test('each item of a batch has its error in German', async () => {
  const operations = [
    { op: 'create', data: { name: 'batch' } },
    { op: 'create', data: { name: 'batch' } },
    { op: 'create', data: { seats: 0 } },
    { op: 'update', id: 'f'.repeat(24), data: {} },
  ];
  const { status, body } = await translated.call('POST', '/api/rooms/batch', { mode: 'perItem', operations }, GERMAN);
  expect(status).toBe(200);
  expect(body.data.slice(1)).toEqual([
    {
      status: 409,
      error: {
        code: 'CONFLICT',
        message: 'Dieser Wert ist bereits vergeben',
        details: { name: 'Ist bereits vergeben' },
      },
    },
    {
      status: 422,
      error: {
        code: 'VALIDATION_ERROR',
        message: 'Die Anfrage ist ungültig',
        details: { seats: 'Muss mindestens 1 sein', name: 'Ist erforderlich' },
      },
    },
    { status: 404, error: { code: 'NOT_FOUND', message: 'Nicht gefunden' } },
  ]);
});

test('an atomic batch names the failed items in German', async () => {
  const operations = [{ op: 'create', data: { seats: 0 } }];
  const { body } = await translated.call('POST', '/api/rooms/batch', { operations }, GERMAN);
  expect(body.error).toMatchObject({
    message: 'Die Anfrage ist ungültig',
    details: { 'operations.0.seats': 'Muss mindestens 1 sein', 'operations.0.name': 'Ist erforderlich' },
  });
});

test('a repeated request gets its stored error in the language in which it asks', async () => {
  const ada = await translated.person('Ada');
  const key = { 'idempotency-key': 'languages' };
  const send = (headers: object) =>
    ada.call('DELETE', `/api/auth/sessions/${'f'.repeat(24)}`, undefined, { ...key, ...headers });
  expect((await send(GERMAN)).body.error.message).toBe('Nicht gefunden');
  expect((await send({})).body.error.message).toBe('Not found');
});

test('the messages of a successful request for an e-mail are in German', async () => {
  const email = 'nobody@example.com';
  const forgot = await plain.call('POST', '/api/auth/password/forgot', { email }, GERMAN_PAGE);
  expect(forgot.body.data.message).toMatch(/^Wenn es ein Konto mit dieser E-Mail-Adresse gibt/);
  const link = await plain.call('POST', '/api/auth/email-sign-in', { email }, GERMAN_PAGE);
  expect(link.body.data.message).toMatch(/^Wenn Sie sich mit dieser E-Mail-Adresse anmelden können/);
  const inEnglish = await plain.call('POST', '/api/auth/password/forgot', { email }, GERMAN);
  expect(inEnglish.body.data.message).toMatch(/^If there is an account/);
});

test('a sign-in fails in German', async () => {
  const { body } = await plain.call(
    'POST',
    '/api/auth/login',
    { email: 'a@example.com', password: 'wrong' },
    GERMAN_PAGE,
  );
  expect(body.error.message).toBe('E-Mail-Adresse oder Passwort ist falsch');
});
