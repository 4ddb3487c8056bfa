import { describe, expect, test } from 'vitest';
import { type Client, createClient, type Person } from '../../../support/app.ts';
import { codeOf, forget, guard, PASSWORD, type TwoFactorUser, wrongCode } from '../../two-factor/two-factor-user.ts';
import { startAccountsApp } from './accounts-app.ts';

const API = '/console/api/accounts';
const { app, url, call, person, database, insertPasskey } = await startAccountsApp('production', {
  policy: 'admin | support',
});
const root = await person('Root', ['user', 'admin']);
const target = await person('Target');

const ROUTES: [method: string, path: string, body?: object][] = [
  ['GET', '/facts'],
  ['GET', '/users'],
  ['GET', `/users/${target.id}`],
  ['POST', `/users/${target.id}/roles`, { from: ['user'], to: ['user', 'admin'] }],
  ['POST', `/users/${target.id}/disable`],
  ['POST', `/users/${target.id}/enable`],
  ['POST', `/users/${target.id}/panels/sessions/sessionsEnded`, {}],
  ['POST', `/users/${target.id}/panels/two-factor/twoFactorReset`, {}],
  ['POST', `/users/${target.id}/panels/passkeys/passkeyRemoved`, { row: 'a'.repeat(24) }],
  ['GET', '/sections/lockouts'],
  ['POST', '/sections/lockouts/lockoutCleared', { row: 'a@example.com' }],
  ['GET', '/sections/invitations'],
  ['POST', '/sections/invitations/invitationSent', { email: 'a@example.com' }],
];

test.each(ROUTES)('%s %s is refused without a session of an administrator', async (method, path, body) => {
  expect((await call(method, API + path, body)).status).toBe(401);
  expect((await target.call(method, API + path, body)).body.error.code).toBe('FORBIDDEN');
  const late = await person('Late', ['user', 'admin']);
  await database.query(
    `update sessions set authenticated_at = now() - interval '1 day', created_at = created_at - interval '1 day' where user_id = $1`,
    [late.id],
  );
  expect((await late.call(method, API + path, body)).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  await app.service('user').delete(late.id);
  expect((await target.call('GET', '/api/auth/me')).body.data).toMatchObject({ status: 'active', roles: ['user'] });
});

const setRoles = (client: Client, { id }: Pick<Person, 'id'>, from: string[], to: string[], code?: string) =>
  client('POST', `${API}/users/${id}/roles`, { from, to, ...(code && { code }) });
const setStatus = (client: Client, { id }: Pick<Person, 'id'>, action: 'disable' | 'enable', code?: string) =>
  client('POST', `${API}/users/${id}/${action}`, code === undefined ? undefined : { code });

/** A user who may use the console, but is no administrator, with a second factor. */
const support = async (name: string) => guard(await person(name, ['user', 'support']), database);
/** A code of a user that has not been used. */
async function nextCode(user: TwoFactorUser): Promise<string> {
  await forget(user, database);
  return codeOf(user.secret);
}

type Entry = { action: string; resource: string; record: string | null; user: string; details: object };

/** The entries of an action about a record, once there are as many. The relay appends entries in the order in which they were written. */
async function entriesOf(action: string, record: string | undefined, count: number): Promise<Entry[]> {
  const query = new URLSearchParams({ action, ...(record && { record }) });
  const read = async () => (await root.call('GET', `/api/admin/audit?${query}`)).body.data as Entry[];
  await expect.poll(async () => (await read()).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count);
  return read();
}

describe('roles', () => {
  test('a change applies to the next request of the user, and the audit trail names the user and the roles', async () => {
    const user = await person('Riser');
    const { status, body } = await setRoles(root.call, user, ['user'], ['user', 'editor']);
    expect([status, body.data.roles]).toEqual([200, ['user', 'editor']]);
    expect((await user.call('GET', '/api/auth/me')).body.data.roles).toEqual(['user', 'editor']);
    expect(await entriesOf('console.rolesChanged', user.id, 1)).toMatchObject([
      { resource: 'user', user: root.id, details: { from: ['user'], to: ['user', 'editor'] } },
    ]);
    expect(await entriesOf('updated', user.id, 1)).toMatchObject([{ user: root.id }]);
  });

  test('a change that is based on former roles is refused', async () => {
    const user = await person('Changed', ['user', 'editor']);
    const { body } = await setRoles(root.call, user, ['user'], ['user', 'support']);
    expect(body.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('changed meanwhile') });
  });

  test.each([
    [{ from: ['user'], to: ['owner'] }],
    [{ from: ['user'], to: 'admin' }],
    [{ from: ['user'] }],
    [{ to: [] }],
    [{ from: ['user'], to: [1] }],
    [{ from: ['user'], to: ['\u0000'] }],
    [{ from: ['user'], to: ['user'], status: 'disabled' }],
  ])('the body %j is refused', async (body) => {
    expect((await root.call('POST', `${API}/users/${target.id}/roles`, body)).status).toBe(422);
  });

  test('an administrator cannot take their own roles away, and a support user can give themself roles as in the data browser', async () => {
    const boss = await person('Boss', ['user', 'admin']);
    const own = await setRoles(boss.call, boss, ['user', 'admin'], ['user']);
    expect(own.body.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('your own roles') });
    const helper = await person('Helper', ['user', 'support']);
    expect((await setRoles(helper.call, helper, ['user', 'support'], ['user', 'support', 'admin'])).status).toBe(200);
    for (const { id } of [boss, helper]) await app.service('user').delete(id);
  });
});

