import { expect, test, vi } from 'vitest';
import { createClient } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';
import { INVALID, password, startInvitationApp } from './setup.ts';

const blocked = new Set<string>();
const isTrusted = (name: unknown, hasRequest: boolean) =>
  name === 'Trusted' || (name === 'Trusted in requests' && hasRequest);
const { app, call, url, sql, createPerson, invite, accept, preview, verify } = await startInvitationApp({
  policy: ['admin | editor', ({ user, req }) => isTrusted(user?.name, req !== undefined) && !blocked.has(user!.id)],
});
const admin = await createPerson(['admin']);
const asSystem = { as: 'system' } as const;
const pendingOf = async (id: string) =>
  (await sql.query('select 1 from invitations where invited_by = $1 and accepted_at is null', [id])).rowCount;

test.each([
  ['disabled', (id: string) => app.service('user').update(id, { status: 'disabled' }, asSystem)],
  ['demoted', (id: string) => app.service('user').update(id, { roles: ['user'] }, asSystem)],
])('an invitation does not work while its inviter is %s, and works again afterwards', async (_what, change) => {
  const editor = await createPerson(['user', 'editor']);
  const { token } = await invite(editor.call);
  await change(editor.id);
  expect((await preview(token)).body.error).toMatchObject(INVALID);
  const refused = await accept({ token, name: 'Ann' });
  expect(refused).toMatchObject({ status: 400, body: { error: INVALID } });
  await app.service('user').update(editor.id, { status: 'active', roles: ['user', 'editor'] }, asSystem);
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test('an invitation with roles needs an inviter who can still set them', async () => {
  const former = await createPerson(['admin']);
  const granting = await invite(former.call, { roles: ['admin'] });
  const plain = await invite(former.call);
  await app.service('user').update(former.id, { roles: ['user', 'editor'] }, asSystem);
  expect((await accept({ token: granting.token, name: 'Ann' })).body.error).toMatchObject(INVALID);
  expect((await accept({ token: plain.token, name: 'Ann' })).status).toBe(200);
});

test('functions of the policy decide about the inviter when the invitation is accepted, without a request', async () => {
  const trusted = await createPerson();
  await app.service('user').update(trusted.id, { name: 'Trusted' }, asSystem);
  const { token } = await invite(trusted.call);
  blocked.add(trusted.id);
  expect((await accept({ token, name: 'Ann' })).body.error).toMatchObject(INVALID);
  blocked.delete(trusted.id);
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test('no e-mail is sent, and no link is created, for an inviter who has lost the right to invite', async () => {
  const trusted = await createPerson();
  await app.service('user').update(trusted.id, { name: 'Trusted in requests' }, asSystem);
  const email = 'nobody@example.com';
  const { body } = await trusted.call('POST', '/api/invitations', { email });
  const isComposed = async () => {
    const waiting = `select 1 from mails where data->>'invitation' = $1`;
    return (await sql.query(waiting, [body.data.id])).rowCount === 0;
  };
  await vi.waitUntil(isComposed);
  expect(await openMailbox(app, email).count()).toBe(0);
  const { rows } = await sql.query('select token_hash from invitations where id = $1', [body.data.id]);
  expect(rows).toEqual([{ token_hash: null }]);
});

test('an invitation whose inviter can no longer invite is not resent, and its link is not replaced', async () => {
  const editor = await createPerson(['user', 'editor']);
  const { id, token, mailbox } = await invite(editor.call);
  await app.service('user').update(editor.id, { roles: ['user'] }, asSystem);
  expect(await admin.call('POST', `/api/invitations/${id}/resend`)).toMatchObject({
    status: 409,
    body: { error: { message: 'The inviter can no longer invite; revoke this invitation and create a new one' } },
  });
  expect(await mailbox.count()).toBe(1);
  await app.service('user').update(editor.id, { roles: ['user', 'editor'] }, asSystem);
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test('only a caller who can grant the roles of an invitation resends it', async () => {
  const former = await createPerson(['admin']);
  const { id, token, mailbox } = await invite(former.call, { roles: ['editor'] });
  await app.service('user').update(former.id, { roles: ['user', 'editor'] }, asSystem);
  expect(await former.call('POST', `/api/invitations/${id}/resend`)).toMatchObject({
    status: 403,
    body: { error: { message: 'You are not allowed to grant the roles of this invitation' } },
  });
  expect(await mailbox.count()).toBe(1);
  await app.service('user').update(former.id, { roles: ['user', 'admin'] }, asSystem);
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test.each([
  ['a password reset of the inviter', true],
  ['a password reset that claims the account of the inviter', false],
])('%s ends all their pending invitations', async (_what, isVerified) => {
  const editor = await createPerson(['user', 'editor']);
  if (isVerified) await verify(editor.id);
  const { token } = await invite(editor.call);
  await call('POST', '/api/auth/password/forgot', { email: editor.email });
  const reset = await openMailbox(app, editor.email).next('Choose a new password');
  const resetToken = /token=([\w-]+)/.exec(reset.text)![1];
  const body = { token: resetToken, password: 'a staple that is new' };
  expect((await call('POST', '/api/auth/password/reset', body)).status).toBe(204);
  expect(await pendingOf(editor.id)).toBe(0);
  expect((await accept({ token, name: 'Ann' })).body.error).toMatchObject(INVALID);
});

test('undoing a change of the address ends all pending invitations of the inviter, also those from before the change', async () => {
  const editor = await createPerson(['user', 'editor']);
  await verify(editor.id);
  const { token } = await invite(editor.call);
  const newAddress = `new-${editor.email}`;
  await editor.call('POST', '/api/auth/email', { email: newAddress });
  const change = await openMailbox(app, newAddress).next();
  expect((await editor.call('POST', '/api/auth/email/confirm', { token: change.token })).status).toBe(200);
  const { token: undo } = await openMailbox(app, editor.email).next('Your e-mail address was changed');
  expect((await call('POST', '/api/auth/email/undo', { token: undo })).status).toBe(204);
  expect(await pendingOf(editor.id)).toBe(0);
  expect((await accept({ token, name: 'Ann' })).body.error).toMatchObject(INVALID);
});

test('a change of the password and the end of all sessions keep the invitations of the inviter', async () => {
  const editor = await createPerson(['user', 'editor']);
  const { token } = await invite(editor.call);
  const change = { currentPassword: password, newPassword: 'a staple that is new' };
  expect((await editor.call('POST', '/api/auth/password', change)).status).toBe(204);
  await editor.call('POST', '/api/auth/logout-all');
  expect((await accept({ token, name: 'Ann' })).status).toBe(200);
});

test('API keys cannot use invitations, whatever their scopes', async () => {
  const { id } = await invite(admin.call);
  const { body } = await admin.call('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['*'] });
  const key = createClient(url, body.data.key);
  for (const [method, path] of [
    ['POST', '/api/invitations'],
    ['GET', '/api/invitations'],
    ['POST', `/api/invitations/${id}/resend`],
    ['DELETE', `/api/invitations/${id}`],
  ] as const)
    expect((await key(method, path, method === 'POST' ? { email: 'x@example.com' } : undefined)).status).toBe(403);
  expect((await admin.call('DELETE', `/api/invitations/${id}`)).status).toBe(204);
});
