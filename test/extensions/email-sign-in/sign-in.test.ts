import { expect, test } from 'vitest';
import { defineUser, emailSignIn, twoFactor } from '../../../src/index.ts';
import { readContract } from '../../runtime/openapi/contract.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { readAllRows } from '../../support/database/stored-texts.ts';
import { codeOf, guard, verify as verifyFactor } from '../two-factor/two-factor-user.ts';
import { INVALID, openMailbox, statuses } from './mailbox.ts';

const events: { name: string; payload: Record<string, unknown> }[] = [];
const started = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [emailSignIn(), twoFactor()],
    settings: { relay: { sweepMs: 50 } },
    listeners(app) {
      for (const name of ['auth.login', 'auth.registered', 'security.login_failed'])
        app.on(name, (payload: Record<string, unknown>) => void events.push({ name, payload }));
    },
  },
  { roles: 'all' },
);
const { app, call, url, person } = started;
const mailbox = await openMailbox(started);
const { sql, ask, verify, request, withLink, withCode, mailsTo, allComposed, sessionsOf, usersWith } = mailbox;

const eventsOf = (email: string) =>
  events.filter(({ payload }) => (payload.user as { email?: string })?.email === email || payload.email === email);
const verified = (email: string) =>
  sql.query('update users set email_verified_at = now() where email = $1 returning id', [email]);

test('the link of the e-mail starts a session of the account, with the method email_link', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  const { status, headers, body } = await withLink(asked);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({
    user: expect.objectContaining({ id: ann.id, email: ann.email }),
    token: expect.stringMatching(/^svc_[0-9a-f]{64}$/),
    expiresAt: expect.any(String),
  });
  expect((await createClient(url, body.data.token)('GET', '/api/auth/me')).body.data.id).toBe(ann.id);
  expect((await sessionsOf(ann.id)).at(-1)).toEqual({ method: 'email_link' });
  const login = eventsOf(ann.email).find(({ name }) => name === 'auth.login');
  expect(login?.payload).toMatchObject({ method: 'email_link', user: { id: ann.id } });
});

test('the code starts a session with the method email_code; spaces and dashes in it do not matter', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  const { code } = asked;
  const { status, body } = await withCode(asked, ` ${code.slice(0, 3)}-${code.slice(3)} `);
  expect([status, body.data.user.id]).toEqual([200, ann.id]);
  expect((await sessionsOf(ann.id)).at(-1)).toEqual({ method: 'email_code' });
});

test('an address without an account gets one with a verified address, named after its local part', async () => {
  const email = 'new.person@example.com';
  const asked = await request(email);
  expect((await mailsTo(email))[0]!.subject).toBe('Create your account');
  expect(await usersWith(email)).toEqual([]);
  const { status, body } = await withLink(asked);
  expect(status).toBe(200);
  expect(body.data.user).toMatchObject({
    email,
    name: 'new.person',
    roles: ['user'],
    emailVerifiedAt: expect.any(String),
  });
  expect(eventsOf(email).map(({ name }) => name)).toEqual(['auth.registered', 'auth.login']);
  expect((await withLink(await request(email))).body.data.user.id).toBe(body.data.user.id);
  expect(await usersWith(email)).toHaveLength(1);
});

test('the address of the request is trimmed and lower-cased', async () => {
  const ann = await person('Ann');
  const { body } = await ask(`  ${ann.email.toUpperCase()} `);
  await allComposed();
  const [mail] = await mailsTo(ann.email);
  const code = /^\d{6}$/m.exec(mail!.text)![0];
  expect((await verify({ signInToken: body.data.signInToken, code })).body.data.user.id).toBe(ann.id);
});

test('two tabs can request an e-mail at once: each works in its own tab, in any order', async () => {
  for (const first of [0, 1]) {
    const ann = await person('Ann');
    const tabs = [await request(ann.email), await request(ann.email)] as const;
    const mixed = await verify({ signInToken: tabs[0].signInToken, token: tabs[1].token });
    expect(mixed.body.error).toMatchObject(INVALID);
    expect((await withLink(tabs[first]!)).status).toBe(200);
    // A sign-in ends the other links and codes of the address.
    expect((await withLink(tabs[1 - first]!)).body.error).toMatchObject(INVALID);
  }
});

test('two tabs that finish at once create one account and start one session', async () => {
  for (let round = 0; round < 5; round++) {
    const email = `tabs-${round}@example.com`;
    const tabs = await Promise.all([0, 1].map(() => ask(email)));
    await allComposed();
    const mails = await mailsTo(email);
    const tokens = mails.map(({ text }) => /#token=([\w-]{43})/.exec(text)![1]!);
    const codes = mails.map(({ text }) => /^\d{6}$/m.exec(text)![0]);
    const attempts = tabs.flatMap(({ body: { data } }) => [
      ...tokens.map((token) => verify({ signInToken: data.signInToken, token })),
      ...(round % 2 ? [] : codes.map((code) => verify({ signInToken: data.signInToken, code }))),
    ]);
    const responses = await Promise.all(attempts);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(statuses(responses))).toEqual(new Set([200, 400]));
    expect(await usersWith(email)).toHaveLength(1);
  }
});

