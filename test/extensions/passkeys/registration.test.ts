import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, passkeys } from '../../../src/index.ts';
import { readContract } from '../../runtime/openapi/contract.ts';
import { startTestApp } from '../../support/app.ts';
import { createPasskey, type Deviations } from '../../support/passkeys/authenticator.ts';
import { ageSessions, expireChallenges, PASSWORD, register, signIn, withPasskey } from './passkey-user.ts';

const events: [string, Record<string, unknown>][] = [];
const { person, call, env, url } = await startTestApp({
  resources: [defineUser()],
  extensions: [passkeys({ maxPasskeysPerUser: 3 })],
  listeners: (app) => {
    for (const name of ['security.passkey_added', 'security.passkey_removed'])
      app.on(name, (payload) => void events.push([name, payload as Record<string, unknown>]));
  },
});
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const eventsOf = ({ id }: { id: string }) => events.filter(([, { userId }]) => userId === id);
const dropPassword = ({ id }: { id: string }) => database.query(`update users set password = '!' where id = $1`, [id]);

test('the options require a discoverable passkey with user verification, without attestation, and name the user by id', async () => {
  const ann = await person('Ann');
  const { status, headers, body } = await ann.call('POST', '/api/auth/passkeys/options');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toMatchObject({
    challenge: expect.stringMatching(/^[\w-]{43}$/),
    rp: { id: 'localhost' },
    user: { id: Buffer.from(ann.id).toString('base64url'), name: ann.email, displayName: 'Ann' },
    attestation: 'none',
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    pubKeyCredParams: [-8, -7, -257].map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: [],
    timeout: 300_000,
  });
  const again = await ann.call('POST', '/api/auth/passkeys/options');
  expect(again.body.data.challenge).not.toBe(body.data.challenge);
});

test('a registered passkey is listed, excluded from further registrations, can be renamed, and emits an event', async () => {
  const bob = await person('Bob');
  const passkey = createPasskey();
  const { status, body } = await register(bob, passkey, {}, '  Phone ');
  const record = {
    id: expect.stringMatching(/^[0-9a-f]{24}$/),
    name: 'Phone',
    createdAt: expect.any(String),
    lastUsedAt: null,
    backedUp: true,
    deviceType: 'multiDevice',
    transports: ['internal', 'hybrid'],
  };
  expect([status, body.data]).toEqual([201, record]);
  const { id } = body.data;
  expect(eventsOf(bob)).toEqual([
    ['security.passkey_added', { userId: bob.id, passkeyId: id, name: 'Phone', ip: expect.any(String) }],
  ]);
  const options = await bob.call('POST', '/api/auth/passkeys/options');
  expect(options.body.data.excludeCredentials).toEqual([
    { id: passkey.id, type: 'public-key', transports: ['internal', 'hybrid'] },
  ]);
  const renamed = await bob.call('PATCH', `/api/auth/passkeys/${id}`, { name: 'Old phone' });
  expect([renamed.status, renamed.body.data.name]).toEqual([200, 'Old phone']);
  expect((await bob.call('GET', '/api/auth/passkeys')).body.data).toEqual([{ ...record, name: 'Old phone' }]);
});

test('a passkey without a name is called Passkey, and odd transports are left out', async () => {
  const cleo = await person('Cleo');
  const key = createPasskey({ synced: false, counts: true });
  const { body } = await register(cleo, key, { transports: ['usb', 'usb', 'Über', 'nfc', ''] });
  expect(body.data).toMatchObject({
    name: 'Passkey',
    deviceType: 'singleDevice',
    backedUp: false,
    transports: ['usb', 'nfc'],
  });
});

