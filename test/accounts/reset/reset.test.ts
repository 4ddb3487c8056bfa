import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { defineExtension, defineUser } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { readAllRows } from '../../support/database/stored-texts.ts';

const secret = 'correct horse battery';
const fresh = 'a staple that is new';
const INVALID = { code: 'INVALID_TOKEN', message: 'This reset link is invalid or has expired' };
const events: { name: string; payload: Record<string, unknown> }[] = [];
const steps: string[] = [];
let stepFails = false;
const { app, call, url, env, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      defineExtension({
        name: 'reset-step',
        setup: () => ({
          async revocationStep({ userIds }, tx) {
            if (stepFails) throw new Error('the step failed');
            tx.afterCommit(() => steps.push(...userIds));
          },
        }),
      }),
    ],
    settings: { relay: { sweepMs: 50 }, auth: { password: { logN: 4, r: 8, p: 1 } } },
    listeners(app) {
      for (const name of ['auth.password_reset_requested', 'auth.password_reset'])
        app.on(name, (payload: Record<string, unknown>) => void events.push({ name, payload }));
    },
  },
  { roles: 'all' },
);
const web = await startTestApp({ resources: [defineUser()] });
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
beforeEach(() => void events.splice(0));

const login = (email: string, password = secret) => call('POST', '/api/auth/login', { email, password });
const forgot = (email: unknown, headers = {}) => call('POST', '/api/auth/password/forgot', { email }, headers);
const reset = (token: unknown, password: unknown = fresh) =>
  call('POST', '/api/auth/password/reset', { token, password });
const isIn = async (token: string) => (await createClient(url, token)('GET', '/api/auth/me')).status === 200;
const mailsTo = async (email: string) => (await app.captured.mails()).filter(({ to }) => to === email);
const times = <T>(n: number, make: (i: number) => T) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));
const linkIn = ({ text }: { text: string }) => /https?:\S+/.exec(text)![0];

/** Waits until the value exists. A busy machine may need a while. */
const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 10 });

/** Requests a link and returns its token once the e-mail has been captured. */
async function tokenFor(email: string): Promise<string> {
  const before = (await mailsTo(email)).length;
  expect((await forgot(email)).status).toBe(202);
  const mails = await until(async () => {
    const now = await mailsTo(email);
    return now.length > before ? now : undefined;
  });
  return new URL(linkIn(mails[0]!)).searchParams.get('token')!;
}

/** Resolves once no e-mail waits to be composed. */
async function allMade(): Promise<void> {
  await until(async () => (await sql.query('select 1 from mails where finished_at is null')).rowCount === 0);
}

test('a user who forgot their password gets a link that sets a new one, once', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  const done = await reset(token);
  expect([done.status, done.body]).toEqual([204, undefined]);
  expect([(await login(ann.email)).status, (await login(ann.email, fresh)).status]).toEqual([401, 200]);
  const again = await reset(token, `${fresh} 2`);
  expect(again.status).toBe(400);
  expect(again.body.error).toMatchObject(INVALID);
  expect((await login(ann.email, fresh)).status).toBe(200);
});

test('the response is the same with and without an account, and an unknown address gets no e-mail', async () => {
  const ann = await person('Ann');
  const responses = [await forgot(ann.email), await forgot('nobody@example.com')];
  for (const { status, body } of responses) {
    expect([status, body]).toEqual([202, { data: { message: expect.stringMatching(/^If there is an account/) } }]);
  }
  expect(responses[0]!.body).toEqual(responses[1]!.body);
  const names = responses.map(({ headers }) => [...headers.keys()].sort());
  expect(names[0]).toEqual(names[1]);
  await allMade();
  expect(await mailsTo('nobody@example.com')).toEqual([]);
  expect(await mailsTo(ann.email)).toHaveLength(1);
  expect((await sql.query(`select 1 from mails where data::text like '%nobody@%'`)).rowCount).toBe(0);
});