test('a second factor is asked for after the link and after the code', async () => {
  const ann = await guard(await person('Ann'), sql);
  await verified(ann.email);
  const before = await sessionsOf(ann.id);
  for (const signIn of [withLink, withCode]) {
    const { status, headers, body } = await signIn(await request(ann.email));
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body.data).toMatchObject({ mfaRequired: true, methods: ['totp', 'recovery'] });
    expect(await sessionsOf(ann.id)).toEqual(before);
    await sql.query('update two_factors set last_step = 0');
    const done = await verifyFactor(call, body.data.mfaToken, codeOf(ann.secret));
    expect(done.body.data.user.id).toBe(ann.id);
    expect((await sessionsOf(ann.id)).pop()?.method).toBe(signIn === withLink ? 'email_link' : 'email_code');
    await sql.query('delete from sessions where user_id = $1 and method <> $2', [ann.id, 'password']);
  }
});

test('a disabled account gets no e-mail, and an e-mail from before responds 403 and starts no session', async () => {
  const ann = await person('Ann');
  const asked = await request(ann.email);
  await app.service('user').update(ann.id, { status: 'disabled' });
  const before = await sessionsOf(ann.id);
  const { status, body } = await withLink(asked);
  expect([status, body.error.message]).toEqual([403, 'This account is disabled']);
  expect(eventsOf(ann.email).at(-1)).toMatchObject({
    name: 'security.login_failed',
    payload: { reason: 'user_disabled' },
  });
  expect(await sessionsOf(ann.id)).toEqual(before);
  expect((await usersWith(ann.email))[0]).toMatchObject({ email_verified_at: null });
  await ask(ann.email);
  await allComposed();
  expect(await mailsTo(ann.email)).toHaveLength(1);
});

test('a verified account keeps its password and sessions', async () => {
  const ann = await person('Ann');
  await verified(ann.email);
  expect((await withCode(await request(ann.email))).status).toBe(200);
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(200);
  const login = { email: ann.email, password: 'correct horse battery' };
  expect((await call('POST', '/api/auth/login', login)).status).toBe(200);
});

test('the responses match the OpenAPI document, which describes a further step of the sign-in', async () => {
  const contract = await readContract(url);
  const ann = await guard(await person('Ann'), sql);
  await verified(ann.email);
  contract.check('requestEmailSignIn', await ask(ann.email));
  contract.check('requestEmailSignIn', await ask('ann'));
  const asked = await request('contract@example.com');
  contract.check('verifyEmailSignIn', await withCode(asked, 'wrong'));
  contract.check('verifyEmailSignIn', await withCode(asked));
  contract.check('verifyEmailSignIn', await withLink(await request(ann.email)));
  contract.check('verifyEmailSignIn', await verify({}));
});

test.each<[string, object, object]>([
  ['nothing', {}, { signInToken: 'Is required' }],
  ['neither token nor code', { signInToken: 'x' }, { token: 'Send either token or code' }],
  ['token and code', { signInToken: 'x', token: 'x', code: '123456' }, { token: 'Send either token or code' }],
  ['an unknown field', { signInToken: 'x', token: 'x', email: 'a@example.com' }, { email: 'Unknown field' }],
  [
    'values that are not texts',
    { signInToken: 1, code: 123456 },
    { signInToken: 'Must be a string', code: 'Must be a string' },
  ],
  ['a long token', { signInToken: 'x', token: 'x'.repeat(129) }, { token: 'Must be at most 128 characters' }],
])('a verification with %s responds 422', async (_what, body, details) => {
  const response = await verify(body);
  expect([response.status, response.body.error.details]).toEqual([422, details]);
});

test.each<[string, unknown, string]>([
  ['none', undefined, 'Is required'],
  ['a list', ['a@example.com'], 'Must be a string'],
  ['two', 'a@example.com,b@example.com', 'Must be a valid e-mail address'],
  ['one with a line break', 'a@example.com\r\nBcc: b@example.com', 'Must be a valid e-mail address'],
  ['one with a Cyrillic letter', 'аnn@example.com', 'Must be a valid e-mail address'],
  ['one of 262 characters', `${'a'.repeat(250)}@example.com`, 'Must be at most 254 characters'],
])('a request for an address that is %s responds 422', async (_what, email, message) => {
  const { status, body } = await ask(email);
  expect([status, body.error.details]).toEqual([422, { email: message }]);
});

test('no row of any table contains the token of the link, the code or the secret of the browser', async () => {
  const asked = await request('stored@example.com');
  const find = async () =>
    (await readAllRows(sql)).filter((row) => [asked.token, asked.signInToken].some((one) => row.includes(one)));
  expect(await find()).toEqual([]);
  expect((await sql.query('select code_hash from email_proofs where email = $1', [asked.email])).rows).toEqual([
    { code_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect((await withLink(asked)).status).toBe(200);
  expect(await find()).toEqual([]);
});