test('routes that add or remove a passkey require a recent sign-in; a list and a rename do not', async () => {
  const dan = await withPasskey(await person('Dan'));
  await ageSessions(dan, database);
  const path = `/api/auth/passkeys/${dan.passkeyId}`;
  for (const [method, where, input] of [
    ['POST', '/api/auth/passkeys/options'],
    ['POST', '/api/auth/passkeys', { response: {} }],
    ['DELETE', path],
  ] as const) {
    const { status, body } = await dan.call(method, where, input);
    expect([status, body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  }
  expect((await dan.call('GET', '/api/auth/passkeys')).body.data).toHaveLength(1);
  expect((await dan.call('PATCH', path, { name: 'Key' })).status).toBe(200);
});

test('every route for signed-in users refuses a client without a session', async () => {
  for (const [method, path] of [
    ['POST', '/api/auth/passkeys/options'],
    ['POST', '/api/auth/passkeys'],
    ['GET', '/api/auth/passkeys'],
    ['PATCH', '/api/auth/passkeys/0123456789abcdef01234567'],
    ['DELETE', '/api/auth/passkeys/0123456789abcdef01234567'],
    ['POST', '/api/auth/passkeys/confirm/options'],
    ['POST', '/api/auth/passkeys/confirm'],
  ] as const)
    expect([path, (await call(method, path, method === 'GET' ? undefined : {})).status]).toEqual([path, 401]);
});

const refusedCreations: [string, Deviations, string][] = [
  ['an origin of another site', { origin: 'https://evil.example' }, 'origins'],
  ['an origin with another port', { origin: 'http://localhost:5002' }, 'origins'],
  ['a frame of another origin', { crossOrigin: true }, 'frame'],
  ['a page of another origin around the frame', { topOrigin: 'https://evil.example' }, 'frame'],
  ['another domain', { rpId: 'evil.example' }, 'user verification'],
  ['no user verification', { userVerified: false }, 'user verification'],
  ['no user presence', { userPresent: false }, 'user verification'],
  ['a use instead of a creation', { type: 'webauthn.get' }, 'user verification'],
  ['a backed-up passkey that cannot be backed up', { backupEligible: false, backedUp: true }, 'user verification'],
];

test.each(refusedCreations)(
  'a registration with %s is refused with 422, and its challenge is used up',
  async (_, deviations, reason) => {
    const eve = await person('Eve');
    const passkey = createPasskey();
    const { body } = await eve.call('POST', '/api/auth/passkeys/options');
    const refused = await eve.call('POST', '/api/auth/passkeys', { response: passkey.create(body.data, deviations) });
    expect([refused.status, refused.body.error.details]).toEqual([422, { response: expect.stringContaining(reason) }]);
    const honest = await eve.call('POST', '/api/auth/passkeys', { response: passkey.create(body.data) });
    expect([honest.status, honest.body.error.code]).toEqual([400, 'INVALID_TOKEN']);
    expect((await eve.call('GET', '/api/auth/passkeys')).body.data).toEqual([]);
  },
);

test('an attestation statement is ignored, because Belfry requests none and trusts no maker', async () => {
  const fay = await person('Fay');
  const attStmt = new Map<string, string>([['x5c', 'not a certificate']]);
  for (const fmt of ['packed', 'android-safetynet', 'unknown']) {
    const { status } = await register(fay, createPasskey(), { attestation: { fmt, attStmt } });
    expect([fmt, status]).toEqual([fmt, 201]);
  }
});

test('a challenge registers one passkey, however many requests answer it at the same time', async () => {
  const gus = await person('Gus');
  const { body } = await gus.call('POST', '/api/auth/passkeys/options');
  const responses = await Promise.all(
    Array.from({ length: 8 }, () =>
      gus.call('POST', '/api/auth/passkeys', { response: createPasskey().create(body.data) }),
    ),
  );
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(400)]);
  const refused = responses.find(({ status }) => status === 400)!;
  expect(refused.body.error).toMatchObject({
    code: 'INVALID_TOKEN',
    message: 'This registration is no longer valid; start again',
  });
});

test('a challenge of another user, of another session, of another purpose, or an expired or invented one is refused', async () => {
  const [hal, ida] = [await withPasskey(await person('Hal')), await person('Ida')];
  const passkey = createPasskey();
  const answer = async (from: { call: typeof call }, to: { call: typeof call }) => {
    const { body } = await from.call('POST', '/api/auth/passkeys/options');
    return to.call('POST', '/api/auth/passkeys', { response: passkey.create(body.data) });
  };
  const { token } = (await call('POST', '/api/auth/login', { email: ida.email, password: PASSWORD })).body.data;
  const otherSession: typeof call = (method, path, body) =>
    call(method, path, body, { authorization: `Bearer ${token}` });
  const confirmation = (await hal.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  const signInChallenge = (await call('POST', '/api/auth/passkeys/sign-in/options')).body.data.options;
  const expired = (await ida.call('POST', '/api/auth/passkeys/options')).body.data;
  await expireChallenges(database);
  const user = { id: Buffer.from(hal.id).toString('base64url') };
  const responses = [
    await answer(hal, ida),
    await answer(ida, { call: otherSession }),
    await hal.call('POST', '/api/auth/passkeys', { response: passkey.create({ ...confirmation, user }) }),
    await hal.call('POST', '/api/auth/passkeys', { response: passkey.create({ ...signInChallenge, user }) }),
    await ida.call('POST', '/api/auth/passkeys', { response: passkey.create(expired) }),
    await ida.call('POST', '/api/auth/passkeys', {
      response: passkey.create({ challenge: 'A'.repeat(43), rpId: 'localhost', user }),
    }),
  ];
  expect(responses.map(({ body }) => body.error?.code)).toEqual(Array(6).fill('INVALID_TOKEN'));
});

test('a passkey can be registered once, by one user', async () => {
  const [jan, kim] = [await withPasskey(await person('Jan')), await person('Kim')];
  for (const one of [jan, kim]) {
    const { status, body } = await register(one, jan.passkey);
    expect([status, body.error.code, body.error.message]).toEqual([
      409,
      'CONFLICT',
      'This passkey is already registered',
    ]);
  }
  const shared = createPasskey();
  const [lea, max] = [await person('Lea'), await person('Max')];
  const results = await Promise.all([lea, max].map((one) => register(one, shared)));
  expect(results.map(({ status }) => status).sort()).toEqual([201, 409]);
});

test('a user has at most the maximum number of passkeys, also if they are added at the same time', async () => {
  const ned = await person('Ned');
  const options = await Promise.all(
    Array.from({ length: 6 }, async () => (await ned.call('POST', '/api/auth/passkeys/options')).body.data),
  );
  const results = await Promise.all(
    options.map((one) => ned.call('POST', '/api/auth/passkeys', { response: createPasskey().create(one) })),
  );
  expect(results.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409]);
  expect(results.find(({ status }) => status === 409)!.body.error).toMatchObject({
    code: 'LIMIT_REACHED',
    message: 'You can have at most 3 passkeys; remove one first',
  });
  expect((await ned.call('POST', '/api/auth/passkeys/options')).body.error.code).toBe('LIMIT_REACHED');
});