test('a request stores an e-mail to compose and looks up no account', async () => {
  const { email } = await web.person('Ann');
  const own = new Client({ connectionString: web.env.DATABASE_URL! });
  await own.connect();
  onTestFinished(() => own.end());
  const emails = Array.from({ length: 20 }, (_, i) => (i % 2 ? email : `nobody-${i}@example.com`));
  const path = '/api/auth/password/forgot';
  const responses = await Promise.all(emails.map((each) => web.call('POST', path, { email: each })));
  expect(new Set(responses.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  const { rows } = await own.query('select kind, data, recipient, content, attempts from mails');
  expect(rows.map(({ data }) => data.email).sort()).toEqual(emails.toSorted());
  const shape = { kind: 'password-reset', data: expect.anything(), recipient: null, content: null, attempts: 0 };
  expect(rows).toEqual(emails.map(() => shape));
  expect((await own.query('select 1 from password_resets')).rowCount).toBe(0);
});

test('a disabled account gets no link, and an existing link of it does not work', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  await app.service('user').update(ann.id, { status: 'disabled' });
  expect((await reset(token)).body.error).toMatchObject(INVALID);
  await forgot(ann.email);
  await allMade();
  expect(await mailsTo(ann.email)).toHaveLength(1);
});

test('the e-mail goes to the stored address of the account', async () => {
  const { email } = await person('Kim');
  await forgot(` ${email.toUpperCase()} `);
  await allMade();
  // U+212A, the Kelvin sign, is a k in lower case.
  await forgot(`\u212a${email.slice(1)}`);
  await allMade();
  expect(await mailsTo(email)).toHaveLength(2);
  expect((await app.captured.mails()).filter(({ to }) => to !== to.toLowerCase())).toEqual([]);
});

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'Is required'],
  ['an object', { a: 1 }, 'Must be a string'],
  ['an array', ['a@example.com'], 'Must be a string'],
  ['no address', 'ann', 'Must be a valid e-mail address'],
  ['two addresses', 'a@example.com,b@example.com', 'Must be a valid e-mail address'],
  ['a line break', 'a@example.com\r\nBcc: b@example.com', 'Must be a valid e-mail address'],
  ['a fullwidth @', 'a＠example.com', 'Must be a valid e-mail address'],
  ['400 characters', `${'a'.repeat(388)}@example.com`, 'Must be at most 320 characters'],
])('%s as e-mail responds 422', async (_what, email, message) => {
  const { status, body } = await forgot(email);
  expect([status, body.error.details]).toEqual([422, { email: message }]);
});

test.each<[string, unknown]>([
  ['an object', { a: 1 }],
  ['an array', ['x']],
  ['a number', 5],
  ['null', null],
  ['nothing', undefined],
])('a token that is %s responds 422', async (_what, token) => {
  const { status, body } = await call('POST', '/api/auth/password/reset', { token, password: fresh });
  expect([status, Object.keys(body.error.details)]).toEqual([422, ['token']]);
});

test.each(['', 'x', 'a'.repeat(43), 'a'.repeat(65), `${'a'.repeat(64)}\0`, 'a'.repeat(100_000), "' or 1=1 --"])(
  'a token that was never sent responds 400 INVALID_TOKEN (%#)',
  async (token) => {
    const { status, body } = await reset(token);
    expect([status, body.error.code, body.error.message]).toEqual([400, INVALID.code, INVALID.message]);
  },
);

test('a refused password responds 422 and does not use up the link', async () => {
  const ann = await person('Annabel');
  const token = await tokenFor(ann.email);
  const faults = [];
  for (const password of ['short', 'Password123', 'abcdefghijkl', ann.email.split('@')[0], 'hello ANNABEL hello', 7])
    faults.push((await reset(token, password)).body.error.details);
  expect(faults).toEqual([
    { password: 'Must be 8 to 128 characters' },
    { password: 'This password is too common, choose another one' },
    { password: 'This password is too easy to guess' },
    { password: 'Your password must not contain your email address' },
    { password: 'Your password must not contain your name' },
    { password: 'Must be a string' },
  ]);
  expect((await reset(token)).status).toBe(204);
});

test('an unknown field responds 422', async () => {
  const token = await tokenFor((await person('Ann')).email);
  const body = { token, password: fresh, userId: '0'.repeat(24) };
  expect((await call('POST', '/api/auth/password/reset', body)).body.error.details).toEqual({
    userId: 'Unknown field',
  });
});