describe('the last administrator', () => {
  test('can be neither demoted nor disabled', async () => {
    const helper = await support('Last');
    const answers = [
      await setRoles(helper.call, root, ['user', 'admin'], ['user'], await nextCode(helper)),
      await setStatus(helper.call, root, 'disable', await nextCode(helper)),
    ];
    for (const { body } of answers)
      expect(body.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('last active admin') });
  });

  test('a disabled administrator does not count', async () => {
    const helper = await support('Counting');
    const asleep = await person('Asleep', ['user', 'admin']);
    await app.service('user').update(asleep.id, { status: 'disabled' });
    const disabled = await setStatus(helper.call, root, 'disable', await nextCode(helper));
    expect(disabled.body.error.code).toBe('CONFLICT');
    const demoted = await setRoles(helper.call, asleep, ['user', 'admin'], ['user'], await nextCode(helper));
    expect(demoted.status).toBe(200);
  });

  test('remains when administrators are demoted and disabled at the same time', async () => {
    const helpers = [await support('One'), await support('Two'), await support('Three'), await support('Four')];
    const codes = await Promise.all(helpers.map(nextCode));
    const [one, two, three, four] = helpers.map(({ call: client }) => client) as [Client, Client, Client, Client];
    const second = await person('Second', ['user', 'admin']);
    const results = await Promise.all([
      setRoles(one, root, ['user', 'admin'], ['user'], codes[0]),
      setStatus(two, second, 'disable', codes[1]),
      setRoles(three, second, ['user', 'admin'], ['user'], codes[2]),
      setStatus(four, root, 'disable', codes[3]),
    ]);
    const { rows } = await database.query(
      `select id from users where status = 'active' and 'admin' = any(roles) and id = any($1)`,
      [[root.id, second.id]],
    );
    expect(rows).toHaveLength(1);
    expect(results.filter(({ status }) => status === 409).length).toBeGreaterThanOrEqual(2);
    await app.service('user').update(root.id, { roles: ['user', 'admin'], status: 'active' });
    await app.service('user').delete(second.id);
    // The session of the administrator may have ended with a disabled account.
    const { body } = await call('POST', '/api/auth/login', { email: root.email, password: PASSWORD });
    root.call = createClient(url, body.data.token);
  });
});

