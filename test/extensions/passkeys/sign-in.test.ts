import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, f, passkeys, twoFactor } from '../../../src/index.ts';
import { createApp } from '../../../src/runtime/create-app.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { createPasskey, type Deviations } from '../../support/passkeys/authenticator.ts';
import { guard } from '../two-factor/two-factor-user.ts';
import {
  ageSessions,
  confirm,
  countSessions,
  expireChallenges,
  PASSWORD,
  register,
  signIn,
  signInOptions,
  withPasskey,
} from './passkey-user.ts';

const events: [string, Record<string, unknown>][] = [];
const user = defineUser({ fields: { status: f.enum(['active', 'suspended']).default('active').readOnly() } });
const options = { resources: [user], extensions: [passkeys(), twoFactor()] } as const;
const { app, person, call, env, url } = await startTestApp({
  ...options,
  listeners: (started) => {
    for (const name of ['auth.login', 'security.login_failed', 'security.passkey_clone_suspected'])
      started.on(name, (payload) => void events.push([name, payload as Record<string, unknown>]));
  },
});
// A second process, for guarantees that hold across processes.
const other = createApp({ ...options, settings: { auth: { password: { logN: 4, r: 8, p: 1 } } } }, env);
const { url: otherUrl } = await other.start({ port: 0, roles: ['web'] });
const limited = await startTestApp({
  ...options,
  settings: { rateLimit: { enabled: true, auth: { limit: 3, windowMs: 60_000 } } },
});
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(async () => {
  await other.close();
  await database.end();
});

/** Failed sign-ins after which an account is locked by default. */
const MAX_ATTEMPTS = 5;
const calls = [call, createClient(otherUrl)];
const statuses = (responses: { status: number }[]) => responses.map(({ status }) => status).sort();
const someone = async (name: string) => withPasskey(await person(name));

test('a passkey signs its user in without a password or code, and records the use', async () => {
  const ann = await someone('Ann');
  await guard(ann, database);
  const { passkey } = ann;
  const { status, headers, body } = await signIn(call, passkey);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({
    user: expect.objectContaining({ id: ann.id, email: ann.email }),
    token: expect.stringMatching(/^svc_[0-9a-f]{64}$/),
    expiresAt: expect.any(String),
  });
  const session = createClient(url, body.data.token);
  const { data } = (await session('GET', '/api/auth/sessions')).body;
  expect(data[0]).toMatchObject({ current: true, method: 'passkey' });
  expect((await session('GET', '/api/auth/passkeys')).body.data[0].lastUsedAt).toEqual(expect.any(String));
  const logins = events.filter(([name, payload]) => name === 'auth.login' && payload.method === 'passkey');
  expect(logins.filter(([, payload]) => (payload.user as { id: string }).id === ann.id)).toHaveLength(1);
});

test('the options to sign in name no passkey and take no input, so they do not tell which accounts exist', async () => {
  const { status, body, headers } = await call('POST', '/api/auth/passkeys/sign-in/options');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({
    challengeId: expect.stringMatching(/^[\w-]{43}$/),
    expiresAt: expect.any(String),
    options: {
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: 'localhost',
      timeout: 300_000,
      userVerification: 'required',
    },
  });
  const { rows } = await database.query('select row_to_json(c)::text as text from passkey_challenges c');
  for (const { text } of rows)
    for (const secret of [body.data.challengeId, body.data.options.challenge]) expect(text).not.toContain(secret);
});

test('a recorded response cannot be used again', async () => {
  const bob = await someone('Bob');
  const before = await countSessions(bob, database);
  const { challengeId, options: request } = await signInOptions(call);
  const response = bob.passkey.use(request);
  expect((await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response })).status).toBe(200);
  const fresh = await signInOptions(call);
  for (const token of [challengeId, fresh.challengeId]) {
    const replayed = await call('POST', '/api/auth/passkeys/sign-in', { challengeId: token, response });
    expect(replayed.status).toBe(401);
  }
  expect(await countSessions(bob, database)).toBe(before + 1);
});

