// What a new password and a logout everywhere revoke besides sessions, and which e-mails owners get about it.
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { apiKeys, defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';

const PASSWORD = 'correct horse battery';
const FRESH = 'a staple that is new';
const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const declared = (options: object = {}) => ({
  resources: [defineUser(), note] as const,
  extensions: [apiKeys({ revokeOnPasswordReset: false }), webhooks({ pollMs: 200, ...options }), privacy()],
  settings: { relay: { sweepMs: 200 } },
});
const disabledEvents: { webhook: { id: string }; owner: string; reason: string }[] = [];
const { app, call, person, env, url } = await startTestApp(declared(), {
  // A test holds a lock until the transactions of seven clients wait for it.
  roles: 'all',
  env: () => ({ APP_URL: 'https://belfry.example.com', POOL_MAX: '28' }),
});
app.on('webhook.disabled', (payload) => void disabledEvents.push(payload as never));
const quiet = await startTestApp(declared({ notifyOwner: false }), { roles: 'all' });
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const receiver = await startReceiver();
afterAll(() => receiver.close());

const until = <T>(look: () => T | Promise<T>) => vi.waitUntil(look, { timeout: 60_000, interval: 100 });
const mailsTo = async ({ email }: Person, subject: RegExp, of = app) =>
  (await of.captured.mails()).filter((mail) => mail.to === email && subject.test(mail.subject));
const endpointsOf = async (who: Person) => (await who.call('GET', '/api/webhooks')).body.data;
async function endpoint(by: Person['call'], other: object = {}): Promise<string> {
  const { status, body } = await by('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'], ...other });
  expect(status).toBe(201);
  return body.data.id;
}
async function exported(who: Person): Promise<string> {
  return until(async () => {
    const { data } = (await who.call('GET', '/api/auth/me/export')).body;
    return data.status === 'ready' && new URL(data.url).pathname;
  }) as Promise<string>;
}
async function reset({ email }: Person): Promise<void> {
  await call('POST', '/api/auth/password/forgot', { email });
  const token = await until(async () => {
    const mail = (await app.captured.mails()).find((one) => one.to === email && /token=/.test(one.text));
    return mail && /[?&]token=([\w-]+)/.exec(mail.text)![1]!;
  });
  expect((await call('POST', '/api/auth/password/reset', { token, password: FRESH })).status).toBe(204);
}
const change = async (who: Person) =>
  expect((await who.call('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: FRESH })).status).toBe(
    204,
  );
const logoutAll = async (who: Person, body?: object) =>
  expect((await who.call('POST', '/api/auth/logout-all', body)).status).toBe(204);
const login = async ({ email }: Person, password: string): Promise<Person['call']> =>
  createClient(url, (await call('POST', '/api/auth/login', { email, password })).body.data.token);

test.each<[string, (who: Person) => Promise<unknown>, string]>([
  ['a password reset', reset, FRESH],
  ['a password change', change, FRESH],
  ['a logout everywhere with disableWebhooks', (who) => logoutAll(who, { disableWebhooks: true }), PASSWORD],
])(
  '%s disables all endpoints of the user and ends exports, and one e-mail explains how to enable the endpoints again',
  async (_by, revoke, now) => {
    const ann = await person('Ann');
    const key = (await ann.call('POST', '/api/auth/api-keys', { name: 'Mine', scopes: ['*'] })).body.data.key;
    const ids = [await endpoint(ann.call), await endpoint(createClient(url, key)), await endpoint(ann.call)];
    await ann.call('PATCH', `/api/webhooks/${ids[2]}`, { enabled: false });
    const others = await person('Ben');
    const kept = await endpoint(others.call);
    const link = await exported(ann);
    disabledEvents.length = 0;
    await revoke(ann);
    expect((await call('HEAD', link)).status).toBe(404);
    expect(disabledEvents.map(({ webhook, owner, reason }) => [webhook.id, owner, reason]).sort()).toEqual(
      ids
        .slice(0, 2)
        .map((id) => [id, ann.id, 'password_reset'])
        .sort(),
    );

    const back = await login(ann, now);
    const list = (await back('GET', '/api/webhooks')).body.data as {
      id: string;
      enabled: boolean;
      disabledReason: string;
    }[];
    expect(list.map(({ id, enabled, disabledReason }) => [id, enabled, disabledReason]).sort()).toEqual(
      [
        [ids[0], false, 'password_reset'],
        [ids[1], false, 'password_reset'],
        [ids[2], false, 'manual'],
      ].sort(),
    );
    await until(async () => (await mailsTo(ann, /were disabled/)).length > 0);
    const [mail, ...more] = await mailsTo(ann, /disabled/);
    expect(more).toEqual([]);
    for (const part of [ids[0]!, ids[1]!, 'PATCH /api/webhooks/<id> with { "enabled": true }'])
      expect(mail!.text).toContain(part);
    expect(mail!.text).not.toContain(ids[2]);
    expect(mail!.text).not.toContain(receiver.url);

    const before = receiver.requests.length;
    await back('POST', '/api/notes', { text: 'not sent' });
    await others.call('POST', '/api/notes', { text: 'sent' });
    await until(() => receiver.requests.length > before);
    expect(receiver.requests.slice(before).map(({ body }) => JSON.parse(body).data.text)).toEqual(['sent']);
    expect((await endpointsOf(others))[0]).toMatchObject({ id: kept, enabled: true });

    expect((await back('PATCH', `/api/webhooks/${ids[0]}`, { enabled: true })).body.data).toMatchObject({
      enabled: true,
      disabledReason: null,
    });
  },
);

test.each<[string, object | undefined]>([
  ['without a body', undefined],
  ['with an empty body', {}],
  ['with disableWebhooks: false', { disableWebhooks: false }],
])('a logout everywhere %s keeps endpoints enabled and ends exports', async (_how, body) => {
  const cy = await person('Cy');
  const id = await endpoint(cy.call);
  const link = await exported(cy);
  await logoutAll(cy, body);
  expect((await cy.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await call('HEAD', link)).status).toBe(404);
  expect((await (await login(cy, PASSWORD))('GET', `/api/webhooks/${id}`)).body.data.enabled).toBe(true);
});

test('POST /api/auth/logout-all with an invalid body responds 422 and revokes nothing', async () => {
  const dan = await person('Dan');
  for (const body of [{ disableWebhooks: 'yes' }, { webhooks: true }])
    expect((await dan.call('POST', '/api/auth/logout-all', body)).status).toBe(422);
  expect((await dan.call('GET', '/api/auth/me')).status).toBe(200);
});

test('a new password ends sessions, endpoints and exports in one transaction: after an error none of them has changed', async () => {
  const eve = await person('Eve');
  const id = await endpoint(eve.call);
  const link = await exported(eve);
  // The last statement of the transaction that changes a row.
  await sql.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse before delete on privacy_exports for each row execute function refuse()`);
  const body = { currentPassword: PASSWORD, newPassword: FRESH };
  const { status } = await eve.call('POST', '/api/auth/password', body);
  await sql.query('drop function refuse cascade');
  expect(status).toBe(500);
  expect((await eve.call('GET', `/api/webhooks/${id}`)).body.data.enabled).toBe(true);
  expect((await call('HEAD', link)).status).toBe(200);
  expect((await call('POST', '/api/auth/login', { email: eve.email, password: PASSWORD })).status).toBe(200);
  expect(await mailsTo(eve, /disabled/)).toEqual([]);
});

test('no endpoint or key that a session creates during the reset that ends it stays active', {
  timeout: 240_000,
}, async () => {
  const fay = await person('Fay');
  await call('POST', '/api/auth/password/forgot', { email: fay.email });
  const token = await until(async () => {
    const mail = (await app.captured.mails()).find((one) => one.to === fay.email && /token=/.test(one.text));
    return mail && /[?&]token=([\w-]+)/.exec(mail.text)![1]!;
  });
  // All of them wait for the lock on the user's row, so that they run concurrently.
  await sql.query('begin');
  await sql.query('select from users where id = $1 for update', [fay.id]);
  const body = { url: receiver.url, events: ['note.created'] };
  const creations = () => Array.from({ length: 3 }, () => fay.call('POST', '/api/webhooks', body));
  const before = creations();
  const resetting = call('POST', '/api/auth/password/reset', { token, password: FRESH });
  const all = [...before, resetting, ...creations()];
  const watcher = new Client({ connectionString: env.DATABASE_URL! });
  await watcher.connect();
  await until(async () => {
    const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await watcher.query(waiting)).rows[0].n >= 6;
  });
  await watcher.end();
  await sql.query('commit');
  const statuses = (await Promise.all(all)).map(({ status }) => status);
  expect(statuses[3]).toBe(204);
  for (const status of statuses.toSpliced(3, 1)) expect([201, 401]).toContain(status);
  const { rows } = await sql.query('select 1 from webhook_endpoints where owner_id = $1 and enabled', [fay.id]);
  expect(rows).toEqual([]);
});

test.each<[string, (who: Person) => Promise<Person['call']>, (id: string) => [string, string, object], number]>([
  ['a session enables', async (who) => who.call, (id) => ['PATCH', `/api/webhooks/${id}`, { enabled: true }], 401],
  [
    'a session changes the secret of',
    async (who) => who.call,
    (id) => ['POST', `/api/webhooks/${id}/rotate-secret`, {}],
    401,
  ],
  [
    'a key that outlives the password enables',
    async (who) =>
      createClient(url, (await who.call('POST', '/api/auth/api-keys', { name: 'Mine', scopes: ['*'] })).body.data.key),
    (id) => ['PATCH', `/api/webhooks/${id}`, { enabled: true }],
    404,
  ],
])(
  'an endpoint that %s during a password change stays disabled and unchanged',
  async (_what, callerOf, request, status) => {
    const lea = await person('Lea');
    const other = await login(lea, PASSWORD);
    const by = await callerOf(lea);
    const id = await endpoint(by);
    const before = (await sql.query('select secret from webhook_endpoints where id = $1', [id])).rows;
    const watcher = new Client({ connectionString: env.DATABASE_URL! });
    await watcher.connect();
    const waiting = (count: number) =>
      until(async () => {
        const text = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return (await watcher.query(text)).rows[0].n >= count;
      });
    // The request is authorized while the password change waits for the endpoint.
    await sql.query('begin');
    await sql.query('select from webhook_endpoints where id = $1 for update', [id]);
    const changing = other('POST', '/api/auth/password', { currentPassword: PASSWORD, newPassword: FRESH });
    await waiting(1);
    const asking = by(...request(id));
    await waiting(2);
    await sql.query('commit');
    await watcher.end();
    expect((await changing).status).toBe(204);
    expect((await asking).status).toBe(status);
    const stored = 'select secret, enabled, disabled_reason from webhook_endpoints where id = $1';
    expect((await sql.query(stored, [id])).rows).toEqual([
      { ...before[0], enabled: false, disabled_reason: 'password_reset' },
    ]);
  },
);

test('an owner gets an e-mail when an endpoint is created, with any credential, without any text that its creator chose', async () => {
  const gil = await person('Gil');
  const key = (await gil.call('POST', '/api/auth/api-keys', { name: 'Mine', scopes: ['*'] })).body.data.key;
  const own = await endpoint(gil.call, { description: 'Win a prize' });
  const byKey = await endpoint(createClient(url, key));
  // Deleting the endpoint at once does not prevent the e-mail.
  await gil.call('DELETE', `/api/webhooks/${byKey}`);
  await until(async () => (await mailsTo(gil, /was created/)).length === 2);
  const texts = (await mailsTo(gil, /^A webhook endpoint was created in your account$/)).map(({ text }) => text);
  const [first, second] = [own, byKey].map((id) => texts.find((text) => text.includes(id))!);
  expect(first).toContain('at belfry.example.com');
  expect(first).toContain('by a signed-in session');
  expect(first).toContain('note.created');
  expect(second).toContain('with one of your API keys');
  expect(JSON.stringify(texts)).not.toMatch(/prize|127\.0\.0\.1|whsec_/i);
});

test('a refused endpoint sends no e-mail, and with notifyOwner: false no endpoint does', async () => {
  const hal = await quiet.person('Hal');
  const body = { url: receiver.url, events: ['note.created'] };
  for (let i = 0; i < 11; i++) await hal.call('POST', '/api/webhooks', body);
  await hal.call('POST', '/api/auth/logout-all', { disableWebhooks: true });
  const database = new Client({ connectionString: quiet.env.DATABASE_URL! });
  await database.connect();
  expect((await database.query('select * from mails')).rowCount).toBe(0);
  expect((await database.query('select * from webhook_endpoints where enabled')).rowCount).toBe(0);
  await database.end();
  const ida = await person('Ida');
  for (let i = 0; i < 11; i++) await ida.call('POST', '/api/webhooks', body);
  await until(async () => (await mailsTo(ida, /created/)).length >= 10);
  const { rows } = await sql.query(`select 1 from mails where data->>'owner' = $1 and finished_at is null`, [ida.id]);
  expect([rows.length, (await mailsTo(ida, /created/)).length]).toEqual([0, 10]);
});

test('an e-mail about a disabled endpoint that an earlier version stored is still sent', async () => {
  const kim = await person('Kim');
  const id = await endpoint(kim.call);
  await sql.query(`update webhook_endpoints set enabled = false, disabled_reason = 'gone' where id = $1`, [id]);
  await sql.query(
    `insert into mails (id, kind, data) values (substr(md5(random()::text), 1, 24), 'webhook-disabled', jsonb_build_object('webhook', $1::text, 'owner', $2::text))`,
    [id, kim.id],
  );
  await until(async () => (await mailsTo(kim, /^Your webhook endpoint was disabled$/)).length > 0);
});