describe('the status', () => {
  test('a disabled user loses sessions and access at once, and can sign in again after they are enabled', async () => {
    const user = await person('Paused');
    expect((await setStatus(root.call, user, 'disable')).body.data.isActive).toBe(false);
    expect((await user.call('GET', '/api/auth/me')).status).toBe(401);
    const login = () => call('POST', '/api/auth/login', { email: user.email, password: PASSWORD });
    expect((await login()).status).toBe(403);
    const again = await setStatus(root.call, user, 'disable');
    expect(again.body.error).toMatchObject({ code: 'CONFLICT', message: 'This account is already disabled' });
    expect((await setStatus(root.call, user, 'enable')).body.data.isActive).toBe(true);
    expect((await user.call('GET', '/api/auth/me')).status).toBe(401);
    expect((await login()).status).toBe(200);
    expect((await setStatus(root.call, user, 'enable')).body.error.code).toBe('CONFLICT');
    expect(await entriesOf('console.accountDisabled', user.id, 2)).toHaveLength(2);
    expect(await entriesOf('console.accountEnabled', user.id, 2)).toMatchObject([{ user: root.id }, { user: root.id }]);
  });

  test('administrators cannot disable themselves', async () => {
    const { body } = await setStatus(root.call, root, 'disable');
    expect(body.error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('your own account') });
    expect((await root.call('GET', `${API}/users/${root.id}`)).body.data).toMatchObject({ isSelf: true });
  });
});

