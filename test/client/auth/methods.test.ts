import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import {
  type ClientOptions,
  createClient,
  type KeyValueStorage,
  type SignInResult,
} from '../../../packages/client/src/index.ts';
import {
  defineUser,
  emailSignIn,
  emailVerification,
  invitations,
  organisations,
  twoFactor,
} from '../../../src/index.ts';
import { ageSessions } from '../../extensions/passkeys/passkey-user.ts';
import { codeOf, forget, guard, PASSWORD, wrongCode } from '../../extensions/two-factor/two-factor-user.ts';
import { startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';

const { app, url, env, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [twoFactor(), emailVerification(), emailSignIn(), invitations(), organisations()],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const required = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [emailVerification({ required: true })],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const newClient = (options: ClientOptions = {}) => createClient({ url, ...options });
const credentialsOf = ({ email }: { email: string }) => ({ email, password: PASSWORD });

/** Returns a client in which a new user is signed in. */
async function signedIn(name: string, options: ClientOptions & { roles?: string[] } = {}) {
  const { roles, ...rest } = options;
  const user = await person(name, roles);
  const client = newClient(rest);
  await client.auth.signIn(credentialsOf(user));
  return { ...user, client };
}

/** @throws TypeError unless the sign-in waits for a second factor */
function asChallenge<User>(result: SignInResult<User>) {
  if (result.status !== 'secondFactor') throw new TypeError(`The sign-in has the status ${result.status}`);
  return result;
}

test('a sign-in with two-factor login goes on with a code, after a wrong one as well', async () => {
  const ada = await guard(await person('Ada'), sql);
  const { auth } = newClient();
  const challenge = asChallenge(await auth.signIn(credentialsOf(ada)));
  expect(challenge).toMatchObject({ methods: ['totp', 'recovery'], expiresAt: expect.any(String) });
  expect(auth.session).toBeUndefined();
  await expect(challenge.verify(wrongCode(ada.secret))).rejects.toMatchObject({
    status: 401,
    details: { code: expect.any(String) },
  });
  expect(await challenge.verify(` ${codeOf(ada.secret)} `)).toMatchObject({ status: 'signedIn', user: { id: ada.id } });
  expect(auth.session?.user.id).toBe(ada.id);
});

test('another page goes on with a sign-in, with a recovery code', async () => {
  const ada = await guard(await person('Ada'), sql);
  const { challenge } = asChallenge(await newClient().auth.signIn(credentialsOf(ada)));
  const { auth } = newClient();
  const resumed = auth.resumeSignIn(JSON.parse(JSON.stringify(challenge)));
  expect(await resumed.verify(ada.recoveryCodes[0]!)).toMatchObject({ status: 'signedIn' });
  expect(auth.session?.user.id).toBe(ada.id);
});

test('users turn two-factor login on, renew their recovery codes, and turn it off', async () => {
  const ada = await signedIn('Ada');
  const { twoFactor: factor } = ada.client.auth;
  expect(await factor.status()).toMatchObject({ enabled: false });
  const { secret, qrCode } = await factor.enrol({ password: PASSWORD });
  expect(qrCode).toMatch(/^data:image\/png/);
  const { recoveryCodes } = await factor.confirm({ code: codeOf(secret) });
  expect(recoveryCodes).toHaveLength(10);
  expect(await factor.status()).toMatchObject({ enabled: true, recoveryCodesLeft: 10 });
  const renewed = await factor.renewRecoveryCodes({ code: recoveryCodes[0]! });
  expect(renewed.recoveryCodes).not.toEqual(recoveryCodes);
  await forget(ada, sql);
  await factor.disable({ password: PASSWORD, code: codeOf(secret) });
  expect(await factor.status()).toMatchObject({ enabled: false });
});

test('a user signs in by e-mail with the code or the link, in the browser that requested it', async () => {
  const { auth } = newClient();
  const mailbox = openMailbox(app, 'link@methods.example.com');
  await auth.emailSignIn.start({ email: 'link@methods.example.com' });
  const mail = await mailbox.next();
  expect(await auth.emailSignIn.pending()).toEqual({ email: 'link@methods.example.com' });
  await expect(newClient().auth.emailSignIn.finish({ token: mail.token })).rejects.toMatchObject({
    code: 'NOT_STARTED',
  });
  await expect(auth.emailSignIn.finish({ code: '000000' })).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
  expect(await auth.emailSignIn.finish({ token: mail.token })).toMatchObject({ status: 'signedIn' });
  expect(auth.session?.user).toMatchObject({ email: 'link@methods.example.com' });
  expect(await auth.emailSignIn.pending()).toBeUndefined();

  await auth.emailSignIn.start({ email: 'link@methods.example.com' });
  const { code } = await mailbox.next();
  expect(await auth.emailSignIn.finish({ code })).toMatchObject({ status: 'signedIn' });
  expect(await auth.methods()).toEqual(['email_link']);
});

test('a signed-in user verifies and changes the address, and the owner of the former address undoes it', async () => {
  const ada = await signedIn('Ada');
  const { auth } = ada.client;
  const mailbox = openMailbox(app, ada.email);
  await mailbox.next();
  await auth.email.sendVerification();
  const { token } = await mailbox.next();
  expect(await auth.email.verify({ token })).toMatchObject({ status: 'verified', email: ada.email });
  expect(auth.session?.user.emailVerifiedAt).toEqual(expect.any(String));

  await auth.email.change({ email: 'new@methods.example.com' });
  const { code } = await openMailbox(app, 'new@methods.example.com').next();
  expect(await auth.email.confirmChange({ code })).toMatchObject({ email: 'new@methods.example.com' });
  expect(auth.session?.user.email).toBe('new@methods.example.com');
  const undo = await mailbox.next();
  await newClient().auth.email.undoChange({ token: undo.token });
  await expect(auth.sessions.list()).rejects.toMatchObject({ status: 401 });
  expect(auth.session).toBeUndefined();
});

test('a forgotten password is reset with the link, and an unknown address gets the same response', async () => {
  const ada = await person('Ada');
  const { auth } = newClient();
  const mailbox = openMailbox(app, ada.email);
  await mailbox.next();
  for (const email of ['nobody@methods.example.com', ada.email]) {
    expect(await auth.password.forgot({ email })).toBeUndefined();
  }
  const token = /[?&]token=([\w-]+)/.exec((await mailbox.next()).text)![1]!;
  await auth.password.reset({ token, password: 'a bell rings at noon' });
  expect(await auth.signIn({ email: ada.email, password: 'a bell rings at noon' })).toMatchObject({
    status: 'signedIn',
  });
});

test('a request that needs a recent sign-in is sent again after the user has confirmed, with one question for several', async () => {
  let questions = 0;
  const ada = await signedIn('Ada', {
    roles: ['admin'],
    async onRecentSignInRequired() {
      questions += 1;
      await ada.client.auth.confirm({ password: PASSWORD });
      return true;
    },
  });
  await ageSessions(ada, sql);
  const invite = (email: string) =>
    ada.client.request({ method: 'POST', path: '/invitations', json: { email } }).then(({ status }) => status);
  expect(await Promise.all([invite('one@methods.example.com'), invite('two@methods.example.com')])).toEqual([201, 201]);
  expect(questions).toBe(1);
});

test('a user who does not confirm gets the error, and so does a user without a password who cannot', async () => {
  const answers = { value: false };
  const ada = await signedIn('Ada', { roles: ['admin'], onRecentSignInRequired: () => answers.value });
  await ageSessions(ada, sql);
  const change = () => ada.client.auth.email.change({ email: 'later@methods.example.com' });
  await expect(change()).rejects.toMatchObject({ code: 'RECENT_SIGN_IN_REQUIRED' });
  answers.value = true;
  // It resolves with true without a confirmation: the request is sent once more, not forever.
  await expect(change()).rejects.toMatchObject({ code: 'RECENT_SIGN_IN_REQUIRED' });

  const asked: string[] = [];
  const mailbox = openMailbox(app, 'none@methods.example.com');
  const { auth } = newClient({
    async onRecentSignInRequired() {
      asked.push('asked');
      await auth.confirm({ password: 'there is none' });
      return true;
    },
  });
  await auth.emailSignIn.start({ email: 'none@methods.example.com' });
  await auth.emailSignIn.finish({ code: (await mailbox.next()).code });
  await ageSessions(auth.session!.user, sql);
  await expect(auth.email.change({ email: 'later@methods.example.com' })).rejects.toMatchObject({ status: 422 });
  expect(asked).toEqual(['asked']);
});

test('a request of one user is not sent for another user who has signed in to confirm it', async () => {
  const bob = await person('Bob', ['admin']);
  const ada = await signedIn('Ada', {
    roles: ['admin'],
    async onRecentSignInRequired() {
      await ada.client.auth.signIn(credentialsOf(bob));
      return true;
    },
  });
  await ageSessions(ada, sql);
  const json = { email: 'mixed@methods.example.com' };
  await expect(ada.client.request({ method: 'POST', path: '/invitations', json })).rejects.toMatchObject({
    code: 'RECENT_SIGN_IN_REQUIRED',
  });
  expect(ada.client.auth.session?.user.id).toBe(bob.id);
});

test('an invited user registers, and a user with an account accepts with the session', async () => {
  const admin = await signedIn('Admin', { roles: ['admin'] });
  const invite = async (email: string) => {
    const mailbox = openMailbox(app, email);
    await admin.client.request({ method: 'POST', path: '/invitations', json: { email, roles: ['admin'] } });
    return (await mailbox.next('You are invited')).token;
  };
  const token = await invite('guest@methods.example.com');
  const { auth } = newClient();
  expect(await auth.invitations.preview({ token })).toMatchObject({ mode: 'register' });
  const accepted = await auth.invitations.accept({ token, name: 'Guest', password: PASSWORD });
  expect(accepted).toMatchObject({ status: 'signedIn', user: { name: 'Guest', roles: ['user', 'admin'] } });

  const ben = await signedIn('Ben');
  const own = await invite(ben.email);
  expect(await ben.client.auth.invitations.preview({ token: own })).toMatchObject({ mode: 'sign-in' });
  // The session has ended since: the invitation is read without it.
  await ben.call('POST', '/api/auth/logout-all');
  expect(await ben.client.auth.invitations.preview({ token: own })).toMatchObject({ mode: 'claim' });
  expect(ben.client.auth.session).toBeUndefined();
  await ben.client.auth.signIn(credentialsOf(ben));
  const former = ben.client.auth.session!.token;
  await ben.client.auth.invitations.accept({ token: own });
  expect(ben.client.auth.session).toMatchObject({ user: { roles: ['user', 'admin'] } });
  expect(ben.client.auth.session!.token).not.toBe(former);
});

test('a session works in the organisation that its user chooses, and an invited user joins', async () => {
  const [ada, ben] = [await signedIn('Ada'), await signedIn('Ben')];
  const json = { name: 'Acme', slug: 'acme-methods' };
  const { data } = await ada.client.request<{ id: string }>({ method: 'POST', path: '/organisations', json });
  expect(await ada.client.auth.organisation.current()).toEqual({ organisation: null, role: null });
  expect(await ada.client.auth.organisation.choose('acme-methods')).toEqual({ organisation: data.id, role: 'owner' });
  expect(await ada.client.auth.organisation.current()).toEqual({ organisation: data.id, role: 'owner' });
  expect(await ada.client.auth.organisation.choose(null)).toEqual({ organisation: null, role: null });

  const mailbox = openMailbox(app, ben.email);
  await mailbox.next();
  await ada.client.request({
    method: 'POST',
    path: '/organisations/acme-methods/invitations',
    json: { email: ben.email },
  });
  const { token } = await mailbox.next();
  const { organisation } = ben.client.auth;
  expect(await organisation.previewInvitation({ token })).toMatchObject({ organisation: { name: 'Acme' } });
  expect(await organisation.acceptInvitation({ token })).toMatchObject({ role: 'member' });
  expect(await organisation.choose('acme-methods')).toMatchObject({ role: 'member' });
});

/** A storage of texts that two clients share, as two tabs share `localStorage`. */
function createTexts(): KeyValueStorage {
  const texts = new Map<string, string>();
  return {
    getItem: async (key) => texts.get(key) ?? null,
    setItem: async (key, value) => void texts.set(key, value),
    removeItem: async (key) => void texts.delete(key),
  };
}

/** @throws TypeError unless the sign-in waits for a verified address */
function asUnverified<User>(result: SignInResult<User>) {
  if (result.status !== 'emailVerification') throw new TypeError(`The sign-in has the status ${result.status}`);
  return result;
}

const newRequiredClient = (options: ClientOptions = {}) => newClient({ url: required.url, ...options });

test('a registration goes on with the code of the e-mail', async () => {
  const { auth } = newRequiredClient();
  const mailbox = openMailbox(required.app, 'ada@required.example.com');
  const fields = { name: 'Ada', email: 'ada@required.example.com', password: PASSWORD };
  const registered = asUnverified(await auth.register(fields));
  expect(auth.session).toBeUndefined();
  await expect(registered.verify({ code: '000000' })).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
  const { code } = await mailbox.next();
  expect(await registered.verify({ code })).toMatchObject({ status: 'signedIn', user: { name: 'Ada' } });
  expect(auth.session?.user).toMatchObject({ email: 'ada@required.example.com' });
});

test('the link of the e-mail goes on with the registration in another tab of the browser, and nowhere else', async () => {
  const flowStorage = createTexts();
  const mailbox = openMailbox(required.app, 'bob@required.example.com');
  const fields = { name: 'Bob', email: 'bob@required.example.com', password: PASSWORD };
  await newRequiredClient({ flowStorage }).auth.register(fields);
  const { token } = await mailbox.next();
  await expect(newRequiredClient().auth.email.verify({ token })).rejects.toMatchObject({ status: 401 });
  const tab = newRequiredClient({ flowStorage });
  expect(await tab.auth.email.verify({ token })).toMatchObject({ status: 'signedIn', user: { name: 'Bob' } });
  expect(await flowStorage.getItem('belfry.verificationToken')).toBeNull();
});
