import { describe, expect, test } from 'vitest';
import { codeOf, forget, guard, PASSWORD } from '../../extensions/two-factor/two-factor-user.ts';
import { type ApiResponse, type Client, createClient } from '../../support/app.ts';
import { ADMINISTRATOR, startPowerApp } from './power-app.ts';

const started = await startPowerApp();
const { app, call, url, person, database, create, signIn, signInEarlier, createKey, guarded, read, routes } = started;
const DAY = 24 * 60;

/** A way to change the power of an account. */
interface Door {
  /** The route as it is mounted. */
  route: string;
  /** Creates the account that is changed; its state before the change counts as privileged. */
  target?: () => Promise<{ id: string }>;
  send(client: Client, id: string, body: { code?: string }): Promise<ApiResponse>;
  /** Whether the change has been made. */
  isDone(id: string): Promise<boolean>;
}

const isDemoted = async (id: string) => (await read(id)).roles.join() === 'user';
const isPromoted = async (id: string) => (await read(id)).roles.includes('admin');
const isDeleted = async (id: string) => (await read(id)) === undefined;
const administrator = () => create(ADMINISTRATOR);
const ordinary = () => create(['user']);
async function archived(): Promise<{ id: string }> {
  const target = await administrator();
  await app.service('user').delete(target.id);
  return target;
}
const isRestored = async (id: string) => (await read(id)) !== undefined;
let addresses = 0;
const invited = new Map<string, string>();
async function isInvited(id: string): Promise<boolean> {
  const { rows } = await database.query('select 1 from invitations where email = $1', [invited.get(id)]);
  return rows.length > 0;
}
const nextAddress = (id: string) => {
  const email = `invited-${++addresses}@example.com`;
  invited.set(id, email);
  return email;
};
const newUser = (id: string, roles?: string[]) => ({
  name: 'New',
  email: nextAddress(id),
  password: 'correct horse battery',
  ...(roles && { roles }),
});
async function isCreated(id: string): Promise<boolean> {
  return (await database.query('select 1 from users where email = $1', [invited.get(id)])).rows.length > 0;
}
const batch = (client: Client, operation: object, mode = 'atomic') =>
  client('POST', '/api/users/batch', { mode, operations: [operation] });
async function targetEmail(id: string): Promise<string> {
  return (await read(id)).email;
}

/** The routes of the contract, and what they share with them. */
const CONTRACT: Door[] = [
  {
    route: 'PATCH /api/users/:id',
    send: (client, id) => client('PATCH', `/api/users/${id}`, { roles: ['user'] }),
    isDone: isDemoted,
  },
  {
    route: 'PATCH /api/users/:id',
    target: ordinary,
    send: (client, id) => client('PATCH', `/api/users/${id}`, { roles: ADMINISTRATOR }),
    isDone: isPromoted,
  },
  {
    route: 'PATCH /api/users/:id',
    async target() {
      const target = await administrator();
      await started.setStatus(target.id, 'disabled');
      return target;
    },
    send: (client, id) => client('PATCH', `/api/users/${id}`, { status: 'active' }),
    isDone: async (id) => (await read(id)).status === 'active',
  },
  {
    route: 'PATCH /api/users/:id',
    send: (client, id) => client('PATCH', `/api/users/${id}`, { email: nextAddress(id) }),
    isDone: async (id) => (await targetEmail(id)) === invited.get(id),
  },
  {
    route: 'PUT /api/users/:id',
    send: (client, id) => client('PUT', `/api/users/${id}`, { status: 'disabled' }),
    isDone: async (id) => (await read(id)).status === 'disabled',
  },
  { route: 'DELETE /api/users/:id', send: (client, id) => client('DELETE', `/api/users/${id}`), isDone: isDeleted },
  {
    route: 'POST /api/users',
    send: (client, id) => client('POST', '/api/users', newUser(id, ADMINISTRATOR)),
    isDone: isCreated,
  },
  {
    route: 'POST /api/users/:id/restore',
    target: archived,
    send: (client, id) => client('POST', `/api/users/${id}/restore`),
    isDone: isRestored,
  },
  ...['atomic', 'perItem'].flatMap((mode): Door[] => [
    {
      route: 'POST /api/users/batch',
      send: (client, id) => batch(client, { op: 'update', id, data: { roles: ['user'] } }, mode),
      isDone: isDemoted,
    },
    {
      route: 'POST /api/users/batch',
      send: (client, id) => batch(client, { op: 'delete', id }, mode),
      isDone: isDeleted,
    },
    {
      route: 'POST /api/users/batch',
      send: (client, id) => batch(client, { op: 'create', data: newUser(id, ADMINISTRATOR) }, mode),
      isDone: isCreated,
    },
    {
      route: 'POST /api/users/batch',
      target: ordinary,
      async send(client, id) {
        const data = { name: 'Upserted', email: await targetEmail(id), roles: ADMINISTRATOR };
        return batch(client, { op: 'upsert', by: 'email', data }, mode);
      },
      isDone: isPromoted,
    },
  ]),
];