test('one challenge starts one session, however many requests of however many processes answer it at the same time', async () => {
  const [cy, dee] = [await someone('Cy'), await someone('Dee')];
  const before = (await countSessions(cy, database)) + (await countSessions(dee, database));
  const { challengeId, options: request } = await signInOptions(call);
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      calls[i % 2]!('POST', '/api/auth/passkeys/sign-in', {
        challengeId,
        response: (i % 3 === 0 ? dee : cy).passkey.use(request),
      }),
    ),
  );
  expect(statuses(responses)).toEqual([200, ...Array(11).fill(401)]);
  expect(responses.find(({ status }) => status === 401)!.body.error).toMatchObject({
    code: 'UNAUTHORIZED',
    message: 'This sign-in is no longer valid; try again',
  });
  expect((await countSessions(cy, database)) + (await countSessions(dee, database))).toBe(before + 1);
});

const refusedUses: [string, Deviations, string][] = [
  ['an origin of another site', { origin: 'https://evil.example' }, 'origins'],
  ['an origin with http instead of https', { origin: 'https://localhost:5001' }, 'origins'],
  ['a frame of another origin', { crossOrigin: true }, 'frame'],
  ['a page of another origin around the frame', { topOrigin: 'https://evil.example' }, 'frame'],
  ['another domain', { rpId: 'evil.example' }, 'user verification'],
  ['no user verification', { userVerified: false }, 'user verification'],
  ['no user presence', { userPresent: false, userVerified: false }, 'user verification'],
  ['a creation instead of a use', { type: 'webauthn.create' }, 'user verification'],
  ['an invented challenge', { challenge: 'A'.repeat(43) }, 'user verification'],
  ['no user handle', { userHandle: null }, 'user verification'],
  ['the user handle of another user', { userHandle: 'MDEyMzQ1Njc4OWFi' }, 'user verification'],
  ['another kind of device than before', { backupEligible: false, backedUp: false }, 'user verification'],
];

test.each(refusedUses)(
  'a sign-in with %s is refused with 401, and its challenge is used up',
  async (_, deviations, reason) => {
    const eve = await someone('Eve');
    const before = await countSessions(eve, database);
    const { challengeId, options: request } = await signInOptions(call);
    const attempt = (changes: Deviations) =>
      call('POST', '/api/auth/passkeys/sign-in', { challengeId, response: eve.passkey.use(request, changes) });
    const refused = await attempt(deviations);
    expect([refused.status, refused.body.error]).toMatchObject([
      401,
      { message: 'This passkey could not be verified', details: { response: expect.stringContaining(reason) } },
    ]);
    const honest = await attempt({});
    expect([honest.status, honest.body.error.message]).toEqual([401, 'This sign-in is no longer valid; try again']);
    expect(await countSessions(eve, database)).toBe(before);
  },
);

test('a changed signature, the signature of another passkey, and an unknown passkey are refused', async () => {
  const [fay, gus] = [await someone('Fay'), await someone('Gus')];
  const attempt = async (change: (response: ReturnType<typeof fay.passkey.use>, honest: typeof response) => object) => {
    const { challengeId, options: request } = await signInOptions(call);
    const response = change(fay.passkey.use(request), gus.passkey.use(request));
    return call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
  };
  const handle = { userHandle: Buffer.from(fay.id).toString('base64url') };
  const responses = [
    await attempt((own) => ({ ...own, response: { ...own.response, signature: 'AAAA' } })),
    await attempt((own, foreign) => ({ ...own, response: { ...foreign.response, ...handle } })),
    await attempt((_, foreign) => ({ ...foreign, response: { ...foreign.response, ...handle } })),
    await attempt((own) => ({ ...own, rawId: gus.passkey.id })),
    await signIn(call, createPasskey()),
  ];
  expect(responses.map(({ status, body }) => [status, body.error.message])).toEqual(
    Array(5).fill([401, 'This passkey could not be verified']),
  );
});

