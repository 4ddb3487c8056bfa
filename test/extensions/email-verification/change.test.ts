import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { apiKeys, defineUser, emailVerification, f, twoFactor, webhooks } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';

const password = 'correct horse battery';
const INVALID = { code: 'INVALID_TOKEN', message: 'This link or code is invalid or has expired' };
const events: { undone: boolean; email: unknown }[] = [];
const { app, call, url, env } = await startTestApp(
  {
    resources: [
      defineUser({
        fields: {
          email: f
            .email()
            .required()
            .unique()
            .immutable()
            .check((value: string) => !value.endsWith('@forbidden.example') || 'Must not be a throw-away address'),
        },
      }),
    ],
    extensions: [emailVerification(), apiKeys(), webhooks(), twoFactor()],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
    listeners: (app) =>
      app.on('auth.email_changed', ({ undone, user }: { undone: boolean; user: { email: string } }) => {
        events.push({ undone, email: user.email });
      }),
  },
  { roles: 'all' },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let people = 0;
async function register(options: { verified: boolean } = { verified: true }) {
  people += 1;
  const email = `change${people}@example.com`;
  const { body } = await call('POST', '/api/auth/register', { name: 'Ada', email, password });
  const { user, token } = body.data;
  const client = createClient(url, token);
  const mailbox = openMailbox(app, email);
  const mail = await mailbox.next();
  if (options.verified) await client('POST', '/api/auth/email/verify', { token: mail.token });
  return { id: user.id as string, email, token: token as string, call: client, mailbox };
}
type Ada = Awaited<ReturnType<typeof register>>;
const login = (email: string, secret = password) => call('POST', '/api/auth/login', { email, password: secret });
const signInAgain = async (ada: Ada) => createClient(url, (await login(ada.email)).body.data.token);
const isIn = async (client: typeof call) => (await client('GET', '/api/auth/me')).status === 200;
const request = (client: typeof call, email: string) => client('POST', '/api/auth/email', { email });
const confirm = (client: typeof call, body: object) => client('POST', '/api/auth/email/confirm', body);

/** Changes the address and returns the mailboxes. */
async function change(ada: Ada, to: string) {
  expect((await request(ada.call, to)).status).toBe(202);
  const { token } = await openMailbox(app, to).next();
  expect((await confirm(ada.call, { token })).status).toBe(200);
  return ada.mailbox;
}

test('the address changes only when the new one is confirmed, by link or code; other sessions end and this one stays', async () => {
  for (const kind of ['token', 'code'] as const) {
    const ada = await register();
    const other = await signInAgain(ada);
    const next = `new-${kind}-${ada.email}`;
    events.length = 0;
    expect((await request(ada.call, ` ${next.toUpperCase()} `)).status).toBe(202);
    const mail = await openMailbox(app, next).next();
    expect(mail.subject).toBe('Confirm your new e-mail address');
    expect((await ada.call('GET', '/api/auth/me')).body.data.email).toBe(ada.email);
    const confirmed = await confirm(ada.call, { [kind]: mail[kind] });
    expect(confirmed).toMatchObject({ status: 200, body: { data: { email: next } } });
    expect((await ada.call('GET', '/api/auth/me')).body.data).toMatchObject({
      email: next,
      emailVerifiedAt: confirmed.body.data.emailVerifiedAt,
    });
    expect([await isIn(ada.call), await isIn(other)]).toEqual([true, false]);
    expect(events).toEqual([{ undone: false, email: next }]);
    expect([(await login(ada.email)).status, (await login(next)).status]).toEqual([401, 200]);
    expect((await confirm(ada.call, { [kind]: mail[kind] })).body.error).toMatchObject(INVALID);
  }
});

test('a session whose user signed in long ago must sign in again before the address can be changed', async () => {
  const ada = await register();
  await sql.query(`update sessions set created_at = now() - interval '61 minutes' where user_id = $1`, [ada.id]);
  const refused = await request(ada.call, `late-${ada.email}`);
  expect([refused.status, refused.body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  expect((await ada.call('POST', '/api/auth/reauthenticate', { password: 'wrong horse' })).status).toBe(422);
  expect((await ada.call('POST', '/api/auth/reauthenticate', { password })).status).toBe(204);
  expect((await request(ada.call, `late-${ada.email}`)).status).toBe(202);
});

test('the link and the code work only in a session of the account that requested the change', async () => {
  const [ada, eve] = [await register(), await register()];
  const next = `mine-${ada.email}`;
  await request(ada.call, next);
  const mail = await openMailbox(app, next).next();
  expect((await confirm(call, { token: mail.token })).status).toBe(401);
  for (const proof of [{ token: mail.token }, { code: mail.code }])
    expect((await confirm(eve.call, proof)).body.error).toMatchObject(INVALID);
  expect((await confirm(ada.call, { code: mail.code })).status).toBe(200);
});

test('the response does not tell whether the new address has an account; then no e-mail is sent', async () => {
  const [ada, eve] = [await register(), await register()];
  const [taken, free] = [await request(eve.call, ada.email), await request(eve.call, `free-${eve.email}`)];
  expect([taken.status, taken.body]).toEqual([free.status, free.body]);
  await openMailbox(app, `free-${eve.email}`).next();
  expect(await ada.mailbox.count()).toBe(1);
});

test('an address that another account takes before the confirmation is a conflict, and the link stays usable', async () => {
  const ada = await register();
  const next = `raced-${ada.email}`;
  await request(ada.call, next);
  const { token } = await openMailbox(app, next).next();
  const { body } = await call('POST', '/api/auth/register', { name: 'Eve', email: next, password });
  expect((await confirm(ada.call, { token })).body.error.code).toBe('CONFLICT');
  await app.service('user').delete(body.data.user.id);
  expect((await confirm(ada.call, { token })).status).toBe(200);
});

test('the rules of the project for addresses apply to the new one', async () => {
  const ada = await register();
  await request(ada.call, 'x@forbidden.example');
  const { token } = await openMailbox(app, 'x@forbidden.example').next();
  const { status, body } = await confirm(ada.call, { token });
  expect([status, body.error.details]).toEqual([422, { email: 'Must not be a throw-away address' }]);
  for (const [email, message] of [
    ['not an address', 'Must be a valid e-mail address'],
    [ada.email.toUpperCase(), 'Is already your e-mail address'],
    [undefined, 'Is required'],
  ] as const)
    expect((await request(ada.call, email as string)).body.error.details).toEqual({ email: message });
});

test('a requested change ends when the password is reset: it cannot be used to take the account back', async () => {
  const ada = await register();
  const thief = await signInAgain(ada);
  const next = `thief-${ada.email}`;
  await request(thief, next);
  const { token } = await openMailbox(app, next).next();
  await call('POST', '/api/auth/password/forgot', { email: ada.email });
  const link = /token=([\w-]+)/.exec((await ada.mailbox.next()).text)![1];
  await call('POST', '/api/auth/password/reset', { token: link, password: 'a staple that is new' });
  const again = createClient(url, (await login(ada.email, 'a staple that is new')).body.data.token);
  for (const client of [thief, again]) expect((await confirm(client, { token })).status).not.toBe(200);
});

test('the former address gets a link that restores it and ends everything that a thief may have created', async () => {
  const ada = await register();
  const thief = await signInAgain(ada);
  const thiefAda = { ...ada, call: thief };
  const mailbox = await change(thiefAda, `stolen-${ada.email}`);
  const key = (await thief('POST', '/api/auth/api-keys', { name: 'backdoor' })).body.data.key;
  await thief('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['user.updated'] });
  const notice = await mailbox.next();
  expect(notice.subject).toBe('Your e-mail address was changed');
  events.length = 0;
  const undone = await call('POST', '/api/auth/email/undo', { token: notice.token });
  expect(undone.status).toBe(204);
  expect(events).toEqual([{ undone: true, email: ada.email }]);
  expect([await isIn(thief), await isIn(createClient(url, key))]).toEqual([false, false]);
  expect((await login(ada.email)).status).toBe(401);
  const restored = await mailbox.next('Your e-mail address was restored');
  const link = /token=([\w-]+)/.exec(restored.text)![1];
  await call('POST', '/api/auth/password/reset', { token: link, password: 'a staple that is new' });
  const again = createClient(url, (await login(ada.email, 'a staple that is new')).body.data.token);
  expect((await again('GET', '/api/auth/me')).body.data).toMatchObject({
    email: ada.email,
    emailVerifiedAt: expect.any(String),
  });
  expect((await again('GET', '/api/webhooks')).body.data[0]).toMatchObject({ enabled: false });
  expect((await call('POST', '/api/auth/email/undo', { token: notice.token })).body.error).toMatchObject(INVALID);
});

test('a thief cannot end the link that undoes the change: not by a second change, a new password, or by taking the former address', async () => {
  const ada = await register();
  const mailbox = await change(ada, `first-${ada.email}`);
  const { token } = await mailbox.next();
  await change(ada, `second-${ada.email}`);
  const changed = { currentPassword: password, newPassword: 'a staple that is new' };
  expect((await ada.call('POST', '/api/auth/password', changed)).status).toBe(204);
  const blocker = (await call('POST', '/api/auth/register', { name: 'Eve', email: ada.email, password })).body.data;
  expect(blocker.token).toMatch(/^svc_/);
  expect((await call('POST', '/api/auth/email/undo', { token })).status).toBe(204);
  expect(await isIn(createClient(url, blocker.token))).toBe(false);
  const { data } = (await app.service('user').list({ email: ada.email })) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([ada.id]);
});

test('an address that was never verified is notified without a link to the account', async () => {
  const ada = await register({ verified: false });
  await change(ada, `typo-${ada.email}`);
  const notice = await ada.mailbox.next('Your e-mail address was changed');
  expect([notice.token, notice.text]).toEqual(['', expect.not.stringContaining('http')]);
});

test('each owner of a former address can undo the change: a thief with a later link cannot end the link of the first owner', async () => {
  const ada = await register();
  const [mailbox, thief] = [ada.mailbox, openMailbox(app, `thief-b-${ada.email}`)];
  await change(ada, `thief-b-${ada.email}`);
  const owner = await mailbox.next('Your e-mail address was changed');
  await change(ada, `thief-c-${ada.email}`);
  const later = await thief.next('Your e-mail address was changed');
  expect((await call('POST', '/api/auth/email/undo', { token: later.token })).status).toBe(204);
  expect((await call('POST', '/api/auth/email/undo', { token: owner.token })).status).toBe(204);
  expect(await app.service('user').count({ email: ada.email })).toBe(1);
  expect((await call('POST', '/api/auth/email/undo', { token: later.token })).status).toBe(400);
});

test('the undo works although the owner has signed in with the former address meanwhile and got a new account', async () => {
  const ada = await register();
  await change(ada, `gone-${ada.email}`);
  const { token } = await ada.mailbox.next('Your e-mail address was changed');
  const { body } = await call('POST', '/api/auth/register', { name: 'Ada', email: ada.email, password });
  const again = createClient(url, body.data.token);
  const mail = await ada.mailbox.next('Verify your e-mail address');
  expect((await again('POST', '/api/auth/email/verify', { token: mail.token })).status).toBe(200);
  expect((await call('POST', '/api/auth/email/undo', { token })).status).toBe(204);
  expect(await isIn(again)).toBe(false);
  const { data } = (await app.service('user').list({ email: ada.email })) as { data: { id: string }[] };
  expect(data.map(({ id }) => id)).toEqual([ada.id]);
});

test('with two-factor login, a change of the address needs a code', async () => {
  const ada = await register();
  await ada.call('POST', '/api/auth/2fa/enrol', { password });
  await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [ada.id]);
  expect((await request(ada.call, `coded-${ada.email}`)).body.error.details).toEqual({ code: 'Is required' });
});

test('the undo removes a second factor that may be the thief’s, also from shortly before the change, and keeps an older one', async () => {
  const enrolAndUndo = async (confirmedAt: string) => {
    const ada = await register();
    const mailbox = await change(ada, `factor-${ada.email}`);
    const { token } = await mailbox.next('Your e-mail address was changed');
    await ada.call('POST', '/api/auth/2fa/enrol', { password });
    await sql.query(`update two_factors set confirmed_at = ${confirmedAt} where user_id = $1`, [ada.id]);
    expect((await call('POST', '/api/auth/email/undo', { token })).status).toBe(204);
    return (await sql.query('select 1 from two_factors where user_id = $1', [ada.id])).rowCount;
  };
  expect(await enrolAndUndo('now()')).toBe(0);
  expect(await enrolAndUndo(`now() - interval '6 days'`)).toBe(0);
  expect(await enrolAndUndo(`now() - interval '30 days'`)).toBe(1);
});