const ACCOUNTS = '/console/api/accounts';
const RECORDS = '/console/api/records/user';

/** Creates an administrator with a passkey, whose id is that of the user. */
async function withPasskey(): Promise<{ id: string }> {
  const target = await administrator();
  await database.query(
    `insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up, transports, name)
     values ($1, $1, $1, 'key', 0, 'multiDevice', true, '{internal}', 'Laptop')`,
    [target.id],
  );
  return target;
}
const hasNoPasskey = async (id: string) =>
  (await database.query('select 1 from passkeys where user_id = $1', [id])).rows.length === 0;

/** The doors of Belfry's own. */
const OWN: Door[] = [
  {
    route: 'POST /console/api/accounts/users/:id/roles',
    send: (client, id, body) =>
      client('POST', `${ACCOUNTS}/users/${id}/roles`, { from: ADMINISTRATOR, to: ['user'], ...body }),
    isDone: isDemoted,
  },
  {
    route: 'POST /console/api/accounts/users/:id/email',
    send: (client, id, body) => client('POST', `${ACCOUNTS}/users/${id}/email`, { email: nextAddress(id), ...body }),
    isDone: async (id) => (await targetEmail(id)) === invited.get(id),
  },
  {
    route: 'POST /console/api/accounts/users/:id/disable',
    send: (client, id, body) => client('POST', `${ACCOUNTS}/users/${id}/disable`, body),
    isDone: async (id) => (await read(id)).status === 'disabled',
  },
  {
    route: 'POST /console/api/accounts/users/:id/enable',
    async target() {
      const target = await administrator();
      await started.setStatus(target.id, 'disabled');
      return target;
    },
    send: (client, id, body) => client('POST', `${ACCOUNTS}/users/${id}/enable`, body),
    isDone: async (id) => (await read(id)).status === 'active',
  },
  {
    route: 'POST /console/api/accounts/users/:id/panels/email-verification/emailVerified',
    send: (client, id, body) => client('POST', `${ACCOUNTS}/users/${id}/panels/email-verification/emailVerified`, body),
    isDone: async (id) => (await read(id)).email_verified_at !== null,
  },
  ...[
    (id: string) => ({
      route: 'POST /console/api/accounts/users/:id/panels/two-factor/twoFactorReset',
      method: 'POST',
      path: `${ACCOUNTS}/users/${id}/panels/two-factor/twoFactorReset`,
    }),
    (id: string) => ({
      route: 'DELETE /api/admin/users/:id/2fa',
      method: 'DELETE',
      path: `/api/admin/users/${id}/2fa`,
    }),
  ].map(
    (at): Door => ({
      route: at('').route,
      target: () => guarded('Factor', ADMINISTRATOR),
      send: (client, id, body) => client(at(id).method, at(id).path, body),
      isDone: async (id) =>
        (await database.query('select 1 from two_factors where user_id = $1', [id])).rows.length === 0,
    }),
  ),
  {
    route: 'DELETE /api/admin/users/:id/passkeys',
    target: withPasskey,
    send: (client, id, body) => client('DELETE', `/api/admin/users/${id}/passkeys`, body),
    isDone: hasNoPasskey,
  },
  {
    route: 'POST /console/api/accounts/users/:id/panels/passkeys/passkeyRemoved',
    target: withPasskey,
    send: (client, id, body) =>
      client('POST', `${ACCOUNTS}/users/${id}/panels/passkeys/passkeyRemoved`, { row: id, ...body }),
    isDone: hasNoPasskey,
  },
  {
    route: 'POST /console/api/accounts/users/:id/panels/two-factor/twoFactorUnlocked',
    async target() {
      const target = await guarded('Locked', ADMINISTRATOR);
      await database.query('update two_factors set failures = 3 where user_id = $1', [target.id]);
      return target;
    },
    send: (client, id, body) => client('POST', `${ACCOUNTS}/users/${id}/panels/two-factor/twoFactorUnlocked`, body),
    isDone: async (id) =>
      (await database.query('select failures from two_factors where user_id = $1', [id])).rows[0].failures === 0,
  },
  {
    route: 'POST /api/admin/users/:id/erase',
    send: (client, id, body) => client('POST', `/api/admin/users/${id}/erase`, body),
    isDone: async (id) => (await read(id))?.status !== 'active',
  },
  {
    route: 'DELETE /console/api/records/:resource/:id',
    send: (client, id, body) => client('DELETE', `${RECORDS}/${id}`, body, { 'if-match': '*' }),
    isDone: isDeleted,
  },
  {
    route: 'POST /console/api/records/:resource/bulk',
    send: (client, id, body) => client('POST', `${RECORDS}/bulk`, { ids: [id], action: 'delete', ...body }),
    isDone: isDeleted,
  },
  {
    route: 'POST /console/api/records/:resource/bulk',
    target: archived,
    send: (client, id, body) => client('POST', `${RECORDS}/bulk`, { ids: [id], action: 'restore', ...body }),
    isDone: isRestored,
  },
  {
    route: 'POST /console/api/records/:resource/:id/restore',
    target: archived,
    send: (client, id, body) => client('POST', `${RECORDS}/${id}/restore`, body),
    isDone: isRestored,
  },
];

