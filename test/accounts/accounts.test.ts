import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { createClient, startTestApp } from '../support/app.ts';

const secret = 'correct horse battery';
const note = defineResource('note', { fields: { text: f.string() }, policies: { list: 'public' } });
const user = defineUser({ fields: { phone: f.string().visibleTo('owner'), rank: f.integer().hidden().default(7) } });
const events: Record<string, unknown[]> = {};
const { app, call, url, env, person } = await startTestApp({
  resources: [user, note],
  listeners(made) {
    for (const name of ['auth.registered', 'auth.login', 'security.login_failed', 'user.created', 'user.updated']) {
      events[name] = [];
      made.on(name, (payload) => void events[name]!.push(payload));
    }
  },
});
const closed = await startTestApp({ resources: [defineUser()], settings: { auth: { register: false } } });
const off = await startTestApp({ resources: [defineUser(), note], settings: { auth: { enabled: false } } });
const without = await startTestApp({ resources: [defineResource('user', { fields: { email: f.email() } }), note] });
const costly = { auth: { password: { logN: 6, r: 8, p: 1 }, lockout: { maxAttempts: 0 } } };

const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

let made = 0;
const account = (changes: object = {}) => ({
  name: 'Ann',
  email: `ann-${++made}@example.com`,
  password: secret,
  ...changes,
});
const register = (body: object) => call('POST', '/api/auth/register', body);
const login = (email: unknown, password: unknown = secret) => call('POST', '/api/auth/login', { email, password });