test('fifty concurrent uses of one link change the password once', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  const responses = await times(50, (i) => reset(token, `${fresh} ${i}`));
  expect(responses.map(({ status }) => status).sort()).toEqual([204, ...Array(49).fill(400)]);
  for (const { status, body } of responses) if (status === 400) expect(body.error.code).toBe('INVALID_TOKEN');
  const winner = responses.findIndex(({ status }) => status === 204);
  expect((await login(ann.email, `${fresh} ${winner}`)).status).toBe(200);
  expect(events.filter(({ name }) => name === 'auth.password_reset')).toHaveLength(1);
});

test('a newer link ends the older one', async () => {
  const ann = await person('Ann');
  const [older, newer] = [await tokenFor(ann.email), await tokenFor(ann.email)];
  expect((await reset(older)).body.error).toMatchObject(INVALID);
  expect((await reset(newer)).status).toBe(204);
});

test('an e-mail requested before a reset and composed after it is not sent', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  // Simulates a mail server that was down: the request is older than the reset.
  const [{ at }] = (
    await sql.query<{ at: string }>('select requested_at::text as at from password_resets where user_id = $1', [ann.id])
  ).rows as [{ at: string }];
  expect((await reset(token)).status).toBe(204);
  await sql.query(
    `insert into mails (id, kind, data, created_at) values ($1, 'password-reset', $2, $3::timestamptz - interval '1 minute')`,
    ['f'.repeat(24), JSON.stringify({ email: ann.email, ip: '::1' }), at],
  );
  await allMade();
  expect(await mailsTo(ann.email)).toHaveLength(1);
});

test('a reset ends all sessions and removes their devices', async () => {
  const ann = await person('Ann');
  const other = (await login(ann.email)).body.data.token;
  for (const [i, token] of [ann.token, other].entries())
    await createClient(url, token)('POST', '/api/auth/devices', {
      token: `device-${ann.id}-${i}-0123456789`,
      platform: 'ios',
    });
  expect((await sql.query('select 1 from devices where user_id = $1', [ann.id])).rowCount).toBe(2);
  expect((await reset(await tokenFor(ann.email))).status).toBe(204);
  expect([await isIn(ann.token), await isIn(other)]).toEqual([false, false]);
  expect((await sql.query('select 1 from devices where user_id = $1', [ann.id])).rowCount).toBe(0);
});

test('no session started with the old password survives a concurrent reset', async () => {
  for (let round = 0; round < 10; round++) {
    const ann = await person('Ann');
    const token = await tokenFor(ann.email);
    const [done, ...logins] = await Promise.all([reset(token), ...Array.from({ length: 4 }, () => login(ann.email))]);
    expect(done.status).toBe(204);
    for (const { body } of logins) if (body.data !== undefined) expect(await isIn(body.data.token)).toBe(false);
  }
});

test('a concurrent reset and password change do not deadlock: each succeeds or is refused', async () => {
  for (let round = 0; round < 10; round++) {
    const ann = await person('Ann');
    const token = await tokenFor(ann.email);
    const [one, two] = await Promise.all([
      reset(token),
      ann.call('POST', '/api/auth/password', { currentPassword: secret, newPassword: `${fresh} 2` }),
    ]);
    expect([204, 400]).toContain(one.status);
    expect([204, 401, 422]).toContain(two.status);
    expect([one.status, two.status]).toContain(204);
  }
});

test('a reset clears the failed sign-ins and their lock', async () => {
  const ann = await person('Ann');
  for (let i = 0; i < 5; i++) expect((await login(ann.email, 'wrong horse battery')).status).toBe(401);
  expect((await login(ann.email)).status).toBe(429);
  expect((await reset(await tokenFor(ann.email))).status).toBe(204);
  expect((await login(ann.email, fresh)).status).toBe(200);
});

test('a password change invalidates the link', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  await ann.call('POST', '/api/auth/password', { currentPassword: secret, newPassword: fresh });
  expect((await reset(token, `${fresh} 2`)).body.error).toMatchObject(INVALID);
});

test('an e-mail requested before a password change and composed after it is not sent', async () => {
  const ann = await person('Ann');
  await ann.call('POST', '/api/auth/password', { currentPassword: secret, newPassword: fresh });
  await sql.query(
    `insert into mails (id, kind, data, created_at) values ($1, 'password-reset', $2, now() - interval '1 minute')`,
    ['e'.repeat(24), JSON.stringify({ email: ann.email, ip: '::1' })],
  );
  await allMade();
  expect(await mailsTo(ann.email)).toHaveLength(0);
  expect((await reset(await tokenFor(ann.email), `${fresh} 2`)).status).toBe(204);
});