/** Doors that give an account power later, or without a privileged account that exists already. */
const GRANTS: Door[] = [
  {
    route: 'POST /api/invitations',
    send: (client, id, body) =>
      client('POST', '/api/invitations', { email: nextAddress(id), roles: ['admin'], ...body }),
    isDone: isInvited,
  },
  {
    route: 'POST /console/api/accounts/sections/invitations/invitationSent',
    send: (client, id, body) =>
      client('POST', `${ACCOUNTS}/sections/invitations/invitationSent`, {
        email: nextAddress(id),
        roles: ['support'],
        ...body,
      }),
    isDone: isInvited,
  },
  {
    route: 'POST /console/api/accounts/users/:id/roles',
    target: ordinary,
    send: (client, id, body) =>
      client('POST', `${ACCOUNTS}/users/${id}/roles`, { from: ['user'], to: ['user', 'support'], ...body }),
    isDone: async (id) => (await read(id)).roles.includes('support'),
  },
];

const OWN_DOORS = [...OWN, ...GRANTS];
const root = await guarded('Guarded', ADMINISTRATOR);
const open = await person('Open', ADMINISTRATOR);
const stale = await signInEarlier(root, 2 * 60);
const rootKey = await createKey(root.call);
const openKey = await createKey(open.call);

/** Sends a request to a door, and returns the status and code of its response, and whether the change was made. */
async function attempt(door: Door, client: Client, withCode = false) {
  const { id } = await (door.target ?? administrator)();
  if (withCode) await forget(root, database);
  const { status, body } = await door.send(client, id, withCode ? { code: codeOf(root.secret) } : {});
  const results: { status: number; error?: { code: string } }[] = Array.isArray(body?.data) ? body.data : [];
  const failed = results.find(({ error }) => error !== undefined);
  const error = body?.error ?? failed?.error;
  return {
    status: failed === undefined ? status : (failed.status ?? status),
    code: error?.code,
    details: error?.details,
    isDone: await door.isDone(id),
  };
}

