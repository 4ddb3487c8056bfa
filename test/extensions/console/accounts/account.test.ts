import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { adminConsole, defineUser } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { openMailbox } from '../../../support/mailbox.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { guard, PASSWORD } from '../../two-factor/two-factor-user.ts';
import { factsOf, panelsOf, type ShownPanel, startAccountsApp } from './accounts-app.ts';

const API = '/console/api/accounts';
const { app, url, call, person, env, database, events, insertPasskey, insertIdentity } =
  await startAccountsApp('development');
/** An app with the console alone, which tests start with settings of their own. */
const declaration = { resources: [defineUser()], extensions: [adminConsole()] };

async function read(id: string) {
  const { status, body } = await call('GET', `${API}/users/${id}`);
  expect(status).toBe(200);
  return { ...body.data, panels: panelsOf(body.data) };
}

const act = (id: string, panel: string, action: string, body: object = {}) =>
  call('POST', `${API}/users/${id}/panels/${panel}/${action}`, body);

test('the page of a user has what every feature knows about the account, without tokens, hashes and secrets', async () => {
  const ada = await person('Ada');
  const guarded = await guard(ada, database);
  await insertPasskey(ada.id, '<img src=x onerror=alert(1)>');
  await insertIdentity(ada.id, 'google');
  const { body: key } = await ada.call('POST', '/api/auth/api-keys', { name: 'Backup script', scopes: ['read'] });
  await ada.call('POST', '/api/auth/devices', { token: 'd'.repeat(64), platform: 'ios', name: 'Phone' });
  const { panels, ...account } = await read(ada.id);
  expect(account).toMatchObject({ id: ada.id, email: ada.email, roles: ['user'], isActive: true, isSelf: false });
  expect(factsOf(panels.password!)).toEqual({ Password: 'Set', 'Failed sign-ins': 'None' });
  expect(panels.sessions!.rows).toHaveLength(1);
  expect(panels.sessions!.rows![0]!.values).toMatchObject({ device: 'Node.js', method: 'password' });
  expect(panels.devices!.rows![0]!.values).toMatchObject({ name: 'Phone', platform: 'ios' });
  expect(panels.identities!.rows![0]!.values).toMatchObject({ provider: 'google', email: 'at@provider.example' });
  expect(panels['api-keys']!.rows![0]!.values).toMatchObject({ name: 'Backup script', scopes: ['read'] });
  expect(factsOf(panels['two-factor']!)).toMatchObject({ 'Two-factor login': 'On', 'Recovery codes left': 10 });
  expect(panels.passkeys!.rows![0]!.values).toMatchObject({ name: '<img src=x onerror=alert(1)>' });
  expect(factsOf(panels['email-verification']!)).toMatchObject({ State: 'Not verified' });
  expect(panels.organisations!.rows).toEqual([]);
  expect(panels.webhooks).toMatchObject({ error: null });
  expect(panels.audit!.link!.href).toBe(`/console/audit?user=${ada.id}`);
  await expect.poll(async () => (await read(ada.id)).panels.audit!.rows!.length).toBeGreaterThan(0);
  const { columns, rows }: ShownPanel = (await read(ada.id)).panels.audit!;
  expect(columns![1]).toMatchObject({ label: 'Record', kind: 'record' });
  expect(rows!.map(({ values }) => values.record)).toContain(`user/${ada.id}`);
  const text = JSON.stringify(panels);
  for (const secret of [key.data.key, guarded.secret, ada.token, guarded.recoveryCodes[0]!, 'd'.repeat(64), 'scrypt'])
    expect(text).not.toContain(secret);
});

test('a panel that cannot be read says so, and the others are shown', async () => {
  const user = await person('Unlucky');
  await database.query('alter table passkeys rename to passkeys_away');
  const { panels } = await read(user.id);
  await database.query('alter table passkeys_away rename to passkeys');
  expect(panels.passkeys!.error).toContain('could not be read');
  expect(panels.sessions!.error).toBeNull();
});

test('ending one session signs that device out, and ending it again says that it has ended', async () => {
  const user = await person('Sam');
  const { body } = await call('POST', '/api/auth/login', { email: user.email, password: PASSWORD });
  const other = createClient(url, body.data.token);
  const [newest] = (await read(user.id)).panels.sessions!.rows!;
  expect((await act(user.id, 'sessions', 'sessionEnded', { row: newest!.id })).status).toBe(204);
  expect((await other('GET', '/api/auth/me')).status).toBe(401);
  expect((await user.call('GET', '/api/auth/me')).status).toBe(200);
  const again = await act(user.id, 'sessions', 'sessionEnded', { row: newest!.id });
  expect([again.status, again.body.error.message]).toEqual([404, 'This session has already ended']);
  expect((await act(user.id, 'sessions', 'sessionsEnded')).status).toBe(204);
  expect((await user.call('GET', '/api/auth/me')).status).toBe(401);
});