test('register responds 201 with the user, a token and its expiry, uncached', async () => {
  const body = account({ phone: '1' });
  const response = await register(body);
  expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(response.body.data).toEqual({
    user: {
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: 'Ann',
      email: body.email,
      roles: ['user'],
      status: 'active',
      phone: '1',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    },
    token: expect.stringMatching(/^svc_[0-9a-f]{64}$/),
    expiresAt: expect.any(String),
  });
  const days = (Date.parse(response.body.data.expiresAt) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(29.99);
  expect(days).toBeLessThan(30.01);
});

test.each<[string, object, Record<string, string>]>([
  ['roles', { roles: ['admin'] }, { roles: 'You are not allowed to set this field' }],
  ['a status', { status: 'active' }, { status: 'You are not allowed to set this field' }],
  ['a hidden field', { rank: 1 }, { rank: 'Is read-only' }],
  ['an unknown field', { nope: 1 }, { nope: 'Unknown field' }],
  ['no name', { name: undefined }, { name: 'Is required' }],
  ['an empty name', { name: ' ' }, { name: 'Is required' }],
  ['a bad e-mail', { email: 'nobody' }, { email: 'Must be a valid e-mail address' }],
  ['a look-alike of the at sign', { email: 'a＠b.co' }, { email: 'Must be a valid e-mail address' }],
  ['a short password', { password: 'short' }, { password: 'Must be 8 to 128 characters' }],
  ['a password that is too long', { password: 'x'.repeat(100_000) }, { password: 'Must be 8 to 128 characters' }],
  ['a password that is an object', { password: { length: 10 } }, { password: 'Must be a string' }],
])('register with %s responds 422', async (_what, changes, details) => {
  const response = await register(account(changes));
  expect([response.status, response.body.error.details]).toEqual([422, details]);
});

test('an e-mail in any case has one account; of fifty concurrent registrations one succeeds', async () => {
  const { email } = account();
  // A busy machine may respond 503 to some requests, which are then retried, as clients would.
  const answered = async (i: number): Promise<Awaited<ReturnType<typeof register>>> => {
    const response = await register(account({ email: i % 2 ? email.toUpperCase() : ` ${email}` }));
    return response.status === 503 ? answered(i) : response;
  };
  const responses = await Promise.all(Array.from({ length: 50 }, (_, i) => answered(i)));
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
  const { error } = responses.find(({ status }) => status === 409)!.body;
  expect(error).toEqual({
    code: 'CONFLICT',
    message: expect.any(String),
    requestId: expect.any(String),
    details: { email: 'Is already taken' },
  });
  expect((await login(email.toUpperCase())).status).toBe(200);
  expect((await register(account({ email: email.replace('n', '\u212a') }))).status).not.toBe(500);
});

test('an e-mail with the Kelvin sign, whose lower case is k, creates no second account', async () => {
  const email = `k-${++made}@example.com`;
  expect((await register(account({ email }))).status).toBe(201);
  expect((await register(account({ email: `\u212a${email.slice(1)}` }))).status).toBe(409);
});

test.each([
  ['the Kelvin sign', '\u212aim'],
  ['a full-width letter', '\uff4bim'],
  ['a Cyrillic letter', '\u043aim'],
  ['a letter without its dot', 'k\u0131m'],
  ['a combining accent', 'ki\u0301m'],
  ['a mathematical letter', '\u{1d4c0}im'],
  ['a zero-width space', 'k\u200bim'],
  ['a soft hyphen', 'k\u00adim'],
  ['a byte order mark', '\ufeffkim'],
  ['capitals', 'KIM'],
  ['spaces around it', ' kim'],
])('an e-mail that looks like another (%s) creates no second account', async (_what, written) => {
  const rest = `-${++made}@example.com`;
  expect((await register(account({ email: `kim${rest}` }))).status).toBe(201);
  const { status, body } = await register(account({ email: written + rest }));
  expect([409, 422]).toContain(status);
  expect(Object.keys(body.error.details)).toEqual(['email']);
});

test('a closed registration responds 403', async () => {
  const { status, body } = await closed.call('POST', '/api/auth/register', account());
  expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
});

test('without accounts, by setting or because no user resource has e-mail and password, there are no auth routes', async () => {
  for (const one of [off, without]) {
    for (const [method, path] of [
      ['POST', 'register'],
      ['POST', 'login'],
      ['POST', 'logout'],
      ['GET', 'me'],
      ['GET', 'devices'],
      ['POST', 'devices'],
    ]) {
      expect((await one.call(method!, `/api/auth/${path}`, method === 'POST' ? {} : undefined)).status).toBe(404);
    }
    expect((await one.call('GET', '/api/notes')).status).toBe(200);
  }
});

test('each login responds 200 with a new session', async () => {
  const body = account();
  const { token } = (await register(body)).body.data;
  const response = await login(` ${body.email.toUpperCase()} `);
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(response.body.data).toMatchObject({
    user: { email: body.email, roles: ['user'] },
    token: expect.stringMatching(/^svc_/),
  });
  expect(response.body.data.token).not.toBe(token);
});

test('an unknown e-mail and a wrong password get the same response', async () => {
  const body = account();
  await register(body);
  const responses = [
    await login(body.email, 'wrong horse battery'),
    await login('nobody@example.com'),
    await login('no e-mail at all'),
  ];
  for (const { status, body: response } of responses) {
    expect([status, response.error.code, response.error.message, response.error.details]).toEqual([
      401,
      'UNAUTHORIZED',
      'Invalid email or password',
      undefined,
    ]);
  }
});

test.each<[string, unknown, unknown, string[]]>([
  ['an object as e-mail', { $gt: '' }, secret, ['email']],
  ['a list as password', 'a@b.co', [secret], ['password']],
  ['nothing', undefined, undefined, ['email', 'password']],
  ['null', null, null, ['email', 'password']],
  ['NUL in the e-mail', 'a\0@b.co', secret, ['email']],
  ['a broken character', 'a\ud800@b.co', secret, ['email']],
  ['a password of 129 characters', 'a@b.co', 'x'.repeat(129), ['password']],
  ['a password of a megabyte', 'a@b.co', 'x'.repeat(900_000), ['password']],
  ['an e-mail of a megabyte', 'x'.repeat(900_000), secret, ['email']],
])('login with %s responds 422 and hashes nothing', async (_what, email, password, fields) => {
  const { status, body } = await call('POST', '/api/auth/login', { email, password });
  expect([status, Object.keys(body.error.details).sort()]).toEqual([422, fields]);
});

test('a password of 128 code points is accepted', async () => {
  const body = account({ password: '💚💙'.repeat(64) });
  expect((await register(body)).status).toBe(201);
  expect((await login(body.email, body.password)).status).toBe(200);
});

test('a disabled account: 403 for the right password, 401 for a wrong one; its sessions end on the next request', async () => {
  const ann = await person('Ann');
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(200);
  await app.service('user').update(ann.id, { status: 'disabled' });
  const { status, body } = await ann.call('GET', '/api/auth/me');
  expect([status, body.error.message]).toEqual([401, 'Session is invalid or has expired']);
  expect((await login(ann.email)).status).toBe(403);
  expect((await login(ann.email, 'wrong horse battery')).status).toBe(401);
  await app.service('user').update(ann.id, { status: 'active' });
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(200);
});

test('an account that is being erased: 403 for the right password, 401 for a wrong one and for its sessions', async () => {
  const ann = await person('Ann');
  await database.query(`update users set status = 'deleting' where id = $1`, [ann.id]);
  expect((await login(ann.email)).status).toBe(403);
  expect((await login(ann.email, 'wrong horse battery')).status).toBe(401);
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(401);
});

test('logout ends the current session at once in every process, and no other session', async () => {
  const ann = await person('Ann');
  const second = createClient(url, (await login(ann.email)).body.data.token);
  expect((await ann.call('POST', '/api/auth/logout')).status).toBe(204);
  const { status, body } = await ann.call('GET', '/api/auth/me');
  expect([status, body.error.message]).toEqual([401, 'Session is invalid or has expired']);
  expect((await ann.call('GET', '/api/notes')).status).toBe(401);
  expect((await second('GET', '/api/auth/me')).status).toBe(200);
  expect((await call('POST', '/api/auth/logout')).status).toBe(401);
});

test('deleting a user ends their sessions', async () => {
  const ann = await person('Ann');
  await app.service('user').delete(ann.id);
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await login(ann.email)).status).toBe(401);
});