describe.each(CONTRACT)('$route', (door) => {
  test('needs the second factor of the caller, confirmed on this session, for changes that concern privileged accounts', async () => {
    expect(await attempt(door, stale)).toMatchObject({ code: 'RECENT_SIGN_IN_REQUIRED', isDone: false });
    expect(await attempt(door, rootKey)).toMatchObject({ code: 'FORBIDDEN', isDone: false });
    expect(await attempt(door, await signIn(root))).toMatchObject({ code: undefined, isDone: true });
  });

  test('works as before for callers without a second factor, with a session or an API key', async () => {
    expect(await attempt(door, open.call)).toMatchObject({ code: undefined, isDone: true });
    expect(await attempt(door, openKey)).toMatchObject({ code: undefined, isDone: true });
  });
});

describe.each(OWN_DOORS)('$route', (door) => {
  test('needs a session with a recent sign-in, and a code of a caller who has a second factor', async () => {
    for (const key of [rootKey, openKey]) {
      const { status, isDone } = await attempt(door, key);
      expect([status, isDone]).toEqual([403, false]);
    }
    expect(await attempt(door, stale)).toMatchObject({ code: 'RECENT_SIGN_IN_REQUIRED', isDone: false });
    const fresh = await signIn(root);
    expect(await attempt(door, fresh)).toMatchObject({ details: { code: 'Is required' }, isDone: false });
    expect(await attempt(door, fresh, true)).toMatchObject({ code: undefined, isDone: true });
  });
});

test.each(OWN)('$route refuses a caller without a second factor if the account is privileged', async (door) => {
  expect(await attempt(door, open.call)).toMatchObject({ code: 'FORBIDDEN', isDone: false });
});

test.each(['roles', 'status', 'email', 'emailVerifiedAt'])(
  'the data browser of the console shows the field %s of users, and does not change it',
  async (field) => {
    const values = { roles: ADMINISTRATOR, status: 'disabled', email: 'x@example.com', emailVerifiedAt: null };
    const change = { [field]: values[field as keyof typeof values] };
    const { id } = await ordinary();
    const before = await read(id);
    const client = await signIn(root);
    const refused = [
      await client('PATCH', `${RECORDS}/${id}`, change, { 'if-match': '*' }),
      await client('POST', `${RECORDS}/bulk`, { ids: [id], action: 'update', values: change }),
    ];
    if (field !== 'email')
      refused.push(await client('POST', RECORDS, { name: 'A', email: 'new@example.com', ...change }));
    for (const { status, body } of refused)
      expect([status, body.error.details[field]]).toEqual([422, expect.stringContaining('in the Accounts tab')]);
    expect(await read(id)).toEqual(before);
    const { resources } = (await client('GET', '/console/api/app')).body.data;
    const described = resources
      .find(({ name }: { name: string }) => name === 'user')
      .fields.find(({ name }: { name: string }) => name === field);
    expect(described).toMatchObject({ accounts: field === 'email' ? 'create' : 'never' });
  },
);

test.each([
  ['roles', 'name,email,roles\nA,a@example.com,"[""admin""]"\n'],
  ['status', 'name,email,status\nA,a@example.com,active\n'],
  ['emailVerifiedAt', 'name,email,emailVerifiedAt\nA,a@example.com,2026-01-01T00:00:00Z\n'],
])('an import of the console does not set the %s of users', async (field, file) => {
  const client = await signIn(root);
  const path = `${RECORDS}/import?format=csv&mode=write&upsertBy=email`;
  const { status, body } = await client('POST', path, file, { 'content-type': 'text/csv' });
  expect([status, body.error.details.file]).toEqual([422, expect.stringContaining(`"${field}" is read-only`)]);
  const rows = `${JSON.stringify({ name: 'A', email: 'a@example.com', [field]: null })}\n`;
  const json = await client('POST', path.replace('csv', 'ndjson'), rows, { 'content-type': 'application/x-ndjson' });
  expect(json.body.data ?? json.body.error).not.toMatchObject({ written: 1 });
  expect((await database.query(`select 1 from users where email = 'a@example.com'`)).rows).toEqual([]);
});