test('a row of another account cannot be reached through this account', async () => {
  const [one, two] = [await person('One'), await person('Two')];
  const [session] = (await read(two.id)).panels.sessions!.rows!;
  expect((await act(one.id, 'sessions', 'sessionEnded', { row: session!.id })).status).toBe(404);
  const passkey = await insertPasskey(two.id, 'Key');
  expect((await act(one.id, 'passkeys', 'passkeyRemoved', { row: passkey })).status).toBe(404);
  const identity = await insertIdentity(two.id, 'google');
  expect((await act(one.id, 'identities', 'identityUnlinked', { row: identity })).status).toBe(404);
  const { body } = await two.call('POST', '/api/auth/api-keys', { name: 'Key', scopes: ['read'] });
  expect((await act(one.id, 'api-keys', 'apiKeyRevoked', { row: body.data.id })).status).toBe(404);
  expect((await two.call('GET', '/api/auth/me')).status).toBe(200);
});

test.each([
  {},
  { row: '' },
  { row: '\u0000' },
  { row: '\ud800' },
  { row: 1 },
  { row: 'x'.repeat(321) },
  { row: 'a', more: true },
])('an action on a row refuses the body %j', async (body) => {
  const user = await person('Target');
  expect((await act(user.id, 'sessions', 'sessionEnded', body)).status).toBe(422);
});

test('keys, passkeys, providers and devices are removed with the events and e-mails of their features', async () => {
  const user = await person('Kim');
  const { body } = await user.call('POST', '/api/auth/api-keys', { name: 'Key', scopes: ['read'] });
  await user.call('POST', '/api/auth/devices', { token: 'e'.repeat(64), platform: 'ios' });
  const passkey = await insertPasskey(user.id, 'Laptop');
  const identity = await insertIdentity(user.id, 'github');
  const device = (await read(user.id)).panels.devices!.rows![0]!.id;
  const removals = [
    ['api-keys', 'apiKeyRevoked', body.data.id],
    ['passkeys', 'passkeyRemoved', passkey],
    ['identities', 'identityUnlinked', identity],
    ['devices', 'deviceRemoved', device],
  ] as const;
  for (const [panel, action, row] of removals) {
    expect((await act(user.id, panel, action, { row })).status).toBe(204);
    expect((await act(user.id, panel, action, { row })).status).toBe(404);
  }
  const { panels } = await read(user.id);
  expect(panels['api-keys']!.rows![0]).toMatchObject({ values: { status: 'revoked' }, actions: [] });
  expect([panels.passkeys!.rows, panels.devices!.rows, panels.identities]).toEqual([[], [], undefined]);
  const own = events.filter(([, { userId }]) => userId === user.id);
  expect(own.map(([name, { by }]) => [name, by])).toEqual([
    ['api_key_revoked', null],
    ['passkey_removed', null],
    ['identity_removed', null],
  ]);
  const mailbox = openMailbox(app, user.email);
  for (const subject of ['A passkey was removed from your account', 'A way to sign in to your account was removed'])
    expect((await mailbox.next(subject)).text).not.toContain('127.0.0.1');
});

test('resetting two-factor lets the user sign in with the password, and tells them', async () => {
  const user = await person('Lost');
  await guard(user, database);
  expect((await act(user.id, 'two-factor', 'twoFactorReset')).status).toBe(204);
  const { body } = await call('POST', '/api/auth/login', { email: user.email, password: PASSWORD });
  expect(body.data.token).toEqual(expect.any(String));
  const { text } = await openMailbox(app, user.email).next('Two-factor login is off');
  expect(text).toContain('by an administrator');
  const { panels } = await read(user.id);
  expect(panels['two-factor']!.actions).toEqual([]);
  const again = await act(user.id, 'two-factor', 'twoFactorReset');
  expect(again.body.error.message).toBe('Two-factor authentication is not enabled for this user');
});

test('wrong codes of a second factor are shown and cleared', async () => {
  const user = await person('Typo');
  await guard(user, database);
  await database.query(
    `update two_factors set failures = 5, locked_until = now() + interval '1 hour' where user_id = $1`,
    [user.id],
  );
  const before = (await read(user.id)).panels['two-factor']!;
  expect(factsOf(before)).toMatchObject({ 'Wrong codes in a row': 5, 'Locked until': expect.any(String) });
  expect((await act(user.id, 'two-factor', 'twoFactorUnlocked')).status).toBe(204);
  const { rows } = await database.query('select failures, locked_until from two_factors where user_id = $1', [user.id]);
  expect(rows).toEqual([{ failures: 0, locked_until: null }]);
});