test('a link stops working after resetTokenTtlMinutes', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  const left = await sql.query<{ minutes: number }>(
    'select extract(epoch from expires_at - now())::float / 60 as minutes from password_resets where user_id = $1',
    [ann.id],
  );
  expect(left.rows[0]!.minutes).toBeGreaterThan(29);
  expect(Math.round(left.rows[0]!.minutes)).toBeLessThanOrEqual(30);
  await sql.query('update password_resets set expires_at = now() - make_interval(secs => 1) where user_id = $1', [
    ann.id,
  ]);
  expect((await reset(token)).body.error).toMatchObject(INVALID);
  expect((await login(ann.email)).status).toBe(200);
});

test('no row of any table contains the token or the link, before or after it is used', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  expect((await readAllRows(sql)).filter((text) => text.includes(token))).toEqual([]);
  await reset(token);
  expect((await readAllRows(sql)).filter((text) => text.includes(token))).toEqual([]);
});

test.each([
  ['Host', { host: 'evil.example' }],
  ['X-Forwarded-Host', { 'x-forwarded-host': 'evil.example' }],
  ['X-Forwarded-Proto', { 'x-forwarded-proto': 'gopher' }],
  ['Forwarded', { forwarded: 'host=evil.example;proto=gopher' }],
  ['Origin and Referer', { origin: 'https://evil.example', referer: 'https://evil.example/' }],
])('the header %s does not change the link', async (_name, headers) => {
  const ann = await person('Ann');
  await forgot(ann.email, headers);
  await allMade();
  const [mail] = await mailsTo(ann.email);
  expect(linkIn(mail!)).toMatch(/^http:\/\/localhost:5001\/reset-password\?token=[\w-]{65}$/);
  expect(JSON.stringify(mail)).not.toMatch(/evil|gopher/);
});

test('the e-mail has a text and an HTML part with the same link and no data written by the user', async () => {
  const name = '<b>Win a prize</b> at https://spam.example';
  const { body } = await call('POST', '/api/auth/register', { name, email: 'victim@example.com', password: secret });
  expect(body.data.user.name).toBe(name);
  await tokenFor('victim@example.com');
  const [mail] = await mailsTo('victim@example.com');
  expect(Object.keys(mail!).sort()).toEqual(['html', 'subject', 'text', 'to']);
  expect(mail!.subject).toBe('Choose a new password');
  expect(mail!.html).toContain(`href="${linkIn(mail!)}"`);
  expect(mail!.text).toContain('within 30 minutes');
  expect(JSON.stringify(mail)).not.toMatch(/prize|spam/);
});

test('both events are emitted with the user and without token or password', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  await forgot('nobody@example.com');
  await reset(token);
  expect(events).toEqual([
    {
      name: 'auth.password_reset_requested',
      payload: { user: expect.objectContaining({ id: ann.id }), ip: expect.any(String) },
    },
    { name: 'auth.password_reset', payload: { user: expect.objectContaining({ id: ann.id }), ip: expect.any(String) } },
  ]);
  expect(JSON.stringify(events)).not.toMatch(new RegExp(`${token}|staple|horse|scrypt`));
});

test('the revocation steps of extensions commit or roll back together with the reset', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  stepFails = true;
  expect((await reset(token)).status).toBe(500);
  expect([(await login(ann.email)).status, await isIn(ann.token)]).toEqual([200, true]);
  stepFails = false;
  expect((await reset(token)).status).toBe(204);
  expect(steps.filter((id) => id === ann.id)).toHaveLength(1);
});

test('deleting a user removes their link, and it stops working', async () => {
  const ann = await person('Ann');
  const token = await tokenFor(ann.email);
  await app.service('user').delete(ann.id);
  expect((await reset(token)).body.error).toMatchObject(INVALID);
  const rows = () => sql.query('select 1 from password_resets where user_id = $1', [ann.id]);
  await until(async () => (await rows()).rowCount === 0);
});