describe('the last active administrator', () => {
  /** Makes the given users the only active administrators while `work` runs. */
  async function withOnly<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const { rows } = await database.query(
      `update users set status = 'disabled' where status = 'active' and 'admin' = any(roles) and id <> all($1) returning id`,
      [ids],
    );
    try {
      return await work();
    } finally {
      await database.query(`update users set status = 'active' where id = any($1)`, [rows.map(({ id }) => id)]);
    }
  }
  const countLeft = async (ids: readonly string[]) =>
    (
      await database.query(`select 1 from users where status = 'active' and 'admin' = any(roles) and id = any($1)`, [
        ids,
      ])
    ).rows.length;

  test.each<[string, (client: Client, id: string) => Promise<ApiResponse>]>([
    ['PATCH /api/users/:me', (client, id) => client('PATCH', `/api/users/${id}`, { roles: ['user'] })],
    ['PATCH /api/auth/me', (client) => client('PATCH', '/api/auth/me', { roles: ['user'] })],
    ['the status', (client) => client('PATCH', '/api/auth/me', { status: 'disabled' })],
    ['PUT', (client, id) => client('PUT', `/api/users/${id}`, { name: 'Last', roles: [] })],
    ['DELETE', (client, id) => client('DELETE', `/api/users/${id}`)],
    ['a batch', (client, id) => batch(client, { op: 'update', id, data: { roles: ['user'] } })],
    ['a batch that deletes', (client, id) => batch(client, { op: 'delete', id })],
    ['a batch by item', (client, id) => batch(client, { op: 'update', id, data: { roles: ['user'] } }, 'perItem')],
    [
      'an upsert',
      async (client, id) =>
        batch(client, { op: 'upsert', by: 'email', data: { name: 'A', email: await targetEmail(id), roles: [] } }),
    ],
    ['an erasure', (client) => client('POST', '/api/auth/me/erase', { password: 'correct horse battery' })],
    ['the data browser', (client, id) => client('DELETE', `${RECORDS}/${id}`, undefined, { 'if-match': '*' })],
    ['the data browser, in bulk', (client, id) => client('POST', `${RECORDS}/bulk`, { ids: [id], action: 'delete' })],
  ])('is kept: %s answers 409', async (_name, send) => {
    const last = await person('Last', ADMINISTRATOR);
    await withOnly([last.id], async () => {
      const { status, body } = await send(last.call, last.id);
      const error = body.error ?? body.data[0].error;
      expect([body.data?.[0].status ?? (body.data === undefined ? status : 409), error]).toEqual([
        409,
        expect.objectContaining({
          code: 'CONFLICT',
          message: expect.stringMatching(/last (active administrator|admin)/),
        }),
      ]);
      expect(await countLeft([last.id])).toBe(1);
    });
  });

  test('remains when two administrators demote, delete and erase each other at the same time', async () => {
    const pairs = [
      (client: Client, id: string) => client('PATCH', `/api/users/${id}`, { roles: ['user'] }),
      (client: Client, id: string) => client('DELETE', `/api/users/${id}`),
      (client: Client, id: string) => batch(client, { op: 'update', id, data: { status: 'disabled' } }),
    ];
    for (const first of pairs)
      for (const second of pairs) {
        const [one, two] = [await person('One', ADMINISTRATOR), await person('Two', ADMINISTRATOR)];
        const ids = [one.id, two.id];
        await withOnly(ids, async () => {
          const answers = await Promise.all([first(one.call, two.id), second(two.call, one.id)]);
          expect(await countLeft(ids)).toBe(1);
          for (const { status } of answers) expect([200, 204, 401, 403, 404, 409]).toContain(status);
        });
      }
  });

  test('may be demoted by code that acts as the system', async () => {
    const last = await person('System', ADMINISTRATOR);
    await withOnly([last.id], async () => {
      await app.service('user').update(last.id, { roles: ['user'] } as never);
      expect(await countLeft([last.id])).toBe(0);
    });
  });

  test('is kept by code that acts as a user', async () => {
    const last = await person('Acting', ADMINISTRATOR);
    const user = await app.service('user').read(last.id);
    await withOnly([last.id], async () => {
      const change = app.service('user').update(last.id, { roles: ['user'] } as never, { user: user as never });
      await expect(change).rejects.toMatchObject({ code: 'CONFLICT' });
      const many = app
        .service('user')
        .updateMany({ email: last.email }, { roles: [] } as never, { user: user as never });
      await expect(many).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await countLeft([last.id])).toBe(1);
    });
  });
});

