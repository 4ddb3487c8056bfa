import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { type App, defineUser, emailVerification, twoFactor } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';

const password = 'correct horse battery';
let logins = 0;
const { app, call, url } = await startTestApp(
  {
    resources: [defineUser()],
    // The order matters: a login that is resumed after one step must not skip the other.
    extensions: [twoFactor(), emailVerification({ required: true })],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
    listeners: (app) => app.on('auth.login', () => void logins++),
  },
  { roles: 'all' },
);
let people = 0;
async function register() {
  people += 1;
  const email = `required${people}@example.com`;
  const answer = await call('POST', '/api/auth/register', { name: 'Ada', email, password });
  return { email, answer, mailbox: openMailbox(app, email), verificationToken: answer.body.data.verificationToken };
}
const { update } = (app as unknown as App).service('user');
const verify = (body: object) => call('POST', '/api/auth/email/verify', body);
const login = (email: string) => call('POST', '/api/auth/login', { email, password });

/** Computes the current code of an authenticator app (RFC 6238). */
function totp(secret: string): string {
  const bits = [...secret].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'));
  const key = Buffer.from(
    bits
      .join('')
      .match(/.{8}/g)!
      .map((byte) => Number.parseInt(byte, 2)),
  );
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(counter).digest();
  const offset = digest[19]! & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

test('a registration returns no session; the link or the code starts it in the client that registered', async () => {
  for (const kind of ['token', 'code'] as const) {
    const { answer, mailbox, verificationToken } = await register();
    expect(answer).toMatchObject({ status: 201, body: { data: { emailVerificationRequired: true } } });
    expect(answer.body.data).not.toHaveProperty('token');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const mail = await mailbox.next();
    expect((await verify({ [kind]: mail[kind] })).status).toBe(401);
    expect((await verify({ [kind]: mail[kind], verificationToken: 'x'.repeat(43) })).status).toBe(400);
    const verified = await verify({ [kind]: mail[kind], verificationToken });
    expect(verified).toMatchObject({ status: 200, body: { data: { user: { email: expect.any(String) } } } });
    expect((await createClient(url, verified.body.data.token)('GET', '/api/auth/me')).status).toBe(200);
    expect((await verify({ [kind]: mail[kind], verificationToken })).status).toBe(400);
  }
});

test('many concurrent uses of one link start one session', async () => {
  const { mailbox, verificationToken } = await register();
  const { token } = await mailbox.next();
  logins = 0;
  const answers = await Promise.all(Array.from({ length: 10 }, () => verify({ token, verificationToken })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(logins).toBe(1);
});

test('a login with the right password sends another e-mail instead of starting a session; a wrong password tells nothing', async () => {
  const { email, mailbox } = await register();
  await mailbox.next();
  const wrong = await call('POST', '/api/auth/login', { email, password: 'wrong horse battery' });
  expect(wrong).toMatchObject({ status: 401, body: { error: { message: 'Invalid email or password' } } });
  const asked = await login(email);
  expect(asked.body.data).toMatchObject({ emailVerificationRequired: true });
  const { code } = await mailbox.next();
  const verified = await verify({ code, verificationToken: asked.body.data.verificationToken });
  expect(verified.body.data.token).toMatch(/^svc_/);
  expect((await login(email)).body.data.token).toMatch(/^svc_/);
});

test('a new password ends a login that waits for the confirmation', async () => {
  const { email, mailbox, verificationToken } = await register();
  const { token } = await mailbox.next();
  await call('POST', '/api/auth/password/forgot', { email });
  const link = /token=([\w-]+)/.exec((await mailbox.next()).text)![1];
  await call('POST', '/api/auth/password/reset', { token: link, password: 'a staple that is new' });
  expect((await verify({ token, verificationToken })).status).toBe(400);
  // The reset has proved the address.
  const { body } = await call('POST', '/api/auth/login', { email, password: 'a staple that is new' });
  expect(body.data.user.emailVerifiedAt).toMatch(/Z$/);
});

test('a second factor is asked for as well: neither step can be used to skip the other', async () => {
  const { email, mailbox, verificationToken } = await register();
  const first = await verify({ token: (await mailbox.next()).token, verificationToken });
  const ada = createClient(url, first.body.data.token);
  const { secret } = (await ada('POST', '/api/auth/2fa/enrol', { password })).body.data;
  const recovery = (await ada('POST', '/api/auth/2fa/confirm', { code: totp(secret) })).body.data.recoveryCodes;
  await update(first.body.data.user.id, { emailVerifiedAt: null });
  const challenge = (await login(email)).body.data;
  expect(challenge).toMatchObject({ mfaRequired: true });
  const answer = { mfaToken: challenge.mfaToken, method: 'recovery', code: recovery[0] };
  const next = (await call('POST', '/api/auth/2fa/verify', answer)).body.data;
  expect(next).toMatchObject({ emailVerificationRequired: true });
  expect(next).not.toHaveProperty('token');
  const { code } = await mailbox.next();
  const done = await verify({ code, verificationToken: next.verificationToken });
  expect(done.body.data.token).toMatch(/^svc_/);
});

test('above the limit of e-mails, a login keeps the newest link and code instead of ending them', async () => {
  const limited = await startTestApp(
    {
      resources: [defineUser()],
      extensions: [emailVerification({ required: true, mailLimit: { limit: 2, windowMs: 60_000 } })],
      settings: { rateLimit: { enabled: true }, relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const email = 'limited@example.com';
  const mailbox = openMailbox(limited.app, email);
  await limited.call('POST', '/api/auth/register', { name: 'Ada', email, password });
  await mailbox.next();
  const { verificationToken } = (await limited.call('POST', '/api/auth/login', { email, password })).body.data;
  const { token } = await mailbox.next();
  expect((await limited.call('POST', '/api/auth/login', { email, password })).status).toBe(429);
  const verified = await limited.call('POST', '/api/auth/email/verify', { token, verificationToken });
  expect(verified.body.data.token).toMatch(/^svc_/);
});
