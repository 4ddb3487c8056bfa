import { expect, test } from 'vitest';
import { defineUser, f, invitations } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';
import { password, startInvitationApp } from './setup.ts';

const { app, call, url, createPerson, invite, accept, preview, verify } = await startInvitationApp({});
const admin = await createPerson(['admin']);

test('a user who is signed in to the invited account keeps their password and sessions, and the address is verified', async () => {
  const ada = await createPerson();
  const { token } = await invite(admin.call, { email: ada.email, roles: ['editor'] });
  expect((await preview(token)).body.data).toMatchObject({ mode: 'claim', hasAccount: false });
  expect((await preview(token, ada.call)).body.data).toMatchObject({ mode: 'sign-in', hasAccount: true });
  const { body } = await accept({ token }, ada.call);
  expect(body.data.user).toMatchObject({
    id: ada.id,
    roles: ['user', 'editor'],
    emailVerifiedAt: expect.any(String),
  });
  expect((await ada.call('GET', '/api/auth/me')).status).toBe(200);
  expect((await call('POST', '/api/auth/login', { email: ada.email, password })).status).toBe(200);
});

test('the session of another account does not keep the creator of an unverified account from being removed', async () => {
  const [mallory, other] = [await createPerson(), await createPerson()];
  const { token } = await invite(admin.call, { email: mallory.email });
  expect((await accept({ token }, other.call)).body.data.user.id).toBe(mallory.id);
  expect((await mallory.call('GET', '/api/auth/me')).status).toBe(401);
});

test('the owner of the address replaces the fields that a stranger registered with, and sets the password afterwards', async () => {
  const email = 'wanted@example.com';
  await call('POST', '/api/auth/register', { name: 'Mallory', email, password, team: 'red' });
  const { token, text } = await invite(admin.call, { email, roles: ['editor'] });
  expect(text).toContain('create an account at');
  expect((await preview(token)).body.data).toMatchObject({ email, mode: 'claim', hasAccount: false });
  for (const [fields, details] of [
    [{ name: 'Ann', password }, { password: 'Set it after accepting, with POST /api/auth/password' }],
    [{ name: 'Ann', roles: ['admin'] }, { roles: 'You are not allowed to set this field' }],
    [{ name: 'Ann', titel: 'x' }, { titel: 'Unknown field' }],
    [{ name: '' }, { name: 'Is required' }],
    [{ email: 'other@example.com' }, { email: 'Must be the invited address' }],
  ] as const)
    expect((await accept({ token, ...fields })).body.error.details).toEqual(details);
  // Nothing has changed so far.
  expect((await call('POST', '/api/auth/login', { email, password })).status).toBe(200);
  const { body } = await accept({ token, email, name: 'Ann', team: 'blue' });
  expect(body.data.user).toMatchObject({ name: 'Ann', team: 'blue', roles: ['user', 'editor'] });
  expect((await call('POST', '/api/auth/login', { email, password })).status).toBe(401);
  const ann = createClient(url, body.data.token);
  const newPassword = 'a staple that is new';
  expect((await ann('POST', '/api/auth/password', { newPassword })).status).toBe(204);
  expect((await call('POST', '/api/auth/login', { email, password: newPassword })).status).toBe(200);
});

test('wrong passwords for the invited address do not lock the invitation', async () => {
  const email = 'guessed@example.com';
  const { token } = await invite(admin.call, { email });
  for (let i = 0; i < 5; i++) await call('POST', '/api/auth/login', { email, password: 'wrong horse battery' });
  expect((await call('POST', '/api/auth/login', { email, password })).status).toBe(429);
  expect((await accept({ token, name: 'Ann', password })).body.data.user).toMatchObject({ email });
});

test('many concurrent uses of one link claim an account once', async () => {
  const ada = await createPerson();
  const { token } = await invite(admin.call, { email: ada.email });
  const answers = await Promise.all(Array.from({ length: 10 }, () => accept({ token, name: 'Ann' })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.every(({ status }) => [200, 400, 409].includes(status))).toBe(true);
});

test('the preview of an address without an account asks for a registration, that of a verified account for a sign-in', async () => {
  const fresh = await invite(admin.call);
  expect((await preview(fresh.token)).body.data).toMatchObject({ mode: 'register', hasAccount: false });
  const ada = await createPerson();
  await verify(ada.id);
  const known = await invite(admin.call, { email: ada.email });
  expect((await preview(known.token)).body.data).toMatchObject({ mode: 'sign-in', hasAccount: true });
  expect((await accept({ token: known.token, name: 'Eve' }, ada.call)).body.error.details).toEqual({
    name: 'Unknown field',
  });
});

test.each([false, true])(
  'a disabled account is refused like by a login, and stays as it is (verified: %s)',
  async (isVerified) => {
    const ada = await createPerson();
    if (isVerified) await verify(ada.id);
    const { id, token } = await invite(admin.call, { email: ada.email, roles: ['editor'] });
    await app.service('user').update(ada.id, { status: 'disabled' }, { as: 'system' });
    const before = await app.service('user').read(ada.id);
    expect(await accept({ token })).toMatchObject({
      status: 403,
      body: { error: { code: 'FORBIDDEN', message: 'This account is disabled' } },
    });
    expect(await app.service('user').read(ada.id)).toEqual(before);
    const list = (await admin.call('GET', '/api/invitations')).body.data as { id: string; status: string }[];
    expect(list.find((one) => one.id === id)?.status).toBe('pending');
    await app.service('user').update(ada.id, { status: 'active' }, { as: 'system' });
    expect((await call('POST', '/api/auth/login', { email: ada.email, password })).status).toBe(200);
  },
);

test('an invited user gets the declared default of the roles and the roles of the invitation', async () => {
  const roles = f
    .array(f.enum(['member', 'editor', 'admin']))
    .default(['member'])
    .writableBy('admin');
  const other = await startTestApp(
    {
      resources: [defineUser({ fields: { roles } })],
      extensions: [invitations()],
    },
    { roles: 'all' },
  );
  const root = { name: 'Root', email: 'root@example.com', password, roles: ['admin' as const] };
  await other.app.service('user').create(root);
  const { body } = await other.call('POST', '/api/auth/login', { email: root.email, password });
  const inviter = createClient(other.url, body.data.token);
  await inviter('POST', '/api/invitations', { email: 'ann@example.com', roles: ['editor'] });
  const { token } = await openMailbox(other.app, 'ann@example.com').next();
  const accepted = await other.call('POST', '/api/auth/invitations/accept', { token, name: 'Ann' });
  expect(accepted.body.data.user.roles).toEqual(['member', 'editor']);
});

test('of twenty requests with one link at the same time, one registers and the others leave before their password is hashed', async () => {
  const created: string[] = [];
  const user = defineUser({ hooks: { beforeCreate: ({ email }) => void created.push(email) } });
  const own = await startTestApp({ resources: [user], extensions: [invitations()] }, { roles: 'all' });
  const root = await own.person('Root', ['user', 'admin']);
  const email = 'twenty@example.com';
  const mailbox = openMailbox(own.app, email);
  expect((await root.call('POST', '/api/invitations', { email })).status).toBe(201);
  const { token } = await mailbox.next('You are invited');
  const body = { token, name: 'Ann', password };
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => own.call('POST', '/api/auth/invitations/accept', body)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(400)]);
  expect(created.filter((one) => one === email)).toHaveLength(1);
});