test('a caller with a second factor changes ordinary accounts, and sends unchanged roles back, without confirming it', async () => {
  const { id } = await ordinary();
  const boss = await administrator();
  expect((await stale('PATCH', `/api/users/${id}`, { roles: ['user', 'editor'] })).status).toBe(200);
  expect((await stale('PATCH', `/api/users/${id}`, { status: 'disabled' })).status).toBe(200);
  expect((await stale('PATCH', `/api/users/${boss.id}`, { name: 'Renamed', roles: ADMINISTRATOR })).status).toBe(200);
  expect((await stale('DELETE', `/api/users/${id}`)).status).toBe(204);
});

test('a restore that brings a privileged account back with another record needs the second factor', async () => {
  const company = await app.service('company').create({ name: 'Acme' });
  const { id } = await administrator();
  await app.service('user').update(id, { company: company.id } as never);
  await app.service('company').delete(company.id);
  expect(await isDeleted(id)).toBe(true);
  const restore = (client: Client) => client('POST', `/api/companies/${company.id}/restore`);
  expect((await restore(stale)).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  expect(await isDeleted(id)).toBe(true);
  expect((await restore(await signInEarlier(root, 0))).status).toBe(200);
  expect(await isRestored(id)).toBe(true);
});

test('the audit trail records who changed roles and status, and who deleted an account, also without audit: true', async () => {
  const { id } = await ordinary();
  await open.call('PATCH', `/api/users/${id}`, { roles: ['user', 'editor'], name: 'Ann' });
  await open.call('PATCH', `/api/users/${id}`, { name: 'Bea' });
  await open.call('DELETE', `/api/users/${id}`);
  const entries = async () =>
    (await open.call('GET', `/api/admin/audit?action=security.account_changed&record=${id}`)).body.data;
  await expect.poll(entries, { timeout: 60_000 }).toMatchObject([
    { user: open.id, details: { deleted: true } },
    { user: open.id, details: { fields: ['roles'], roles: { from: ['user'], to: ['user', 'editor'] } } },
  ]);
});

test('a session confirms the second factor with the password and a code', async () => {
  const late = await signInEarlier(root, DAY);
  const { id } = await administrator();
  const demote = () => late('PATCH', `/api/users/${id}`, { roles: ['user'] });
  expect((await demote()).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  await forget(root, database);
  const body = { password: 'correct horse battery', code: codeOf(root.secret) };
  expect((await late('POST', '/api/auth/reauthenticate', body)).status).toBe(204);
  expect((await demote()).status).toBe(200);
});

test('a session from before the second factor was turned on has not confirmed it', async () => {
  const early = await person('Early', ADMINISTRATOR);
  const { body } = await call('POST', '/api/auth/login', { email: early.email, password: PASSWORD });
  const second = createClient(url, body.data.token);
  await guard(early, database);
  const { id } = await administrator();
  const demote = (client: Client) => client('PATCH', `/api/users/${id}`, { roles: ['user'] });
  expect((await demote(second)).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  // The session that turned it on has just sent a code.
  expect((await demote(early.call)).status).toBe(200);
});

test.each<[string, (client: Client, id: string, email: string) => Promise<ApiResponse>]>([
  ['PATCH /api/users/:id', (client, id, email) => client('PATCH', `/api/users/${id}`, { email })],
  [
    'the Accounts tab',
    (client, id, email) => client('POST', `${ACCOUNTS}/users/${id}/email`, { email, code: codeOf(root.secret) }),
  ],
])(
  'an address that is changed by %s is recorded, and the former one gets a link that undoes the change',
  async (_door, send) => {
    const user = await person('Moved');
    await database.query('update users set email_verified_at = now() where id = $1', [user.id]);
    const client = await signIn(root);
    await forget(root, database);
    const email = `moved-${user.id}@example.com`;
    expect((await send(client, user.id, email)).status).toBe(200);
    expect(await read(user.id)).toMatchObject({ email, email_verified_at: null });
    expect((await user.call('GET', '/api/auth/me')).status).toBe(401);
    const { rows } = await database.query(`select email from email_proofs where user_id = $1 and purpose = 'undo'`, [
      user.id,
    ]);
    expect(rows).toEqual([{ email: user.email }]);
    const entries = async () =>
      (await client('GET', `/api/admin/audit?action=auth.email_changed&record=${user.id}`)).body.data;
    await expect.poll(entries, { timeout: 60_000 }).toMatchObject([{ user: root.id, resource: 'user' }]);
  },
);

test('every mounted route that changes something is classified: those that change the power of accounts are tested here', () => {
  const mounted = routes()
    .filter(({ method }) => method !== 'GET')
    .map(({ method, path }) => `${method} ${path}`);
  const tested = new Set([...[...CONTRACT, ...OWN_DOORS].map(({ route }) => route), ...OTHER_DOORS]);
  const unclassified = mounted.filter((route) => !tested.has(route) && !OTHERS.some((pattern) => pattern.test(route)));
  expect(unclassified).toEqual([]);
  for (const route of tested) expect(mounted).toContain(route);
});

/** Doors that are tested above by name, and those with which users change their own account by rules of their own. */
const OTHER_DOORS = [
  'PATCH /api/auth/me',
  'POST /api/auth/me/erase',
  'POST /console/api/records/:resource',
  'PATCH /console/api/records/:resource/:id',
  'POST /console/api/records/:resource/import',
  // The user proves access to the new mailbox, or to the former one.
  'POST /api/auth/email/confirm',
  'POST /api/auth/email/undo',
  'POST /api/auth/email/verify',
  // A visitor gets an account with the default roles, or with those of an invitation.
  'POST /api/auth/register',
  'POST /api/auth/invitations/accept',
  'POST /api/organisation-invitations/accept',
  // The user's own factors: with a code, or with a recent sign-in.
  'POST /api/auth/2fa/confirm',
  'POST /api/auth/2fa/disable',
  'POST /api/auth/passkeys',
  'DELETE /api/auth/passkeys/:passkeyId',
];

/** Routes that change neither roles, status, address nor second factors of an account, nor delete or create one. */
const OTHERS: RegExp[] = [
  // Signing in and out, and the sessions, passwords, devices, identities and keys of the caller.
  /^POST \/api\/auth\/(login|logout|logout-all|reauthenticate|password|password\/forgot|password\/reset)$/,
  /^(POST|DELETE) \/api\/auth\/(sessions|devices|identities|api-keys)(\/|$)/,
  /^POST \/api\/auth\/(email|email\/verification|2fa\/(enrol|verify|recovery-codes)|invitations\/preview)$/,
  /^(POST|PATCH) \/api\/auth\/passkeys\/(options|sign-in|sign-in\/options|confirm|confirm\/options|:passkeyId)$/,
  /^POST \/api\/auth\/oidc\//,
  /^DELETE \/api\/(auth\/me|admin\/users\/:id)\/export$/,
  // Credentials of other users end; nobody gains anything.
  /^DELETE \/api\/admin\/api-keys\/:id$/,
  /^(POST|DELETE) \/api\/invitations\/:id/,
  // Other features.
  /^(POST|PUT|PATCH|DELETE) \/api\/(organisations|memberships|organisation-invitations\/preview|auth\/organisation|webhooks|realtime|push|files|uploads|companies)(\/|$)/,
  /^(POST|PUT|PATCH|DELETE) \/console\/api\/(webhooks|push|mails|jobs|operations|audit|reference)\//,
  /^POST \/console\/api\/accounts\/sections\/(invitations\/invitation(Resent|Revoked)|lockouts\/lockoutCleared)$/,
  /^POST \/console\/api\/accounts\/users\/:id\/panels\/(sessions|devices|known-devices|password|identities|api-keys|webhooks|organisations|email-verification\/verificationMailRequested)(\/|$)/,
  /^POST \/console\/api\/records\/:resource\/(files\/:field|:id\/reveal)$/,
];
