import { expect, onTestFinished, test } from 'vitest';
import type { Extension, ExtensionHost } from '../../../src/declare/extension.ts';
import { createApp, defineExtension, defineUser, f, securityMails, twoFactor } from '../../../src/index.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { challenge, codeOf, forget, guard, verify } from '../two-factor/two-factor-user.ts';
import { CHROME, FIREFOX, HOME, PASSWORD, startSecurityApp } from './security-app.ts';

const IP = '203.0.113.7';

/** Creates an extension that passes its host on, so that a test can emit events and call accounts as other extensions do. */
function createProbe(): { probe: Extension; host(): ExtensionHost } {
  let given: ExtensionHost;
  const probe = defineExtension({
    name: 'probe',
    setup(host) {
      given = host;
      return {};
    },
  });
  return { probe, host: () => given };
}

const { probe, host } = createProbe();
const German = () => ({ subject: 'Ihr Passwort wurde geändert', text: 'Ihr Passwort wurde geändert.' });
const { call, app, person, database, signIn, mailsTo, devicesOf, untilDevices, untilSubjects, newcomer } =
  await startSecurityApp([securityMails(), twoFactor(), probe], { mailTexts: { 'password-changed': { de: German } } });
const emit = (name: string, payload: object) => host().events.emit(name, payload);

test.each<[event: string, details: object, subject: string, text: string]>([
  ['security.two_factor_enabled', {}, 'Two-factor login is on', 'two-factor login was turned on'],
  ['security.two_factor_disabled', { reason: 'user' }, 'Two-factor login is off', 'two-factor login was turned off'],
  ['security.recovery_code_used', { remaining: 3 }, 'A recovery code was used', 'a recovery code was used (3 left)'],
  [
    'security.identity_linked',
    { provider: 'google' },
    'A new way to sign in to your account',
    'signing in with google was added',
  ],
  [
    'security.identity_removed',
    { provider: 'google' },
    'A way to sign in to your account was removed',
    'signing in with google was removed',
  ],
  ['security.passkey_added', { passkeyId: 'p' }, 'A passkey was added to your account', 'a passkey was added'],
  ['security.passkey_removed', { passkeyId: 'p' }, 'A passkey was removed from your account', 'a passkey was removed'],
])(
  'the event %s sends an e-mail that states what happened, when and from where',
  async (event, details, subject, text) => {
    const ann = await newcomer();
    emit(event, { userId: ann.id, ip: IP, ...details });
    await untilSubjects(ann, [subject]);
    const [mail] = await mailsTo(ann);
    expect(mail!.text).toContain(`In your account at app.example.com, ${text} on 20`);
    expect(mail!.text).toContain(`UTC from ${IP}.`);
  },
);

test('a changed and a reset password send an e-mail', async () => {
  const ben = await person('Ben');
  const body = { currentPassword: PASSWORD, newPassword: 'another good password' };
  expect((await ben.call('POST', '/api/auth/password', body)).status).toBe(204);
  await untilSubjects(ben, ['Your password was changed']);
  await call('POST', '/api/auth/password/forgot', { email: ben.email });
  await untilSubjects(ben, ['Your password was changed', 'Choose a new password']);
  const [, token] = /token=([\w-]+)/.exec((await mailsTo(ben)).at(-1)!.text)!;
  const reset = await call('POST', '/api/auth/password/reset', { token, password: 'yet another password' });
  expect(reset.status).toBe(204);
  await untilSubjects(ben, ['Your password was changed', 'Choose a new password', 'Your password was changed']);
});

test('turning two-factor login on and off, and a sign-in with a recovery code, send e-mails', async () => {
  const cy = await guard(await person('Cy'), database);
  await untilSubjects(cy, ['Two-factor login is on']);
  const verified = await verify(call, await challenge(call, cy), cy.recoveryCodes[0]!, 'recovery');
  expect(verified.status).toBe(200);
  await forget(cy, database);
  await cy.call('POST', '/api/auth/2fa/disable', { password: PASSWORD, code: codeOf(cy.secret) });
  await untilSubjects(cy, ['Two-factor login is on', 'A recovery code was used', 'Two-factor login is off']);
  const used = (await mailsTo(cy)).find(({ subject }) => subject === 'A recovery code was used')!;
  expect(used.text).toContain('(9 left)');
});

test('an e-mail about an admin who turned two-factor login off says so, without the address of the admin', async () => {
  const [dee, admin] = [await guard(await person('Dee'), database), await person('Root', ['user', 'admin'])];
  const path = `/api/admin/users/${dee.id}/2fa`;
  expect((await admin.call('DELETE', path, {}, { 'x-forwarded-for': '198.51.100.9' })).status).toBe(204);
  await untilSubjects(dee, ['Two-factor login is on', 'Two-factor login is off']);
  const off = (await mailsTo(dee)).find(({ subject }) => subject === 'Two-factor login is off')!;
  expect(off.text).toContain('two-factor login was turned off by an administrator on');
  expect(off.text).not.toContain('198.51.100.9');
});

test('linking an identity sends an e-mail, but creating the account with one does not', async () => {
  const request = { headers: {}, socket: {}, ip: IP } as never;
  const { accounts, transaction } = host();
  const email = 'eve@example.com';
  const identity = { provider: 'google', subject: 'g-1', email, emailVerified: false, profile: { name: 'Eve' } };
  const { userId, created } = await accounts!.findOrCreateByIdentity(identity, request);
  expect(created).toBe(true);
  const github = { provider: 'github', subject: 'h-1' };
  await transaction((tx) => accounts!.linkIdentity(userId, github, tx, request));
  await untilSubjects({ email }, ['A new way to sign in to your account']);
  const [mail] = await mailsTo({ email });
  expect(mail!.text).toContain('signing in with github was added');
});

