import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { apiKeys, audit, defineResource, defineUser, f, softDelete, webhooks } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: {
    title: f.string().required(),
    tags: f.array(f.string()),
    points: f.integer(),
    data: f.json(),
    phone: f.string(),
    gender: f.enum(['female', 'male']).optional(),
    age: f.integer().pii(),
    place: f.object({ city: f.string(), zip: f.string().pii(), room: f.integer() }),
    iban: f.string().encrypted(),
    secret: f.string().hidden(),
    pin: f.string().writeOnly(),
    word: f.password(),
    grade: f.string().visibleTo('accountant'),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  audit: true,
  softDelete: true,
});
const plain = defineResource('plain', {
  fields: { title: f.string() },
  policies: { list: 'public', read: 'public', create: 'public', update: 'admin' },
});
const branch = defineResource('branch', {
  fields: { name: f.string() },
  policies: { create: 'authenticated' },
  scope: ({ user }) => (user?.roles?.includes('accountant') ? { name: 'mine' } : undefined),
  audit: true,
});

const { app, call, person, env, url } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin', 'accountant'] }), note, plain, branch],
    extensions: [audit(), softDelete(), apiKeys(), webhooks({ allowPrivate: true, requireHttps: false })],
    settings: { auth: { lockout: { maxAttempts: 2 } }, rateLimit: { enabled: false } },
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64'), TRUST_PROXY: '1' }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const [ada, root] = [await person('Ada'), await person('Root', ['user', 'admin'])];
const accountant = await person('Accountant', ['user', 'admin', 'accountant']);

interface Row {
  id: number;
  action: string;
  resource: string | null;
  record: string | null;
  user: string | null;
  via: string | null;
  credential: string | null;
  ip: string | null;
  requestId: string | null;
  changes: Record<string, { from?: unknown; to?: unknown; changed?: true }> | null;
  details: Record<string, unknown> | null;
}

async function entries(query: string, reader = root): Promise<Row[]> {
  const { status, body } = await reader.call('GET', `/api/admin/audit?${query}`);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.data;
}

/** Returns the newest matching entry once the relay has written it. */
async function entry(query: string, fits: (row: Row) => boolean = () => true): Promise<Row> {
  return vi.waitFor(
    async () => {
      const found = (await entries(query)).find(fits);
      if (found === undefined) throw new Error(`no entry of ${query} yet`);
      return found;
    },
    { timeout: 60_000, interval: 25 },
  );
}

/** Resolves once the relay has handled all events. */
const settled = () =>
  vi.waitFor(
    async () => {
      const { rows } = await database.query('select count(*)::int as n from outbox');
      expect(rows[0].n).toBe(0);
    },
    { timeout: 60_000, interval: 25 },
  );

async function made(values: Record<string, unknown> = {}) {
  const { status, body } = await ada.call('POST', '/api/notes', { title: 'A', ...values });
  expect(status).toBe(201);
  return body.data;
}

test('an event that webhooks split over several runs is recorded once', async () => {
  const { id } = await made({ title: 'Many' });
  await settled();
  await database.query(
    `insert into outbox (event_id, name, resource, record_id, payload)
     select $1, 'webhooks.event', 'note', id, jsonb_build_object('name', 'note.created', 'after', $2::text, 'position', 1, 'record', to_jsonb(n))
     from notes n where id = $3`,
    ['e'.repeat(24), 'f'.repeat(24), id],
  );
  await settled();
  expect((await entries(`record=${id}`)).map(({ action }) => action)).toEqual(['created']);
});