test('a removed passkey no longer signs in, and its removal emits an event', async () => {
  const ola = await withPasskey(await person('Ola'));
  expect((await ola.call('DELETE', `/api/auth/passkeys/${ola.passkeyId}`)).status).toBe(204);
  expect((await ola.call('GET', '/api/auth/passkeys')).body.data).toEqual([]);
  expect((await signIn(call, ola.passkey)).status).toBe(401);
  expect(eventsOf(ola)).toContainEqual([
    'security.passkey_removed',
    { userId: ola.id, passkeyId: ola.passkeyId, name: 'Passkey', ip: expect.any(String) },
  ]);
});

test('a passkey of another user is not found, and neither is a malformed id', async () => {
  const [pat, quin] = [await withPasskey(await person('Pat')), await person('Quin')];
  for (const id of [pat.passkeyId, 'x', '%00', '0123456789abcdef01234567']) {
    expect([id, (await quin.call('DELETE', `/api/auth/passkeys/${id}`)).status]).toEqual([id, 404]);
    expect([id, (await quin.call('PATCH', `/api/auth/passkeys/${id}`, { name: 'Mine' })).status]).toEqual([id, 404]);
  }
  expect((await pat.call('GET', '/api/auth/passkeys')).body.data).toMatchObject([{ name: 'Passkey' }]);
});

test('a passkey counts as a way to sign in, and the last way cannot be removed, even by two requests at the same time', async () => {
  const rex = await person('Rex');
  const methods = async () => (await rex.call('GET', '/api/auth/sign-in-methods')).body.data;
  expect(await methods()).toEqual(['password']);
  const ids = [
    (await register(rex, createPasskey())).body.data.id,
    (await register(rex, createPasskey())).body.data.id,
  ];
  expect(await methods()).toEqual(['password', 'passkey']);
  await dropPassword(rex);
  expect(await methods()).toEqual(['passkey']);
  const removals = await Promise.all(ids.map((id) => rex.call('DELETE', `/api/auth/passkeys/${id}`)));
  expect(removals.map(({ status }) => status).sort()).toEqual([204, 409]);
  expect(await methods()).toEqual(['passkey']);
});

test('names are checked like other inputs', async () => {
  const sam = await withPasskey(await person('Sam'));
  for (const [name, message] of [
    [undefined, 'Is required'],
    ['  ', 'Is required'],
    [7, 'Must be a string'],
    ['x'.repeat(65), 'Must be at most 64 characters'],
    ['a\0b', 'Must not contain NUL or broken characters'],
  ]) {
    const { status, body } = await sam.call('PATCH', `/api/auth/passkeys/${sam.passkeyId}`, { name });
    expect([status, body.error.details]).toEqual([422, { name: message }]);
  }
  const { body } = await sam.call('PATCH', `/api/auth/passkeys/${sam.passkeyId}`, { name: 'A', backedUp: false });
  expect(body.error.details).toEqual({ backedUp: expect.any(String) });
});

test('the OpenAPI document describes the routes and their responses', async () => {
  const contract = await readContract(url);
  const tom = await person('Tom');
  const passkey = createPasskey();
  const options = await tom.call('POST', '/api/auth/passkeys/options');
  contract.check('startPasskeyRegistration', options);
  const added = await tom.call('POST', '/api/auth/passkeys', { response: passkey.create(options.body.data) });
  contract.check('addPasskey', added);
  contract.check('listMyPasskeys', await tom.call('GET', '/api/auth/passkeys'));
  const path = `/api/auth/passkeys/${added.body.data.id}`;
  contract.check('renameMyPasskey', await tom.call('PATCH', path, { name: 'Key' }));
  contract.check('startPasskeySignIn', await call('POST', '/api/auth/passkeys/sign-in/options'));
  contract.check('signInWithPasskey', await signIn(call, passkey));
  contract.check('startPasskeyConfirmation', await tom.call('POST', '/api/auth/passkeys/confirm/options'));
  contract.check('removeMyPasskey', await tom.call('DELETE', path));
  expect(contract.operations.has('verifyPasskeySecondFactor')).toBe(false);
});