test('an expired or invented challenge, and one that was opened for another purpose, does not sign in', async () => {
  const hal = await someone('Hal');
  const expired = await signInOptions(call);
  await expireChallenges(database);
  const confirmation = (await hal.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  const attempts: [string, { challenge: string; rpId: string }][] = [
    [expired.challengeId, expired.options],
    ['A'.repeat(43), { challenge: 'A'.repeat(43), rpId: 'localhost' }],
    [confirmation.challenge, confirmation],
    ['', confirmation],
  ];
  for (const [challengeId, request] of attempts) {
    const response = hal.passkey.use(request);
    const { status, body } = await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
    expect([status, body.error.message]).toEqual([401, 'This sign-in is no longer valid; try again']);
  }
});

test('a passkey whose counter does not grow is refused as a copy, reported, kept, and not updated', async () => {
  const ida = await withPasskey(await person('Ida'), createPasskey({ counts: true, synced: false }));
  const copy = ida.passkey.clone();
  for (let i = 0; i < 3; i++) expect((await signIn(call, ida.passkey)).status).toBe(200);
  const before = (await ida.call('GET', '/api/auth/passkeys')).body.data;
  const refused = await signIn(call, copy);
  expect([refused.status, refused.body.error.code]).toEqual([401, 'UNAUTHORIZED']);
  expect(refused.body.error.message).toContain('There may be a copy of this passkey');
  expect((await signIn(call, ida.passkey, { counter: 0 })).status).toBe(401);
  const suspected = events.filter(([name]) => name === 'security.passkey_clone_suspected');
  const payload = { userId: ida.id, passkeyId: ida.passkeyId, name: 'Passkey', ip: expect.any(String) };
  expect(suspected.map(([, reported]) => reported)).toEqual([payload, payload]);
  expect((await ida.call('GET', '/api/auth/passkeys')).body.data).toEqual(before);
  expect((await signIn(call, ida.passkey, { counter: 9 })).status).toBe(200);
});

test('a response with a low counter and a wrong signature does not report a copy', async () => {
  const jan = await withPasskey(await person('Jan'), createPasskey({ counts: true, synced: false }));
  events.length = 0;
  const { challengeId, options: request } = await signInOptions(call);
  const response = jan.passkey.use(request, { counter: 0 });
  response.response.signature = createPasskey().use(request).response.signature;
  const { body } = await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
  expect(body.error.message).toBe('This passkey could not be verified');
  expect(events).toEqual([]);
});

test('the same count in two sign-ins at the same time starts one session', async () => {
  const kim = await withPasskey(await person('Kim'), createPasskey({ counts: true, synced: false }));
  const results = await Promise.all(calls.map((one) => signIn(one, kim.passkey.clone())));
  expect(statuses(results)).toEqual([200, 401]);
});

test('each use updates whether the passkey is backed up', async () => {
  const lea = await someone('Lea');
  for (const backedUp of [false, true]) {
    expect((await signIn(call, lea.passkey, { backedUp })).status).toBe(200);
    expect((await lea.call('GET', '/api/auth/passkeys')).body.data[0].backedUp).toBe(backedUp);
  }
});

test('a passkey of a disabled account is refused with 403', async () => {
  const max = await someone('Max');
  await app.service(user).update(max.id, { status: 'suspended' });
  const { status, body } = await signIn(call, max.passkey);
  expect([status, body.error.message]).toEqual([403, 'This account is disabled']);
});

test('wrong passwords do not lock passkeys, and a sign-in with a passkey clears failed attempts but no lock', async () => {
  const ned = await someone('Ned');
  const fail = async (times: number) => {
    for (let i = 0; i < times; i++)
      await call('POST', '/api/auth/login', { email: ned.email, password: 'wrong horse battery' });
  };
  await fail(MAX_ATTEMPTS - 1);
  expect((await signIn(call, ned.passkey)).status).toBe(200);
  await fail(MAX_ATTEMPTS - 1);
  expect((await signIn(call, ned.passkey)).status).toBe(200);
  await fail(MAX_ATTEMPTS);
  expect((await signIn(call, ned.passkey)).status).toBe(200);
  await fail(1);
  expect((await signIn(call, ned.passkey)).status).toBe(200);
  const login = { email: ned.email, password: 'correct horse battery' };
  expect((await call('POST', '/api/auth/login', login)).status).toBe(429);
});

test('public routes are limited per client', async () => {
  const get = () => limited.call('POST', '/api/auth/passkeys/sign-in/options');
  expect(statuses([await get(), await get(), await get(), await get()])).toEqual([200, 200, 200, 429]);
});

test('a confirmation with an own passkey makes the session recent', async () => {
  const ola = await someone('Ola');
  await ageSessions(ola, database);
  expect((await ola.call('POST', '/api/auth/passkeys/options')).status).toBe(403);
  const { status } = await confirm(ola, ola.passkey);
  expect(status).toBe(204);
  expect((await ola.call('POST', '/api/auth/passkeys/options')).status).toBe(200);
});

test('a confirmation renews only the session that asked for it', async () => {
  const pat = await someone('Pat');
  const login = await call('POST', '/api/auth/login', { email: pat.email, password: PASSWORD });
  const second = createClient(url, login.body.data.token);
  await ageSessions(pat, database);
  const asked = (await pat.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  const response = pat.passkey.use(asked);
  const foreign = await second('POST', '/api/auth/passkeys/confirm', { response });
  expect([foreign.status, foreign.body.error.message]).toEqual([
    400,
    'This confirmation is no longer valid; start again',
  ]);
  expect((await pat.call('POST', '/api/auth/passkeys/confirm', { response })).status).toBe(204);
  expect((await second('POST', '/api/auth/passkeys/options')).status).toBe(403);
});

test('a confirmation with a passkey of another user, or with a response to other options, is refused', async () => {
  const [quin, rex] = [await someone('Quin'), await someone('Rex')];
  await ageSessions(quin, database);
  const foreign = await confirm(quin, rex.passkey);
  expect([foreign.status, foreign.body.error.details]).toEqual([
    422,
    { response: 'Must be the response of a passkey that is registered here' },
  ]);
  expect((await confirm(quin, quin.passkey, { userVerified: false })).status).toBe(422);
  const { options: request } = await signInOptions(call);
  const theirs = (await rex.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  for (const one of [request, theirs]) {
    const { status } = await quin.call('POST', '/api/auth/passkeys/confirm', { response: quin.passkey.use(one) });
    expect(status).toBe(400);
  }
  expect((await quin.call('POST', '/api/auth/passkeys/options')).status).toBe(403);
});

test('a confirmation counts once, however many requests send it at the same time', async () => {
  const sam = await someone('Sam');
  const asked = (await sam.call('POST', '/api/auth/passkeys/confirm/options')).body.data;
  const response = sam.passkey.use(asked);
  const responses = await Promise.all(
    Array.from({ length: 6 }, () => sam.call('POST', '/api/auth/passkeys/confirm', { response })),
  );
  expect(statuses(responses)).toEqual([204, ...Array(5).fill(400)]);
});

test('a user without a passkey cannot ask for a confirmation', async () => {
  const tom = await person('Tom');
  const { status, body } = await tom.call('POST', '/api/auth/passkeys/confirm/options');
  expect([status, body.error.message]).toEqual([409, 'You have no passkey; sign in again instead']);
});

test('a user without a password signs in with a passkey, and may add another one', async () => {
  const uma = await someone('Uma');
  await database.query(`update users set password = '!' where id = $1`, [uma.id]);
  const { status, body } = await signIn(call, uma.passkey);
  expect(status).toBe(200);
  expect((await register({ call: createClient(url, body.data.token) }, createPasskey())).status).toBe(201);
});