test('an expired session responds 401', async () => {
  const ann = await person('Ann');
  await database.query(`update sessions set expires_at = now() - interval '1 second' where user_id = $1`, [ann.id]);
  const { status, body } = await ann.call('GET', '/api/notes');
  expect([status, body.error.message]).toEqual([401, 'Session is invalid or has expired']);
});

test('lastUsedAt is refreshed at most every five minutes', async () => {
  const ann = await person('Ann');
  const used = async () =>
    (await database.query('select last_used_at as at from sessions where user_id = $1', [ann.id])).rows[0].at.getTime();
  const first = await used();
  await ann.call('GET', '/api/auth/me');
  expect(await used()).toBe(first);
  await database.query(`update sessions set last_used_at = now() - interval '6 minutes' where user_id = $1`, [ann.id]);
  await ann.call('GET', '/api/auth/me');
  await expect.poll(async () => Date.now() - (await used())).toBeLessThan(60_000);
});

test('a process whose clock is an hour off starts sessions of the same length and refreshes lastUsedAt correctly', async () => {
  onTestFinished(() => void vi.useRealTimers());
  const row = async (id: string) =>
    (await database.query('select *, xmin from sessions where user_id = $1', [id])).rows[0];
  for (const hours of [-1, 1]) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + hours * 3_600_000 });
    const ann = await person('Ann');
    const { created_at, expires_at, xmin } = await row(ann.id);
    expect(expires_at.getTime() - created_at.getTime()).toBe(30 * 86_400_000);
    await ann.call('GET', '/api/auth/me');
    expect((await row(ann.id)).xmin).toBe(xmin);
    await database.query(`update sessions set last_used_at = now() - interval '6 minutes' where user_id = $1`, [
      ann.id,
    ]);
    await Promise.all(Array.from({ length: 20 }, () => ann.call('GET', '/api/auth/me')));
    await expect.poll(async () => (await row(ann.id)).last_used_at > created_at).toBe(true);
    vi.useRealTimers();
  }
});

const someone = await person('Someone');
test.each([
  ['empty', ''],
  ['the scheme alone', 'Bearer'],
  ['the scheme and a space', 'Bearer '],
  ['two spaces', `Bearer  ${someone.token}`],
  ['another scheme', `Basic ${someone.token}`],
  ['no scheme', someone.token],
  ['an unknown token', `Bearer svc_${'0'.repeat(64)}`],
  ['a token in upper case', `Bearer ${someone.token.toUpperCase()}`],
  ['a token cut short', `Bearer ${someone.token.slice(0, -1)}`],
  ['two tokens', `Bearer ${someone.token} ${someone.token}`],
  ['a list', `Bearer ${someone.token}, Bearer ${someone.token}`],
  ['ten kilobytes', `Bearer ${'x'.repeat(10_000)}`],
  ['not ASCII', 'Bearer svc_é'],
  ['junk', `Bearer ${Buffer.from('{"alg":"none"}').toString('base64')}..`],
])('an Authorization header that is %s gets 401 on every route, public ones included', async (_what, authorization) => {
  for (const path of ['/api/auth/me', '/api/notes']) {
    const { status, body } = await call('GET', path, undefined, { authorization });
    expect([status, body.error.code]).toEqual([401, 'UNAUTHORIZED']);
    expect(body.error.message).toBe('Session is invalid or has expired');
  }
  expect((await call('POST', '/api/auth/login', {}, { authorization: 'Bearer x' })).status).toBe(401);
});