describe('an audit entry contains', () => {
  test('the user, session, address, request, change and time', async () => {
    const { body, headers } = await ada.call(
      'POST',
      '/api/notes',
      { title: 'Who' },
      { 'x-forwarded-for': '203.0.113.9' },
    );
    const sessions = (await ada.call('GET', '/api/auth/sessions')).body.data;
    expect(await entry(`record=${body.data.id}`)).toEqual({
      id: expect.any(Number),
      at: expect.stringMatching(/^20.*Z$/),
      action: 'created',
      resource: 'note',
      record: body.data.id,
      user: ada.id,
      via: 'session',
      credential: sessions[0].id,
      ip: '203.0.113.9',
      requestId: headers.get('x-request-id'),
      changes: { title: { to: 'Who' }, author: { to: ada.id } },
      details: null,
    });
  });

  test('the API key of the request', async () => {
    const key = (await ada.call('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['notes:write'] })).body.data;
    const { body } = await createClient(url, key.key)('POST', '/api/notes', { title: 'By key' });
    expect(await entry(`record=${body.data.id}`)).toMatchObject({ user: ada.id, via: 'api-key', credential: key.id });
  });

  test('the system for code without a user, and the user for code that acts for them', async () => {
    const { id } = await app.service('note').create({ title: 'By code' });
    expect(await entry(`record=${id}`)).toMatchObject({ user: null, via: 'system', ip: null, requestId: null });
    const user = { id: ada.id, roles: ['user'] };
    const other = await app.service('note').create({ title: 'For Ada' }, { user });
    expect(await entry(`record=${other.id}`)).toMatchObject({ user: ada.id, via: null });
  });

  test('the old and new value of each changed field', async () => {
    const { id } = await made({ tags: ['a'], points: 1, data: { x: [1, { y: null }] } });
    await ada.call('PATCH', `/api/notes/${id}`, {
      title: 'B',
      tags: ['a', 'b'],
      points: 1,
      data: { x: [1, { y: null }] },
    });
    expect((await entry(`record=${id}&action=updated`)).changes).toEqual({
      title: { from: 'A', to: 'B' },
      tags: { from: ['a'], to: ['a', 'b'] },
    });
    await ada.call('PATCH', `/api/notes/${id}`, { points: null });
    expect(
      (await entry(`record=${id}`, ({ changes }) => changes?.points !== undefined && changes.title === undefined))
        .changes,
    ).toEqual({
      points: { from: 1, to: null },
    });
  });

  test('the values of a deleted or restored record', async () => {
    const { id } = await made({ points: 5 });
    await ada.call('DELETE', `/api/notes/${id}`);
    const values = (side: 'from' | 'to') => ({
      title: { [side]: 'A' },
      points: { [side]: 5 },
      author: { [side]: ada.id },
    });
    expect((await entry(`record=${id}&action=deleted`)).changes).toEqual(values('from'));
    await ada.call('POST', `/api/notes/${id}/restore`);
    expect((await entry(`record=${id}&action=restored`)).changes).toEqual(values('to'));
  });

  test('only the fact of a change for hidden, write-only, encrypted and password fields', async () => {
    const secret = 'S3CRET-VALUE';
    const { id } = await made({ iban: secret, pin: secret, word: `${secret}-1` });
    await app.service('note').update(id, { secret } as never);
    expect((await entry(`record=${id}&action=created`)).changes).toMatchObject({
      iban: { changed: true },
      pin: { changed: true },
      word: { changed: true },
    });
    expect((await entry(`record=${id}&action=updated`)).changes).toEqual({ secret: { changed: true } });
    await app.service('note').update(id, { iban: 'other', pin: 'other' } as never);
    const changed = await entry(`record=${id}&action=updated`, ({ changes }) => changes?.iban !== undefined);
    expect(changed.changes).toEqual({ iban: { changed: true }, pin: { changed: true } });
    expect((await ada.call('PATCH', `/api/notes/${id}`, { iban: 'other', title: 'Same' })).status).toBe(200);
    const same = await entry(`record=${id}&action=updated`, ({ changes }) => changes?.title !== undefined);
    expect(same.changes).toEqual({ title: { from: 'A', to: 'Same' } });
    await ada.call('DELETE', `/api/notes/${id}`);
    expect((await entry(`record=${id}&action=deleted`)).changes).toMatchObject({
      secret: { changed: true },
      word: { changed: true },
    });
    const { rows } = await database.query('select e::text as text from audit_entries e');
    expect(rows.filter(({ text }) => text.includes(secret) || text.includes('v1.'))).toEqual([]);
  });

  test('personal values masked, by declaration or by name, also inside objects', async () => {
    const place = { city: 'Bern', zip: '3000-X', room: 4 };
    const { id } = await made({ phone: '+41 44 000 00 00', gender: 'female', age: 44, place });
    expect((await entry(`record=${id}`)).changes).toMatchObject({
      phone: { to: '+***' },
      // Even its first letter would reveal it.
      gender: { to: '***' },
      age: { to: '***' },
      place: { to: { city: 'Bern', zip: '3***', room: 4 } },
    });
    await ada.call('PATCH', `/api/notes/${id}`, { phone: '+41 44 111 11 11', age: null });
    expect((await entry(`record=${id}&action=updated`)).changes).toEqual({
      phone: { from: '+***', to: '+***' },
      age: { from: '***', to: null },
    });
  });

  test('nothing for resources without audit', async () => {
    const { id } = (await call('POST', '/api/plains', { title: 'X' })).body.data;
    const { id: later } = await made();
    await entry(`record=${later}`);
    expect(await entries(`record=${id}`)).toEqual([]);
  });
});

describe('the audit trail also contains', () => {
  test('registrations, sign-ins, failed sign-ins, locks and attempts while locked', async () => {
    const eve = await person('Eve');
    const login = (password: string) =>
      call('POST', '/api/auth/login', { email: eve.email, password }, { 'x-forwarded-for': '198.51.100.7' });
    await login('correct horse battery');
    await login('wrong password');
    await login('wrong password');
    expect((await login('correct horse battery')).status).toBe(429);
    const of = (action: string) => entry(`record=${eve.id}&action=${action}`);
    expect(await of('auth.registered')).toMatchObject({ user: eve.id, resource: 'user' });
    expect(await of('auth.login')).toMatchObject({ user: eve.id, ip: '198.51.100.7' });
    const failed = await of('security.login_failed');
    expect(failed).toMatchObject({ user: null, resource: 'user', ip: '198.51.100.7', details: { email: 'e***' } });
    expect((await of('security.account_locked')).details).toEqual({ email: 'e***', lockedUntil: expect.any(String) });
    expect(await of('security.locked_login_attempt')).toMatchObject({ user: null });
  });

  test('failed sign-ins with an unknown e-mail', async () => {
    await call('POST', '/api/auth/login', { email: 'nobody-at-all@example.com', password: 'wrong password' });
    expect(await entry('action=security.login_failed', ({ record }) => record === null)).toMatchObject({
      resource: 'user',
      details: { email: 'n***' },
    });
  });

  test('changed passwords', async () => {
    const eve = await person('Changing');
    await eve.call('POST', '/api/auth/password', {
      currentPassword: 'correct horse battery',
      newPassword: 'another horse battery',
    });
    expect(await entry(`record=${eve.id}&action=auth.password_changed`)).toMatchObject({ user: eve.id });
  });

  test('created and revoked keys with the actor, and uses of revoked keys', async () => {
    const key = (await ada.call('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['notes:read'] })).body.data;
    await root.call('DELETE', `/api/admin/api-keys/${key.id}`);
    expect((await createClient(url, key.key)('GET', '/api/notes')).status).toBe(401);
    const of = (action: string) => entry(`record=${key.id}&action=${action}`);
    expect(await of('security.api_key_created')).toMatchObject({
      user: ada.id,
      resource: 'api-key',
      details: { prefix: key.prefix, scopes: ['notes:read'] },
    });
    expect(await of('security.api_key_revoked')).toMatchObject({
      user: root.id,
      details: { owner: ada.id, reason: 'admin' },
    });
    expect(await of('security.invalid_api_key')).toMatchObject({
      user: null,
      details: { owner: ada.id, reason: 'revoked' },
    });
    const { rows } = await database.query('select count(*)::int as n from audit_entries e where e::text like $1', [
      `%${key.key}%`,
    ]);
    expect(rows[0].n).toBe(0);
  });

  test('created, updated, rotated, disabled and removed endpoints, with only the host of the URL', async () => {
    const made = (
      await ada.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:1/T0KEN?key=T0KEN', events: ['note.*'] })
    ).body.data;
    await ada.call('POST', `/api/webhooks/${made.id}/rotate-secret`, {});
    await ada.call('PATCH', `/api/webhooks/${made.id}`, { enabled: false });
    await ada.call('DELETE', `/api/webhooks/${made.id}`);
    for (const action of ['created', 'secret_rotated', 'updated', 'disabled', 'deleted']) {
      expect(await entry(`record=${made.id}&action=webhook.${action}`)).toMatchObject({
        user: ada.id,
        resource: 'webhook',
      });
    }
    const created = await entry(`record=${made.id}&action=webhook.created`);
    expect(created.details).toEqual({ owner: ada.id, host: '127.0.0.1:1', events: ['note.*'], scope: 'own' });
    const { rows } = await database.query(
      `select count(*)::int as n from audit_entries e where e::text like '%T0KEN%' or e::text like '%whsec%'`,
    );
    expect(rows[0].n).toBe(0);
  });

  test('refusals on routes that require a role, and on no other routes', async () => {
    // A listener belongs to the request, so its service calls have a caller.
    const listened = new Promise((resolve) => {
      app.on('security.access_refused', () => resolve(app.service('plain').list({ limit: 1 }, { as: 'user' })));
    });
    const { headers, status } = await ada.call('GET', '/api/admin/audit?user=x');
    expect(status).toBe(403);
    expect(await listened).toMatchObject({ data: expect.any(Array) });
    const refused = await entry(`user=${ada.id}&action=security.access_refused`);
    expect(refused).toMatchObject({
      via: 'session',
      credential: expect.any(String),
      ip: '127.0.0.1',
      requestId: headers.get('x-request-id'),
      details: { method: 'GET', path: '/api/admin/audit' },
    });
    const { id } = (await call('POST', '/api/plains', { title: 'X' })).body.data;
    expect((await ada.call('PATCH', `/api/plains/${id}`, { title: 'Y' })).status).toBe(403);
    await entry(
      `user=${ada.id}&action=security.access_refused`,
      ({ details }) => details?.path === `/api/plains/${id}`,
    );
    const mine = (await root.call('POST', '/api/notes', { title: 'Of root' })).body.data;
    expect((await ada.call('DELETE', `/api/notes/${mine.id}`)).status).toBe(403);
    await settled();
    const all = await entries(`user=${ada.id}&action=security.access_refused`);
    expect(all).toHaveLength(2);
  });
});

describe('GET /api/admin/audit', () => {
  test.each([
    ['a client without a session gets 401', () => call, 401],
    ['a user without the role gets 403', () => ada.call, 403],
    ['an admin gets 200', () => root.call, 200],
  ])('%s', async (_who, client, status) => {
    expect((await client()('GET', '/api/admin/audit')).status).toBe(status);
  });

  test('a key requires the scope audit:read', async () => {
    const keyWith = async (scope: string) =>
      createClient(
        url,
        (await root.call('POST', '/api/auth/api-keys', { name: scope, scopes: [scope] })).body.data.key,
      );
    expect((await (await keyWith('audit:read'))('GET', '/api/admin/audit')).status).toBe(200);
    expect((await (await keyWith('notes:read'))('GET', '/api/admin/audit')).status).toBe(403);
  });

  test('entries can be filtered by user, resource, record, action and time, in any combination', async () => {
    const [one, two] = [await made(), await made()];
    await root.call('PATCH', `/api/notes/${one.id}`, { title: 'By root' });
    const updated = (await entry(`record=${one.id}&action=updated`)) as Row & { at: string };
    await entry(`record=${two.id}`);
    const actions = async (query: string) => (await entries(query)).map(({ action }) => action);
    expect(await actions(`record=${one.id}`)).toEqual(['updated', 'created']);
    expect(await actions(`record=${one.id}&user=${root.id}`)).toEqual(['updated']);
    expect(await actions(`record=${one.id}&resource=branch`)).toEqual([]);
    expect(await actions(`record=${one.id}&from=${updated.at}`)).toEqual(['updated']);
    expect(await actions(`record=${one.id}&to=${updated.at}`)).toEqual(['created']);
    const later = encodeURIComponent(updated.at.replace('Z', '+00:00'));
    expect(await actions(`record=${one.id}&from=${later}`)).toEqual(['updated']);
    expect((await entries(`user=${root.id}&limit=200`)).every(({ user }) => user === root.id)).toBe(true);
    expect(
      (await entries('resource=note&action=created&limit=200')).every(
        (row) => row.resource === 'note' && row.action === 'created',
      ),
    ).toBe(true);
  });

  test('a cursor returns every entry once, newest first', async () => {
    for (let i = 0; i < 7; i++) await made({ points: i });
    await settled();
    const ids: number[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const { body } = await root.call('GET', `/api/admin/audit?resource=note&limit=3${after && `&after=${after}`}`);
      expect(body.meta.limit).toBe(3);
      ids.push(...body.data.map(({ id }: Row) => id));
      after = body.meta.next;
    }
    const { rows } = await database.query(
      `select id::int from audit_entries where resource = 'note' order by at desc, id desc`,
    );
    expect(ids).toEqual(rows.map(({ id }) => id));
  });

  test('changes of one record are in commit order, whenever their transactions started', async () => {
    const { id } = await made({ points: 0 });
    const write = (points: number) => root.call('PATCH', `/api/notes/${id}`, { points });
    await app.transaction(async (tx) => {
      // A transaction begins with its first statement.
      await tx.service('note').create({ title: 'begun' } as never);
      expect((await write(1)).status).toBe(200);
      await tx.service('note').update(id, { points: 2 } as never);
    });
    await Promise.all([3, 4, 5, 6, 7, 8, 9, 10].map(write));
    await settled();
    const rows = await entries(`record=${id}&action=updated`);
    const steps = rows.reverse().map(({ changes }) => changes!.points!);
    expect(steps).toHaveLength(10);
    expect(steps.map(({ from }) => from)).toEqual([0, ...steps.slice(0, -1).map(({ to }) => to)]);
  });

  test.each([
    ['user=x', 'user'],
    ['record=1', 'record'],
    ['resource=%00', 'resource'],
    ['action=a%20b', 'action'],
    ['from=yesterday', 'from'],
    ['to=2030-01-01', 'to'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['after=x', 'after'],
    [`after=${'A'.repeat(101)}`, 'meta.next'],
    ['from=0000-01-01T00:00:00Z', 'from'],
    ['from=0001-01-01T00:00:00%2B14:00', 'from'],
    ['to=9999-12-31T23:59:59-12:00', 'to'],
    [`after=${Buffer.from('0000-01-01T00:00:00.000Z 1').toString('base64url')}`, 'after'],
    [`after=${Buffer.from('2026-02-30T00:00:00.000Z 1').toString('base64url')}`, 'after'],
    ['after=MjAzMC0xMy00NVQxMjowMDowMC4wMDBaIDE', 'after'],
    ['page=2', 'page'],
    ['user=a&user=b', 'user'],
  ])('?%s responds 400 and names the parameter', async (query, name) => {
    const { status, body } = await root.call('GET', `/api/admin/audit?${query}`);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.error.message).toContain(name);
  });

  test('only readers with the role see values of a field with visibleTo', async () => {
    const { id } = await made({ grade: 'B2' });
    await entry(`record=${id}`);
    const seen = async (reader: typeof root) => (await entries(`record=${id}`, reader))[0]!.changes;
    expect(await seen(root)).toMatchObject({ grade: { changed: true }, title: { to: 'A' } });
    expect(await seen(accountant)).toMatchObject({ grade: { to: 'B2' } });
  });

  test('entries of records outside the reader’s scope are left out, including those of deleted records', async () => {
    const branches = app.service('branch');
    const [mine, theirs, deletedRecord] = [
      await branches.create({ name: 'mine' }),
      await branches.create({ name: 'theirs' }),
      await branches.create({ name: 'gone' }),
    ];
    await branches.delete(deletedRecord.id);
    await entry(`record=${deletedRecord.id}&action=deleted`);
    const records = async (reader: typeof root) =>
      new Set((await entries('resource=branch', reader)).map(({ record }) => record));
    expect(await records(root)).toEqual(new Set([mine.id, theirs.id, deletedRecord.id]));
    expect(await records(accountant)).toEqual(new Set([mine.id]));
  });
});

beforeEach(() => settled());
