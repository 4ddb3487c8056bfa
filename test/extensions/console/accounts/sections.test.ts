import { expect, test } from 'vitest';
import { openMailbox } from '../../../support/mailbox.ts';
import { startAccountsApp } from './accounts-app.ts';

const SECTIONS = '/console/api/accounts/sections';
const { app, call, person, database } = await startAccountsApp('development');

const pending = async () => (await call('GET', `${SECTIONS}/invitations`)).body.data;

test('an address without an account is locked and unlocked like any other', async () => {
  const email = 'nobody@example.com';
  for (const _ of [1, 2, 3]) await call('POST', '/api/auth/login', { email, password: 'wrong' });
  const lookUp = () => call('GET', `${SECTIONS}/lockouts?search=${email}`);
  expect((await lookUp()).body.data).toMatchObject([{ id: email, values: { user: null, failures: 'Locked' } }]);
  expect((await call('POST', `${SECTIONS}/lockouts/lockoutCleared`, { row: email })).status).toBe(204);
  expect((await call('POST', '/api/auth/login', { email, password: 'wrong' })).status).toBe(401);
  expect((await lookUp()).body.data).toMatchObject([{ values: { failures: '1 of 3' } }]);
});

test('the look-up needs an address', async () => {
  expect((await call('GET', `${SECTIONS}/lockouts`)).body.data).toEqual([]);
  expect((await call('GET', `${SECTIONS}/lockouts?search=nonsense`)).status).toBe(422);
  expect((await call('GET', `${SECTIONS}/lockouts?search=a%00@example.com`)).status).toBe(422);
  expect((await call('POST', `${SECTIONS}/lockouts/lockoutCleared`, { row: 'nonsense' })).status).toBe(422);
});

test('an invitation of the system registers a user with its roles', async () => {
  const email = 'guest@example.com';
  const sent = await call('POST', `${SECTIONS}/invitations/invitationSent`, { email, roles: ['editor'] });
  expect(sent.status).toBe(204);
  const [row] = await pending();
  expect(row).toMatchObject({ values: { email, roles: ['editor'], invitedBy: 'System' } });
  const mailbox = openMailbox(app, email);
  const first = await mailbox.next('You are invited');
  expect((await call('POST', `${SECTIONS}/invitations/invitationResent`, { row: row.id })).status).toBe(204);
  const { token } = await mailbox.next('You are invited');
  const accept = (given: string) =>
    call('POST', '/api/auth/invitations/accept', { token: given, name: 'Guest', password: 'correct horse battery' });
  expect((await accept(first.token)).body.error.code).toBe('INVALID_TOKEN');
  expect((await accept(token)).body.data.user).toMatchObject({ email, roles: ['user', 'editor'] });
  expect(await pending()).toEqual([]);
  const accepted = await call('GET', `${SECTIONS}/invitations?state=accepted`);
  expect(accepted.body.data).toMatchObject([{ id: row.id, actions: [] }]);
});

test('a revoked invitation no longer works, and revoking it again says that it is gone', async () => {
  const email = 'never@example.com';
  await call('POST', `${SECTIONS}/invitations/invitationSent`, { email, roles: [] });
  const { token } = await openMailbox(app, email).next('You are invited');
  const [row] = await pending();
  const revoke = () => call('POST', `${SECTIONS}/invitations/invitationRevoked`, { row: row.id });
  expect([(await revoke()).status, (await revoke()).status]).toEqual([204, 404]);
  expect((await call('POST', '/api/auth/invitations/preview', { token })).body.error.code).toBe('INVALID_TOKEN');
});

test('the form reports each wrong field', async () => {
  const send = (body: object) => call('POST', `${SECTIONS}/invitations/invitationSent`, body);
  expect((await send({ email: 'nonsense' })).body.error.details).toHaveProperty('email');
  expect((await send({ email: 'a@example.com', roles: ['owner'] })).body.error.details).toHaveProperty('roles');
  expect((await send({ email: 'a@example.com', invitedBy: 'x' })).status).toBe(422);
  await send({ email: 'a@example.com' });
  expect((await send({ email: 'a@example.com' })).body.error.code).toBe('CONFLICT');
});

test('expired invitations are a state of their own, and lists have pages', async () => {
  for (const number of [1, 2, 3])
    await call('POST', `${SECTIONS}/invitations/invitationSent`, { email: `late${number}@example.com` });
  await database.query(`update invitations set expires_at = now() - interval '1 day' where email like 'late%'`);
  const read = (query: string) => call('GET', `${SECTIONS}/invitations?state=expired&limit=2${query}`);
  const first = await read('');
  expect(first.body.data).toHaveLength(2);
  expect((await read(`&after=${first.body.meta.next}`)).body).toMatchObject({ data: [{}], meta: { next: null } });
});

test('sections refuse states, pages and parameters that do not exist', async () => {
  for (const query of ['?state=lost', '?after=nonsense', '?limit=0', '?more=1'])
    expect((await call('GET', `${SECTIONS}/invitations${query}`)).status, query).toBe(400);
  expect((await call('GET', `${SECTIONS}/nonsense`)).status).toBe(404);
});

test('the invitations of users are listed with their inviter', async () => {
  const admin = await person('Boss', ['user', 'admin']);
  await admin.call('POST', '/api/invitations', { email: 'by-boss@example.com', roles: ['support'] });
  expect(await pending()).toContainEqual(
    expect.objectContaining({ values: expect.objectContaining({ invitedBy: admin.id, roles: ['support'] }) }),
  );
});
