import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, f, passkeys, twoFactor } from '../../../src/index.ts';
import { readContract } from '../../runtime/openapi/contract.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';
import { createPasskey } from '../../support/passkeys/authenticator.ts';
import { codeOf, guard, wrongCode } from '../two-factor/two-factor-user.ts';
import {
  confirm,
  countSessions,
  expireChallenges,
  PASSWORD,
  type PasskeyUser,
  register,
  signIn,
  signInOptions,
  withPasskey,
} from './passkey-user.ts';

const user = defineUser({ fields: { status: f.enum(['active', 'suspended']).default('active').readOnly() } });
const { app, person, call, env, url } = await startTestApp({
  resources: [user],
  extensions: [passkeys({ secondFactor: true })],
});
const codeFirst = await startTestApp({
  resources: [defineUser()],
  extensions: [twoFactor(), passkeys({ secondFactor: true })],
});
const passkeyFirst = await startTestApp({
  resources: [defineUser()],
  extensions: [passkeys({ secondFactor: true }), twoFactor()],
});
const databases = [env, codeFirst.env, passkeyFirst.env].map(
  ({ DATABASE_URL }) => new Client({ connectionString: DATABASE_URL! }),
);
const [database, codeFirstDatabase, passkeyFirstDatabase] = databases as [Client, Client, Client];
await Promise.all(databases.map((one) => one.connect()));
afterAll(() => Promise.all(databases.map((one) => one.end())));

const someone = async (name: string) => withPasskey(await person(name));
const login = (one: typeof call, { email }: Pick<Person, 'email'>) =>
  one('POST', '/api/auth/login', { email, password: PASSWORD });
const challenge = async (one: PasskeyUser) => (await login(call, one)).body.data;
const answer = (mfaToken: string, response: object) =>
  call('POST', '/api/auth/passkeys/second-factor', { mfaToken, response });
const NO_LONGER_VALID = 'This sign-in is no longer valid; try again';

test('after the password of a user with a passkey, the passkey is required, and its response starts the session', async () => {
  const ann = await someone('Ann');
  const before = await countSessions(ann, database);
  const { status, headers, body } = await login(call, ann);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({
    mfaRequired: true,
    mfaToken: expect.stringMatching(/^svc_mfa_[0-9a-f]{64}$/),
    methods: ['passkey'],
    expiresAt: expect.any(String),
    options: expect.objectContaining({
      allowCredentials: [{ id: ann.passkey.id, type: 'public-key', transports: ['internal', 'hybrid'] }],
      userVerification: 'required',
    }),
  });
  const { mfaToken, options } = body.data;
  expect((await createClient(url, mfaToken)('GET', '/api/auth/me')).status).toBe(401);
  expect(await countSessions(ann, database)).toBe(before);
  // Authenticators may leave the user handle out if the options name the passkey.
  const done = await answer(mfaToken, ann.passkey.use(options, { userHandle: null }));
  expect([done.status, done.body.data.user.id]).toEqual([200, ann.id]);
  expect((await createClient(url, done.body.data.token)('GET', '/api/auth/me')).status).toBe(200);
});

test('users without a passkey sign in with the password alone', async () => {
  const bob = await person('Bob');
  expect((await login(call, bob)).body.data.token).toMatch(/^svc_/);
});

test('a user who signs in with a passkey is not asked for it again', async () => {
  const cy = await someone('Cy');
  expect((await signIn(call, cy.passkey)).body.data.token).toMatch(/^svc_/);
});

test('the OpenAPI document describes the response of the login and the route of the second factor', async () => {
  const contract = await readContract(url);
  const dee = await someone('Dee');
  const asked = await login(call, dee);
  contract.check('login', asked);
  const { mfaToken, options } = asked.body.data;
  contract.check('verifyPasskeySecondFactor', await answer(mfaToken, dee.passkey.use(options)));
  const both = await readContract(codeFirst.url);
  const plain = await codeFirst.person('Plain');
  both.check('login', await login(codeFirst.call, plain));
  both.check('login', await login(codeFirst.call, await withPasskey(plain)));
  both.check('login', await login(codeFirst.call, await guard(await codeFirst.person('Coder'), codeFirstDatabase)));
});

test('a login is finished once, however many requests answer it at the same time', async () => {
  const eve = await someone('Eve');
  const before = await countSessions(eve, database);
  const { mfaToken, options } = await challenge(eve);
  const response = eve.passkey.use(options);
  const responses = await Promise.all(Array.from({ length: 8 }, () => answer(mfaToken, response)));
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)]);
  expect(await countSessions(eve, database)).toBe(before + 1);
});

