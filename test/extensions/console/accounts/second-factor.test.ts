import { expect, test } from 'vitest';
import type { Client, Person } from '../../../support/app.ts';
import { codeOf, forget, guard, wrongCode } from '../../two-factor/two-factor-user.ts';
import { startAccountsApp } from './accounts-app.ts';

const API = '/console/api/accounts';
const { person, database, insertPasskey } = await startAccountsApp('production', { policy: 'admin | support' });

const ADMINISTRATOR = ['user', 'admin'];
const root = await guard(await person('Guarded', ADMINISTRATOR), database);
const open = await person('Open', ADMINISTRATOR);

const giveRoles = (client: Client, { id }: Pick<Person, 'id'>, to: string[], code?: string) =>
  client('POST', `${API}/users/${id}/roles`, { from: ['user'], to, ...(code !== undefined && { code }) });
const resetFactor = (client: Client, { id }: Pick<Person, 'id'>, body: object = {}) =>
  client('POST', `${API}/users/${id}/panels/two-factor/twoFactorReset`, body);

async function rolesOf({ id }: Pick<Person, 'id'>): Promise<string[]> {
  return (await database.query('select roles from users where id = $1', [id])).rows[0].roles;
}

async function hasFactor({ id }: Pick<Person, 'id'>): Promise<boolean> {
  return (await database.query('select 1 from two_factors where user_id = $1', [id])).rows.length > 0;
}

test.each(['admin', 'support'])(
  'an administrator with two-factor login gives the role %s, which opens the console, only with a code',
  async (role) => {
    const user = await person('Rising');
    const to = ['user', role];
    expect((await giveRoles(root.call, user, to)).body.error.details).toEqual({ code: 'Is required' });
    const wrong = await giveRoles(root.call, user, to, wrongCode(root.secret));
    expect([wrong.status, Object.keys(wrong.body.error.details)]).toEqual([422, ['code']]);
    expect(await rolesOf(user)).toEqual(['user']);
    await forget(root, database);
    const code = codeOf(root.secret);
    expect((await giveRoles(root.call, user, to, code)).body.data.roles).toEqual(to);
    const read = async () =>
      (await root.call('GET', `/api/admin/audit?action=console.rolesChanged&record=${user.id}`)).body.data;
    await expect.poll(async () => (await read())[0]?.details, { timeout: 60_000 }).toEqual({ from: ['user'], to });
  },
);

test('other roles need no code, and taking the roles of an administrator away does', async () => {
  const user = await person('Editing');
  expect((await giveRoles(root.call, user, ['user', 'editor'])).status).toBe(200);
  const helper = await person('Falling', ADMINISTRATOR);
  const take = (body: object) =>
    root.call('POST', `${API}/users/${helper.id}/roles`, { from: ADMINISTRATOR, to: ['user'], ...body });
  expect((await take({})).body.error.details).toEqual({ code: 'Is required' });
  await forget(root, database);
  expect((await take({ code: codeOf(root.secret) })).status).toBe(200);
});

test('an administrator without two-factor login does not touch the second factors of users who may use the console', async () => {
  const boss = await guard(await person('Boss', ADMINISTRATOR), database);
  const helper = await guard(await person('Helper', ['user', 'support']), database);
  const passkey = await insertPasskey(boss.id, 'Laptop');
  // A passkey gives no code, so it does not help.
  await insertPasskey(open.id, 'Own');
  const panels = `${API}/users/${boss.id}/panels`;
  const refused = [
    await resetFactor(open.call, boss),
    await resetFactor(open.call, helper),
    await resetFactor(open.call, boss, { code: codeOf(boss.secret) }),
    await open.call('POST', `${panels}/two-factor/twoFactorUnlocked`, {}),
    await open.call('POST', `${panels}/passkeys/passkeyRemoved`, { row: passkey }),
  ];
  for (const { status, body } of refused)
    expect([status, body.error.message]).toEqual([403, expect.stringContaining('Turn on two-factor login')]);
  expect([await hasFactor(boss), await hasFactor(helper)]).toEqual([true, true]);
  await forget(root, database);
  expect((await resetFactor(root.call, boss, { code: codeOf(root.secret) })).status).toBe(204);
});

test('an administrator without two-factor login resets the second factor of a user who may not use the console', async () => {
  const user = await guard(await person('Customer'), database);
  expect((await resetFactor(open.call, user)).status).toBe(204);
  expect(await hasFactor(user)).toBe(false);
});