test('a reset link and a verification link are sent again, and an address is marked as verified', async () => {
  const user = await person('Mail');
  const mailbox = openMailbox(app, user.email);
  await mailbox.next('Verify your e-mail address');
  expect((await act(user.id, 'password', 'passwordResetRequested')).status).toBe(204);
  expect((await mailbox.next('Choose a new password')).text).toContain('/reset-password?token=');
  expect((await act(user.id, 'email-verification', 'verificationMailRequested')).status).toBe(204);
  expect((await mailbox.next('Verify your e-mail address')).token).not.toBe('');
  expect((await act(user.id, 'email-verification', 'emailVerified')).status).toBe(204);
  const { emailVerifiedAt, panels } = await read(user.id);
  expect(emailVerifiedAt).toEqual(expect.any(String));
  expect(panels['email-verification']!.actions).toEqual([]);
  for (const action of ['emailVerified', 'verificationMailRequested'])
    expect((await act(user.id, 'email-verification', action)).body.error.code).toBe('CONFLICT');
});

test('failed sign-ins are shown and cleared on the page of the user, and by address', async () => {
  const user = await person('Locked');
  const attempt = (password: string) => call('POST', '/api/auth/login', { email: user.email, password });
  await attempt('wrong');
  expect(factsOf((await read(user.id)).panels.password!)).toMatchObject({ 'Failed sign-ins': '1 of 3 before a lock' });
  await attempt('wrong');
  await attempt('wrong');
  expect((await attempt(PASSWORD)).status).toBe(429);
  const locked = (await read(user.id)).panels.password!;
  expect(factsOf(locked)).toMatchObject({ 'Failed sign-ins': 'Locked', 'Locked until': expect.any(String) });
  const lookUp = () => call('GET', `${API}/sections/lockouts?search=${encodeURIComponent(user.email.toUpperCase())}`);
  const row = { id: user.email, values: { user: user.id, failures: 'Locked', lockedUntil: expect.any(String) } };
  expect((await lookUp()).body.data).toMatchObject([row]);
  expect((await act(user.id, 'password', 'lockoutCleared')).status).toBe(204);
  expect((await lookUp()).body.data).toMatchObject([
    { values: { failures: '0 of 3', lockedUntil: null }, actions: [] },
  ]);
  expect((await attempt(PASSWORD)).status).toBe(200);
});

test('while Redis is down, clearing a lock fails in every place, and the lock remains', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  const other = await startTestApp(
    { ...declaration, settings: { auth: { lockout: { maxAttempts: 1 } } } },
    { env: () => ({ REDIS_URL: proxy.url }), roles: ['web', 'relay'] },
  );
  const user = await other.person('Locked');
  await other.call('POST', '/api/auth/login', { email: user.email, password: 'wrong' });
  const limits = '/console/api/operations/limits';
  const { body } = await other.call('GET', `${limits}/lookup?q=${encodeURIComponent(user.email)}`);
  const { id } = body.data.lockouts[0];
  await proxy.close();

  const clearings = [
    () => other.call('POST', `${API}/users/${user.id}/panels/password/lockoutCleared`, {}),
    () => other.call('POST', `${API}/sections/lockouts/lockoutCleared`, { row: user.email }),
    () => other.call('POST', `${limits}/lockouts/${id}/clear`),
    () => other.call('POST', `${limits}/accounts/${user.id}/unlock`),
  ];
  for (const clear of clearings) {
    const { status, body: refused } = await clear();
    expect([status, refused.error.code]).toEqual([503, 'UNAVAILABLE']);
  }
  const redis = new Redis(env.REDIS_URL!);
  onTestFinished(() => redis.disconnect());
  expect(await redis.exists(`${other.env.REDIS_PREFIX}:lockout:${id}`)).toBe(1);
});

test('an administrator learns that an account has got all reset e-mails that its limit allows', async () => {
  const rateLimit = { enabled: true, auth: { limit: 3, windowMs: 600_000 } };
  const limited = await startTestApp({ ...declaration, settings: { rateLimit } }, { roles: 'all' });
  const user = await limited.person('Flooded');
  const send = () => limited.call('POST', `${API}/users/${user.id}/panels/password/passwordResetRequested`, {});
  expect((await send()).status).toBe(204);
  await expect.poll(async () => (await send()).status, { timeout: 30_000, interval: 200 }).toBe(429);
  const { body, headers } = await send();
  expect(body.error).toMatchObject({ code: 'RATE_LIMITED', message: expect.stringContaining('3 reset e-mails') });
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  const mails = (await limited.app.captured.mails()).filter(({ to }) => to === user.email);
  expect(mails.length).toBeLessThanOrEqual(3);
});