test('the passkey of another user, a missing user verification, and a response to other options are refused', async () => {
  const [fay, gus] = [await someone('Fay'), await someone('Gus')];
  const before = await countSessions(fay, database);
  const attempts = [
    async () => {
      const { mfaToken, options } = await challenge(fay);
      return answer(mfaToken, gus.passkey.use(options));
    },
    async () => {
      const { mfaToken, options } = await challenge(fay);
      return answer(mfaToken, fay.passkey.use(options, { userVerified: false }));
    },
    async () => {
      const [{ mfaToken }, { options }] = [await challenge(fay), await challenge(gus)];
      return answer(mfaToken, fay.passkey.use(options));
    },
    async () => {
      const { mfaToken } = await challenge(fay);
      return answer(mfaToken, fay.passkey.use((await signInOptions(call)).options));
    },
  ];
  for (const attempt of attempts) {
    const { status, body } = await attempt();
    expect([status, body.error.message]).toEqual([401, 'This passkey could not be verified']);
  }
  expect(await countSessions(fay, database)).toBe(before);
});

test('the tokens of other challenges, and unknown and expired ones, finish no login', async () => {
  const hal = await someone('Hal');
  const { challengeId, options } = await signInOptions(call);
  const expired = await challenge(hal);
  await expireChallenges(database);
  for (const token of [challengeId, options.challenge, 'x', expired.mfaToken]) {
    const { status, body } = await answer(token, hal.passkey.use(expired.options));
    expect([status, body.error.message]).toEqual([401, NO_LONGER_VALID]);
  }
  const { mfaToken, options: request } = await challenge(hal);
  const response = hal.passkey.use(request);
  const crossed = await call('POST', '/api/auth/passkeys/sign-in', { challengeId: mfaToken, response });
  expect([crossed.status, crossed.body.error.message]).toEqual([401, NO_LONGER_VALID]);
});

test('a login that waits for a passkey ends when the password changes or the passkey is removed', async () => {
  const ida = await someone('Ida');
  const waiting = await challenge(ida);
  const change = { currentPassword: PASSWORD, newPassword: 'a bell rings at noon' };
  expect((await ida.call('POST', '/api/auth/password', change)).status).toBeLessThan(300);
  expect((await answer(waiting.mfaToken, ida.passkey.use(waiting.options))).body.error.message).toBe(NO_LONGER_VALID);
  const jan = await someone('Jan');
  await confirm(jan, jan.passkey);
  const { mfaToken, options } = await challenge(jan);
  expect((await jan.call('DELETE', `/api/auth/passkeys/${jan.passkeyId}`)).status).toBe(204);
  expect((await answer(mfaToken, jan.passkey.use(options))).status).toBe(401);
});

test('an account that was disabled in the meantime is refused with 403', async () => {
  const kim = await someone('Kim');
  const { mfaToken, options } = await challenge(kim);
  await app.service(user).update(kim.id, { status: 'suspended' });
  expect((await answer(mfaToken, kim.passkey.use(options))).status).toBe(403);
});

test('a copy of a passkey does not finish a login', async () => {
  const lea = await withPasskey(await person('Lea'), createPasskey({ counts: true, synced: false }));
  const copy = lea.passkey.clone();
  expect((await signIn(call, lea.passkey)).status).toBe(200);
  const { mfaToken, options } = await challenge(lea);
  const { status, body } = await answer(mfaToken, copy.use(options));
  expect([status, body.error.message]).toEqual([401, expect.stringContaining('There may be a copy')]);
});

test('an admin removes the passkeys of a user who has lost them, but not their own', async () => {
  const [root, max, ned] = [await someone('Root'), await someone('Max'), await person('Ned')];
  await app.service(user).update(root.id, { roles: ['admin'] });
  const remove = (by: Person, id: string) => by.call('DELETE', `/api/admin/users/${id}/passkeys`);
  expect((await remove(max, ned.id)).status).toBe(404);
  expect((await remove(max, max.id)).status).toBe(403);
  expect((await remove(root, root.id)).status).toBe(403);
  expect((await remove(root, ned.id)).status).toBe(404);
  const { mfaToken, options } = await challenge(max);
  expect((await remove(root, max.id)).status).toBe(204);
  expect((await answer(mfaToken, max.passkey.use(options))).status).toBe(401);
  expect((await login(call, max)).body.data.token).toMatch(/^svc_/);
});