test('the authorization scheme is case-insensitive', async () => {
  expect((await call('GET', '/api/auth/me', undefined, { authorization: `bearer ${someone.token}` })).status).toBe(200);
});

test('a token is accepted only in the Authorization header', async () => {
  expect((await call('GET', `/api/auth/me?token=${someone.token}&access_token=${someone.token}`)).status).toBe(401);
  expect(
    (await call('GET', '/api/auth/me', undefined, { cookie: `token=${someone.token}; session=${someone.token}` }))
      .status,
  ).toBe(401);
  expect((await call('GET', '/api/auth/me', undefined, { 'x-access-token': someone.token })).status).toBe(401);
});

test('GET me returns the same record as GET /users/:id for that user', async () => {
  const ann = await person('Ann');
  const me = (await ann.call('GET', '/api/auth/me')).body.data;
  expect(me).toEqual((await ann.call('GET', `/api/users/${ann.id}`)).body.data);
  expect(me).not.toHaveProperty('rank');
  expect(me).not.toHaveProperty('password');
  expect((await call('GET', '/api/auth/me')).status).toBe(401);
});

test('PATCH me applies the rules of the user resource: e-mail, roles, status and password cannot be changed there', async () => {
  const ann = await person('Ann');
  const changed = await ann.call('PATCH', '/api/auth/me', {
    name: 'Anna',
    phone: '2',
    avatarUrl: 'https://example.com/a.png',
  });
  expect([changed.status, changed.body.data]).toMatchObject([
    200,
    { name: 'Anna', phone: '2', avatarUrl: 'https://example.com/a.png' },
  ]);
  const { status, body } = await ann.call('PATCH', '/api/auth/me', {
    email: 'x@y.zz',
    roles: ['admin'],
    status: 'disabled',
    password: secret,
    rank: 1,
  });
  expect([status, body.error.details]).toEqual([
    422,
    {
      email: 'Cannot be changed after creation',
      roles: 'You are not allowed to set this field',
      status: 'You are not allowed to set this field',
      password: 'Use POST /api/auth/password (or the reset flow) to change passwords',
      rank: 'Is read-only',
    },
  ]);
  expect((await call('PATCH', '/api/auth/me', {})).status).toBe(401);
});

test('the user resource has its own policies: only admins list users, the owner and admins read one', async () => {
  const [ann, ben, admin] = [await person('Ann'), await person('Ben'), await person('Root', ['user', 'admin'])];
  expect((await ann.call('GET', '/api/users')).status).toBe(403);
  expect((await call('GET', '/api/users')).status).toBe(401);
  expect((await ann.call('GET', `/api/users/${ben.id}`)).status).toBe(404);
  expect((await ann.call('PATCH', `/api/users/${ben.id}`, { name: 'x' })).status).toBe(404);
  expect((await ann.call('POST', '/api/users', account())).status).toBe(403);
  expect((await ann.call('DELETE', `/api/users/${ann.id}`)).status).toBe(403);
  const list = await admin.call('GET', `/api/users?email=${ben.email}&q=be&sort=name`);
  expect(list.body.data).toMatchObject([{ id: ben.id, email: ben.email, roles: ['user'] }]);
  const raised = await admin.call('PATCH', `/api/users/${ben.id}`, { roles: ['user', 'admin'], status: 'active' });
  expect(raised.body.data.roles).toEqual(['user', 'admin']);
  expect((await admin.call('PATCH', `/api/users/${ben.id}`, { roles: ['root'] })).status).toBe(422);
  expect((await admin.call('POST', '/api/users', account({ roles: ['admin'] }))).status).toBe(201);
});

test('tokens and passwords are stored only as hashes, and no event or outbox row contains them', async () => {
  const body = account({ password: 'a very secret passphrase' });
  const { token, user: one } = (await register(body)).body.data;
  await login(body.email, 'wrong secret passphrase');
  const { rows } = await database.query('select token_hash from sessions where user_id = $1', [one.id]);
  expect(rows).toEqual([{ token_hash: createHash('sha256').update(token).digest('hex') }]);
  const stored = (await database.query('select password from users where id = $1', [one.id])).rows[0].password;
  expect(stored).toMatch(/^\$scrypt\$ln=4,r=8,p=1\$/);
  for (const table of ['outbox', 'sessions', 'users']) {
    const text = JSON.stringify((await database.query(`select to_jsonb(t) as row from "${table}" t`)).rows);
    expect(text).not.toContain('secret passphrase');
    expect(text).not.toContain(token);
    if (table !== 'users') expect(text).not.toContain(stored.slice(0, 30));
  }
  const eventsText =
    JSON.stringify(events) +
    JSON.stringify(
      Object.values(events)
        .flat()
        .map((event) => ({ ...(event as { user?: object }).user })),
    );
  expect(eventsText).not.toContain('secret passphrase');
  expect(eventsText).not.toContain(token);
  expect(eventsText).not.toContain('$scrypt$');
});