test('the device of an admin who created the account is not known as a device of the user', async () => {
  const request = { headers: { 'user-agent': FIREFOX }, socket: {}, ip: IP } as never;
  const email = 'invited@example.com';
  const values = { name: 'Guest', email };
  const user = await host().accounts!.createUser(values, request, { invited: true });
  const login = { user, ip: '198.51.100.4', method: 'email_link' };
  emit('auth.login', { ...login, userAgent: CHROME });
  await untilDevices(user, 1);
  emit('auth.login', { ...login, userAgent: FIREFOX });
  await untilSubjects({ email }, ['New sign-in to your account']);
  expect((await mailsTo({ email }))[0]!.text).toContain('with Firefox on Windows');
});

test('the recipient’s locale chooses the text', async () => {
  const fay = await newcomer({ locale: 'de-CH' });
  emit('auth.password_changed', { user: fay, ip: IP });
  await untilSubjects(fay, ['Ihr Passwort wurde geändert']);
});

test('nothing is sent to deleted and inactive users', async () => {
  const [gone, disabled, gus] = [await newcomer(), await newcomer(), await newcomer()];
  await app.service('user').update(disabled.id, { status: 'disabled' } as never);
  await app.service('user').delete(gone.id);
  for (const user of [gone, disabled, gus]) emit('auth.password_changed', { user, ip: IP });
  await untilSubjects(gus, ['Your password was changed']);
  const unsent = async () => (await database.query('select from mails where finished_at is null')).rowCount;
  await expect.poll(unsent, { timeout: 60_000 }).toBe(0);
  expect([...(await mailsTo(gone)), ...(await mailsTo(disabled))]).toEqual([]);
});

test('the address of the recipient is read when the e-mail is sent', async () => {
  const services = await createTestDatabase();
  const variables = {
    NODE_ENV: 'test',
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
    REDIS_PREFIX: services.redisPrefix,
  };
  const { probe: other, host: otherHost } = createProbe();
  const create = () => createApp({ resources: [defineUser()], extensions: [securityMails(), other] }, variables);
  const [web, worker] = [create(), create()];
  onTestFinished(async () => {
    await Promise.all([web.close(), worker.close()]);
    await services.drop();
  });
  await web.migrate({ mode: 'sync' });
  await web.start({ port: 0, roles: ['web'] });
  const values = { name: 'Hal', email: 'hal@example.com', password: PASSWORD };
  const { id } = await web.service('user').create(values);
  otherHost().events.emit('auth.password_changed', { user: { id }, ip: IP });
  const queued = async () => (await otherHost().database.read({ text: 'select 1 from mails', values: [] })).length;
  await expect.poll(queued, { timeout: 60_000 }).toBe(1);
  await web.service('user').update(id, { email: 'hal@new.example.com' });
  await worker.start({ roles: ['relay', 'push-worker'] });
  const sent = async () => (await worker.captured.mails()).map(({ to }) => to);
  await expect.poll(sent, { timeout: 60_000 }).toEqual(['hal@new.example.com']);
});

test('exports contain when a device was used, without its fingerprint, and an erasure removes the devices', async () => {
  const ida = await newcomer();
  await signIn(ida, HOME);
  await untilDevices(ida, 1);
  const data = host()
    .userData()
    .find(({ name }) => name === 'knownDevices')!;
  const rows = await Array.fromAsync(data.rows(ida.id));
  expect(rows).toEqual([{ firstSeenAt: expect.stringMatching(/^20/), lastSeenAt: expect.stringMatching(/^20/) }]);
  expect(await data.erase(ida.id)).toBe(1);
  expect(await data.erase(ida.id)).toBe(0);
  expect(await devicesOf(ida)).toEqual([]);
});

test.each([
  ['account_claimed', undefined, []],
  ['user_deleted', undefined, []],
  ['email_change_undone', '2026-06-01T00:00:00.000Z', ['old']],
  ['password_reset', undefined, ['old', 'new']],
  ['logout_all', undefined, ['old', 'new']],
] as const)(
  'after the revocation %s the devices that a stranger may have used are unknown',
  async (cause, since, left) => {
    const jon = await newcomer();
    await database.query(
      `insert into known_devices (user_id, fingerprint, first_seen_at, last_seen_at)
     values ($1, 'old', '2026-05-31', '2026-06-02'), ($1, 'new', '2026-06-02', '2026-06-03')`,
      [jon.id],
    );
    await host().transaction((tx) => host().accounts!.revoke({ cause, userIds: [jon.id], since }, tx));
    expect((await devicesOf(jon)).map(({ fingerprint }) => fingerprint)).toEqual(left);
  },
);

test('a sign-in succeeds although its device cannot be recorded', async () => {
  const kim = await newcomer();
  await database.query('alter table known_devices rename to known_devices_away');
  try {
    await signIn(kim, HOME);
  } finally {
    await database.query('alter table known_devices_away rename to known_devices');
  }
});

test.each([
  [{ newDevices: false }, 'newDevices'],
  [{ newDevice: 'no' }, 'must be true or false'],
  [{ maxPerDay: 0 }, 'must be a whole number from 1 to 1000'],
])('the settings %j are a configuration error', (settings, text) => {
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' };
  const create = (resources: ReturnType<typeof defineUser>[], extension: Extension) => () =>
    createApp({ resources, extensions: [extension] }, env);
  expect(create([defineUser({ fields: { bio: f.text() } }) as never], securityMails(settings as object))).toThrow(text);
  expect(create([], securityMails())).toThrow('declare a user resource with defineUser');
});