describe('actions of panels', () => {
  const act = (client: Client, path: string, body: object = {}) => client('POST', API + path, body);

  test('removing a second factor needs a code of an administrator who has one', async () => {
    const boss = await guard(await person('Guarded', ['user', 'admin']), database);
    const user = await guard(await person('Lost'), database);
    const reset = (body: object) => act(boss.call, `/users/${user.id}/panels/two-factor/twoFactorReset`, body);
    expect((await reset({})).body.error.details).toEqual({ code: 'Is required' });
    expect((await reset({ code: wrongCode(boss.secret) })).body.error.details).toHaveProperty('code');
    expect((await reset({ code: codeOf(boss.secret) })).status).toBe(204);
    expect(await entriesOf('console.twoFactorReset', user.id, 1)).toMatchObject([{ user: boss.id, resource: 'user' }]);
    const passkey = await insertPasskey(user.id, 'Laptop');
    const remove = (body: object) => act(boss.call, `/users/${user.id}/panels/passkeys/passkeyRemoved`, body);
    expect((await remove({ row: passkey })).body.error.details).toEqual({ code: 'Is required' });
    await forget(boss, database);
    expect((await remove({ row: passkey, code: codeOf(boss.secret) })).status).toBe(204);
    expect(await entriesOf('console.passkeyRemoved', user.id, 1)).toMatchObject([{ details: { row: passkey } }]);
    await app.service('user').delete(boss.id);
  });

  test('administrators do not remove their own second factors here', async () => {
    const passkey = await insertPasskey(root.id, 'Own');
    const own = [
      await act(root.call, `/users/${root.id}/panels/two-factor/twoFactorReset`),
      await act(root.call, `/users/${root.id}/panels/passkeys/passkeyRemoved`, { row: passkey }),
    ];
    for (const { body } of own) expect(body.error.code).toBe('FORBIDDEN');
  });

  test.each(['\u0000', '\ud800', '-'])('an action on the row %j fails without an internal error', async (row) => {
    const sent = await act(root.call, `/users/${target.id}/panels/sessions/sessionEnded`, { row });
    expect(sent.status).toBe(row === '-' ? 404 : 422);
  });

  test('an action on an account that does not exist is not recorded', async () => {
    const id = 'f'.repeat(24);
    expect((await act(root.call, `/users/${id}/panels/sessions/sessionsEnded`)).status).toBe(404);
    const user = await person('Existing');
    expect((await act(root.call, `/users/${user.id}/panels/sessions/sessionsEnded`)).status).toBe(204);
    const entries = await entriesOf('console.sessionsEnded', undefined, 1);
    expect(entries.map(({ record }) => record)).toEqual([user.id]);
  });

  test('the entry of a look-up by address has no personal value', async () => {
    expect((await act(root.call, '/sections/lockouts/lockoutCleared', { row: 'secret@example.com' })).status).toBe(204);
    const entries = await entriesOf('console.lockoutCleared', undefined, 1);
    expect(entries).toMatchObject([{ resource: 'lockouts', record: null, user: root.id, details: { row: 's***' } }]);
    expect(JSON.stringify(entries)).not.toContain('secret@');
  });

  test('users without the permission to invite cannot invite in the console either', async () => {
    const helper = await person('Inviter', ['user', 'support']);
    const send = (client: Client, email: string) =>
      act(client, '/sections/invitations/invitationSent', { email, roles: ['editor'] });
    expect((await send(helper.call, 'one@example.com')).status).toBe(403);
    expect((await send(root.call, 'two@example.com')).status).toBe(204);
    const { body } = await root.call('GET', `${API}/sections/invitations`);
    expect(body.data).toMatchObject([{ values: { email: 'two@example.com', invitedBy: root.id } }]);
    const row = body.data[0].id;
    expect((await act(helper.call, '/sections/invitations/invitationRevoked', { row })).status).toBe(403);
    expect((await act(root.call, '/sections/invitations/invitationRevoked', { row })).status).toBe(204);
    expect(await entriesOf('console.invitationRevoked', row, 2)).toMatchObject([
      { user: root.id },
      { user: helper.id },
    ]);
  });

  test('administrators do not clear their own failed attempts and wrong codes, by any route', async () => {
    const boss = await guard(await person('Guessing', ['user', 'admin']), database);
    await database.query(
      `update two_factors set failures = 5, locked_until = now() + interval '1 hour' where user_id = $1`,
      [boss.id],
    );
    for (const _ of [1, 2, 3]) await call('POST', '/api/auth/login', { email: boss.email, password: 'wrong' });
    const operations = '/console/api/operations/limits';
    const { body: found } = await boss.call('GET', `${operations}/lookup?q=${encodeURIComponent(boss.email)}`);
    const answers = [
      await act(boss.call, `/users/${boss.id}/panels/password/lockoutCleared`),
      await act(boss.call, '/sections/lockouts/lockoutCleared', { row: ` ${boss.email.toUpperCase()} ` }),
      await boss.call('POST', `${operations}/lockouts/${found.data.lockouts[0].id}/clear`),
      await boss.call('POST', `${operations}/accounts/${boss.id}/unlock`),
    ];
    for (const { body } of answers)
      expect(body.error).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('another admin') });
    const unlock = (client: Client, body: object) =>
      act(client, `/users/${boss.id}/panels/two-factor/twoFactorUnlocked`, body);
    expect((await unlock(boss.call, {})).status).toBe(422);
    expect((await unlock(boss.call, { code: codeOf(boss.secret) })).status).toBe(429);
    const login = () => call('POST', '/api/auth/login', { email: boss.email, password: PASSWORD });
    expect((await login()).status).toBe(429);

    const other = await guard(await person('Other', ['user', 'admin']), database);
    expect((await unlock(other.call, { code: codeOf(other.secret) })).status).toBe(204);
    expect((await unlock(boss.call, { code: codeOf(boss.secret) })).status).toBe(403);
    expect((await root.call('POST', `${operations}/accounts/${boss.id}/unlock`)).status).toBe(204);
    expect((await login()).status).toBe(200);
    for (const { id } of [boss, other]) await app.service('user').delete(id);
  });

  test('clearing wrong codes of another user needs a code of an administrator who has a second factor', async () => {
    const boss = await guard(await person('Clearing', ['user', 'admin']), database);
    const user = await guard(await person('Typing'), database);
    const unlock = (body: object) => act(boss.call, `/users/${user.id}/panels/two-factor/twoFactorUnlocked`, body);
    expect((await unlock({})).body.error.details).toEqual({ code: 'Is required' });
    expect((await unlock({ code: codeOf(boss.secret) })).status).toBe(204);
    await app.service('user').delete(boss.id);
  });
});