test('X-Forwarded-For from an untrusted peer is ignored', async () => {
  const headers = { 'x-forwarded-for': '203.0.113.9', 'user-agent': 'x'.repeat(2000) };
  const { user: one } = (await call('POST', '/api/auth/register', account(), headers)).body.data;
  const { rows } = await database.query('select ip, user_agent from sessions where user_id = $1', [one.id]);
  expect(rows[0].ip).toMatch(/127\.0\.0\.1|::1/);
  expect(rows[0].user_agent).toHaveLength(512);
});

test('registration, login and a failed login emit events', async () => {
  const count = (name: string) => events[name]!.length;
  const before = ['auth.registered', 'auth.login', 'security.login_failed'].map(count);
  const body = account();
  await register(body);
  await login(body.email);
  await login(body.email, 'wrong horse battery');
  expect(['auth.registered', 'auth.login', 'security.login_failed'].map(count)).toEqual(before.map((n) => n + 1));
});

const upgraded = await startTestApp({ resources: [defineUser()], settings: costly });

test('after the hash parameters are raised, the next login upgrades the hash, even with twelve concurrent logins', async () => {
  const other = new Client({ connectionString: upgraded.env.DATABASE_URL! });
  await other.connect();
  const hash = async () => (await other.query('select password from users')).rows[0].password;
  await upgraded.call('POST', '/api/auth/register', account({ email: 'up@example.com' }));
  expect(await hash()).toMatch(/^\$scrypt\$ln=6,/);
  const cheap = (await database.query('select password, email from users limit 1')).rows[0];
  const known = account();
  await register(known);
  const old = (await database.query('select password from users where email = $1', [known.email])).rows[0].password;
  expect(cheap.password).toMatch(/ln=4/);
  await other.query('update users set password = $1', [old]);
  const many = Array.from({ length: 12 }, () =>
    upgraded.call('POST', '/api/auth/login', { email: 'up@example.com', password: secret }),
  );
  expect((await Promise.all(many)).map(({ status }) => status)).toEqual(Array(12).fill(200));
  expect(await hash()).toMatch(/^\$scrypt\$ln=6,/);
  await other.query('update users set password = $1', [old]);
  const again = await upgraded.call('POST', '/api/auth/login', { email: 'up@example.com', password: secret });
  expect(again.status).toBe(200);
  expect(await hash()).toMatch(/^\$scrypt\$ln=6,/);
  expect((await upgraded.call('POST', '/api/auth/login', { email: 'up@example.com', password: secret })).status).toBe(
    200,
  );
  await other.end();
});

const slow = await startTestApp({
  resources: [defineUser()],
  // Hashing takes most of the time of a login, so a missing hash would show.
  settings: { auth: { password: { logN: 13, r: 8, p: 1 }, lockout: { maxAttempts: 0 } } },
});

test('login takes equally long for an unknown e-mail, a wrong password and a disabled account', {
  timeout: 120_000,
}, async () => {
  const emails = ['active@example.com', 'disabled@example.com', 'nobody@example.com'];
  for (const email of emails.slice(0, 2)) await slow.call('POST', '/api/auth/register', account({ email }));
  const { data } = await slow.app.service('user').list({ email: 'disabled@example.com' });
  await slow.app.service('user').update(data[0]!.id, { status: 'disabled' });
  const times = new Map<string, number[]>(emails.map((email) => [email, []]));
  const quickest = () => [...times.values()].map((list) => Math.min(...list));
  const areAlike = () => Math.max(...quickest()) < 2 * Math.min(...quickest());
  // The quickest attempts show the work of each case. A busy machine slows single attempts, so it gets more of them.
  for (let round = 0; round < 15 || (round < 150 && !areAlike()); round++) {
    for (const email of emails) {
      const before = performance.now();
      await slow.call('POST', '/api/auth/login', { email, password: 'wrong horse battery' });
      times.get(email)!.push(performance.now() - before);
    }
  }
  expect(areAlike(), JSON.stringify(quickest())).toBe(true);
});