test('together with twoFactor(), a login asks once: for the factor of the extension that is listed first', async () => {
  const one = await withPasskey(await codeFirst.person('One'));
  await guard(one, codeFirstDatabase);
  expect((await login(codeFirst.call, one)).body.data.methods).toEqual(['totp', 'recovery']);
  const withoutCode = await withPasskey(await codeFirst.person('Two'));
  expect((await login(codeFirst.call, withoutCode)).body.data.methods).toEqual(['passkey']);
  const three = await withPasskey(await passkeyFirst.person('Three'));
  await guard(three, passkeyFirstDatabase);
  const { methods, mfaToken, options } = (await login(passkeyFirst.call, three)).body.data;
  expect(methods).toEqual(['passkey']);
  const response = three.passkey.use(options);
  const done = await passkeyFirst.call('POST', '/api/auth/passkeys/second-factor', { mfaToken, response });
  expect(done.body.data.token).toMatch(/^svc_/);
  // The passkey alone is two factors in either order.
  for (const [started, { passkey }] of [
    [codeFirst, one],
    [passkeyFirst, three],
  ] as const)
    expect((await signIn(started.call, passkey)).body.data.token).toMatch(/^svc_/);
});

test('without the setting, a login with the password does not ask for the passkey, and there is no such route', async () => {
  const plain = await startTestApp({ resources: [defineUser()], extensions: [passkeys()] });
  const ola = await withPasskey(await plain.person('Ola'));
  expect((await login(plain.call, ola)).body.data.token).toMatch(/^svc_/);
  expect((await plain.call('POST', '/api/auth/passkeys/second-factor', {})).status).toBe(405);
});

test('with two-factor login on, a passkey can be added only with a code: a stolen session cannot replace the factor', async () => {
  const eve = await guard(await codeFirst.person('Eve'), codeFirstDatabase);
  const start = (body?: object) => eve.call('POST', '/api/auth/passkeys/options', body);
  expect((await start()).body.error.details).toEqual({ code: 'Is required' });
  expect((await start({ code: '000000' })).status).toBe(422);
  expect((await start({ code: codeOf(eve.secret) })).status).toBe(200);
});

test('with two-factor login on, an admin needs a code to remove the passkeys of a user', async () => {
  const admin = await guard(await codeFirst.person('Admin', ['admin']), codeFirstDatabase);
  const bob = await withPasskey(await codeFirst.person('Bob'));
  const remove = (body?: object) => admin.call('DELETE', `/api/admin/users/${bob.id}/passkeys`, body);
  expect((await remove()).body.error.details).toEqual({ code: 'Is required' });
  expect((await remove({ code: wrongCode(admin.secret) })).status).toBe(422);
  expect((await bob.call('GET', '/api/auth/passkeys')).body.data).toHaveLength(1);
  expect((await remove({ code: codeOf(admin.secret) })).status).toBe(204);
});

test('a session that has not confirmed with a passkey can neither add nor remove one, not even with the password', async () => {
  const pia = await person('Pia');
  const early = (await pia.call('POST', '/api/auth/passkeys/options')).body.data;
  const { passkey, passkeyId } = await withPasskey(pia);
  await pia.call('POST', '/api/auth/reauthenticate', { password: PASSWORD });
  const add = () => pia.call('POST', '/api/auth/passkeys/options');
  const remove = () => pia.call('DELETE', `/api/auth/passkeys/${passkeyId}`);
  const refused = [
    await add(),
    await remove(),
    // The challenge is older than the first passkey.
    await pia.call('POST', '/api/auth/passkeys', { response: createPasskey().create(early) }),
  ];
  expect(refused.map(({ status, body }) => [status, body.error.code, body.error.message])).toEqual(
    Array(3).fill([403, 'RECENT_SIGN_IN_REQUIRED', 'Confirm with one of your passkeys first']),
  );
  // A confirmation in another session of the user does not count.
  const other = createClient(url, (await signIn(call, passkey)).body.data.token);
  expect((await confirm({ call: other }, passkey)).status).toBe(204);
  expect((await add()).status).toBe(403);
  expect((await confirm(pia, passkey)).status).toBe(204);
  expect((await register(pia, createPasskey())).status).toBe(201);
  await expireChallenges(database);
  expect((await remove()).status).toBe(403);
  await confirm(pia, passkey);
  expect((await remove()).status).toBe(204);
});
