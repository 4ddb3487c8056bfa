import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { WebhookPublisher } from '../../../../src/extensions/webhooks/engine/fanout/publish.ts';
import {
  apiKeys,
  audit,
  defineExtension,
  defineResource,
  defineUser,
  f,
  privacy,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../../src/index.ts';
import { startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';
import { ALL_DELIVERIES } from '../../../support/webhooks/deliveries.ts';
import { codeOf, guard, PASSWORD } from '../../two-factor/two-factor-user.ts';

const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
const hooked: string[] = [];
const heard: { resource: string; action: string; record: Record<string, unknown> }[] = [];

const user = defineUser({ fields: { phone: f.string(), points: f.integer() }, audit: true, softDelete: true });
const note = defineResource('note', {
  fields: {
    title: f.string(),
    email: f.string(),
    iban: f.string().encrypted(),
    author: f.ref('user').owner().populate(),
  },
  policies: open,
  softDelete: true,
});
const comment = defineResource('comment', {
  fields: {
    text: f.string().required().default('(removed)').pii(),
    stars: f.integer(),
    nick: f.string(),
    city: f.string(),
    author: f.ref('user').owner(),
  },
  personalFields: ['nick'],
  onOwnerDelete: 'anonymize',
  policies: open,
  softDelete: true,
  audit: true,
});
const invoice = defineResource('invoice', {
  fields: { amount: f.integer(), address: f.string(), buyer: f.ref('user').owner() },
  onOwnerDelete: 'keep',
  policies: open,
  softDelete: true,
});
const photo = defineResource('photo', {
  fields: { file: f.string(), stuck: f.boolean(), author: f.ref('user').owner() },
  timestamps: false,
  policies: open,
  hooks: {
    beforeDelete: async (record, { push }) => {
      await push.enqueue({ tokens: ['operators'], title: `Gone: ${record.file}` });
      if (record.stuck) throw new Error('this one must stay');
      hooked.push(`before ${record.file}`);
    },
    afterDelete: (record) => void hooked.push(`after ${record.file}`),
  },
});
// A viewer who gets a pin does not see the owner of its memo.
const memo = defineResource('memo', {
  fields: { email: f.string(), author: f.ref('user').owner().visibleTo('admin') },
  policies: open,
});
const pin = defineResource('pin', {
  fields: { memo: f.ref('memo').populate(), memos: f.array(f.ref('memo')).populate(), by: f.ref('user').owner() },
  policies: open,
});
/** The ids of the users whose data the extensions were asked to erase. */
const inquiries: string[] = [];
const counting = defineExtension({
  name: 'counting',
  setup: () => ({
    userData: [
      {
        name: 'counted',
        description: 'Nothing',
        async *rows() {},
        erase: async (userId) => inquiries.push(userId) * 0,
      },
    ],
  }),
});
const place = defineResource('place', { fields: { city: f.string(), ip: f.string() }, policies: open });

const { app, call, person, env, url } = await startTestApp(
  {
    resources: [user, note, comment, invoice, photo, place, memo, pin],
    extensions: [
      privacy(),
      softDelete(),
      apiKeys(),
      twoFactor(),
      counting,
      audit(),
      webhooks({ allowPrivate: true, requireHttps: false, events: { 'thing.told': { schema: z.unknown() } } }),
    ],
    listeners: (made) => {
      for (const name of ['user.deleted', 'note.deleted', 'comment.updated', 'photo.deleted'] as const)
        made.on(name, (event) => void heard.push(event as never));
    },
  },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const root = await person('Root', ['user', 'admin']);
const patience = { timeout: 60_000, interval: 100 };

// biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
const rows = async (text: string, ...values: unknown[]): Promise<any[]> => (await database.query(text, values)).rows;
const count = async (table: string, where: string, ...values: unknown[]): Promise<number> =>
  (await rows(`select count(*)::int as n from ${table} where ${where}`, ...values))[0].n;
const erase = (who: Person, given: object = {}) =>
  who.call('POST', '/api/auth/me/erase', { password: PASSWORD, ...given });
const report = async (id: string) => (await root.call('GET', `/api/admin/erasures/${id}`)).body.data;
const finished = (id: string) =>
  vi.waitUntil(async () => {
    const found = await report(id);
    return found.status === 'finished' && found;
  }, patience);

async function make(who: Person, path: string, body: object): Promise<string> {
  const response = await who.call('POST', `/api/${path}`, body);
  expect(response.status).toBe(201);
  return response.body.data.id;
}

/** Every text and JSON value of the whole database, by table. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await rows(`select tablename as name from pg_tables where schemaname = current_schema() order by 1`);
  const found: string[] = [];
  for (const { name } of tables) {
    if ((await count(`"${name}" t`, 't::text ilike $1', `%${text}%`)) > 0) found.push(name);
  }
  return found;
}

test('an erasure leaves nothing of an account in any table except what the report lists as kept', async () => {
  const receiver = await startReceiver();
  const ann = await person('Annabella');
  const bob = await person('Bob');
  const hook = await root.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'], scope: 'global' });
  expect(hook.status).toBe(201);
  await ann.call('POST', '/api/webhooks', { url: `${receiver.url}/annabella`, events: ['*'] });
  await ann.call('PATCH', '/api/auth/me', { phone: '+49 170 annabella' });
  await ann.call('POST', '/api/auth/api-keys', { name: 'Annabella script', scopes: ['notes:read'], expiresInDays: 5 });
  await app.push.send({ to: ann.id, title: 'Annabella has no device yet' });
  await ann.call('POST', '/api/auth/devices', { token: 'a'.repeat(64), platform: 'ios', name: 'Annabella’s phone' });
  await bob.call('POST', '/api/auth/devices', { token: 'b'.repeat(64), platform: 'ios' });
  await app.push.send({ to: ann.id, title: 'Hello Annabella' });
  await app.push.send({ to: [ann.id, bob.id], title: 'Hello all' });
  await app.mail.send({ to: ann.email, subject: 'Hello', text: 'Annabella' });

  const notes = [await make(ann, 'notes', { title: 'One', email: 'annabella@home.example', iban: 'DE annabella' })];
  notes.push(await make(ann, 'notes', { title: 'Two', email: 'annabella@home.example' }));
  await ann.call('DELETE', `/api/notes/${notes[1]}`);
  const annsComment = await make(ann, 'comments', {
    text: 'I am annabella',
    stars: 5,
    nick: 'annabella',
    city: 'Bonn',
  });
  const deletedComment = await make(ann, 'comments', { text: 'I was annabella', nick: 'annabella' });
  await ann.call('DELETE', `/api/comments/${deletedComment}`);
  const bill = await make(ann, 'invoices', { amount: 3, address: 'Elsewhere 1' });
  await ann.call('DELETE', `/api/invoices/${await make(ann, 'invoices', { amount: 4 })}`);
  await make(ann, 'photos', { file: 'a.png' });
  await make(ann, 'photos', { file: 'b.png', stuck: true });
  const others = await make(bob, 'notes', { title: 'Bob’s', email: 'bob@home.example' });
  await vi.waitUntil(
    async () => (await count(`${ALL_DELIVERIES} d`, `body like '%annabella%' and status = 'succeeded'`)) > 3,
    patience,
  );

  heard.length = 0;
  const response = await erase(ann);
  expect([response.status, response.body.data]).toEqual([202, { id: expect.any(String), status: 'running' }]);
  expect((await ann.call('GET', '/api/auth/me')).status).toBe(401);
  const finishedReport = await finished(response.body.data.id);

  expect(finishedReport).toMatchObject({
    user: ann.id,
    requestedBy: ann.id,
    deleted: { note: 2, photo: 2, user: 1 },
    anonymized: { comment: 2 },
    // Code sent one of the e-mails; the other one is about the new endpoint.
    erased: { sessions: 1, apiKeys: 1, webhookEndpoints: 1, devices: 1, pushes: 3, mails: 2 },
  });
  expect(finishedReport.kept).toContainEqual({
    name: 'invoice',
    count: 2,
    why: expect.stringContaining('onOwnerDelete'),
  });
  expect(finishedReport.kept).toContainEqual({
    name: 'auditEntries',
    count: null,
    why: expect.stringContaining('append-only'),
  });
  expect((await root.call('GET', `/api/invoices/${bill}`)).body.data).toMatchObject({
    amount: 3,
    address: 'Elsewhere 1',
    buyer: ann.id,
  });
  const left = (await root.call('GET', `/api/comments/${annsComment}`)).body.data;
  expect(left).toMatchObject({ text: '(removed)', stars: 5, city: 'Bonn' });
  expect(left).not.toHaveProperty('nick');
  expect(left).not.toHaveProperty('author');
  expect((await root.call('GET', `/api/notes/${others}`)).status).toBe(200);

  // Deletion hooks run. Hooks of a batch that was rolled back run again, and the rolled-back run leaves nothing behind.
  expect([...new Set(hooked)].toSorted()).toEqual(['after a.png', 'after b.png', 'before a.png']);
  const enqueued = `select message->>'title' as title from pushes where message->>'title' like 'Gone: %'`;
  expect(await rows(enqueued)).toEqual([{ title: 'Gone: a.png' }]);

  // Subscribers receive the events, without personal data.
  const arrived = () => receiver.requests.map((one) => JSON.parse(one.body.toString()));
  const after = async (type: string, id: string) =>
    vi.waitUntil(() => arrived().findLast((event) => event.type === type && event.data.id === id), patience);
  expect((await after('note.deleted', notes[0]!)).data).toMatchObject({ title: 'One' });
  expect((await after('note.deleted', notes[0]!)).data).not.toHaveProperty('email');
  expect((await after('comment.updated', annsComment)).data).toMatchObject({ text: '(removed)' });
  expect(Object.keys((await after('user.deleted', ann.id)).data)).not.toContain('email');
  expect(heard.map(({ resource, action }) => `${resource}.${action}`).toSorted()).toEqual(
    ['comment.updated', 'note.deleted', 'photo.deleted', 'photo.deleted', 'user.deleted'].toSorted(),
  );
  expect(JSON.stringify(heard)).not.toMatch(/annabella/i);

  // The e-mail about the erasure is captured here. In production, sending it removes its row.
  const [notice] = await app.captured.mails();
  expect(notice).toMatchObject({ to: ann.email, subject: 'Your account was erased' });
  expect(notice!.text).toContain('invoice: Kept as declared by the resource');
  await vi.waitUntil(async () => (await count('outbox', 'true')) === 0, patience);
  await database.query('delete from mails');
  expect(await tablesWith('annabella')).toEqual([]);
  // Ids stay in the audit trail, the kept records, the erasure itself and the receiver lists of pushes.
  const ofWebhooks = /^webhook_(deliveries|delivery_log(_default|_\d{8})?|endpoints|deleted_records)$/;
  const isPartitionOfPushes = (name: string) => /^pushes_(default|\d{8})$/.test(name);
  const names = (await tablesWith(ann.id)).filter((name) => !ofWebhooks.test(name) && !isPartitionOfPushes(name));
  expect(names).toEqual(['audit_entries', 'invoices', 'invoices_deleted', 'privacy_erasures', 'pushes']);
  expect((await call('POST', '/api/auth/login', { email: ann.email, password: PASSWORD })).status).toBe(401);
  await receiver.close();
}, 120_000);

test('an erasure removes copies of a record that others received inside their own records', async () => {
  const receiver = await startReceiver();
  const [una, bob] = [await person('Una'), await person('Bob')];
  await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['pin.*'] });
  const memoId = await make(una, 'memos', { email: 'una@home.example' });
  await make(bob, 'pins', { memo: memoId });
  await make(bob, 'pins', { memos: [memoId] });
  const sent = () => count(`${ALL_DELIVERIES} d`, `body like '%una@home%' and body not like $1`, `%${una.id}%`);
  await vi.waitUntil(async () => (await sent()) === 2, patience);
  await finished((await erase(una)).body.data.id);
  expect(await sent()).toBe(0);
  await receiver.close();
});

test('an erasure removes copies of a deleted record that others received', async () => {
  const receiver = await startReceiver();
  const [ulf, bob] = [await person('Ulf'), await person('Bob')];
  await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['memo.*'] });
  const memoId = await make(ulf, 'memos', { email: 'ulf@home.example' });
  expect((await ulf.call('DELETE', `/api/memos/${memoId}`)).status).toBe(204);
  const sent = () => count(`${ALL_DELIVERIES} d`, `body like '%ulf@home%' and body not like $1`, `%${ulf.id}%`);
  await vi.waitUntil(async () => (await sent()) === 2, patience);
  await finished((await erase(ulf)).body.data.id);
  expect(await sent()).toBe(0);
  await receiver.close();
});

test('events published by the app do not block an erasure, whatever they contain', async () => {
  const receiver = await startReceiver();
  const [uma, bob] = [await person('Uma'), await person('Bob')];
  const endpoint = { url: receiver.url, events: ['thing.told', 'comment.*'] };
  const { id } = (await bob.call('POST', '/api/webhooks', endpoint)).body.data;
  const texts = ['\0', '\0\0', '\ud83d', '😀', '\\u0000', '\\\0', '\\\\ud800', '"\0"', '\0"'];
  // The type of the test helper does not know the APIs that extensions add.
  const { webhooks: own } = app as unknown as { webhooks: WebhookPublisher };
  await own.publish('thing.told', { texts, '\0\ude00': 1 }, { owner: bob.id });
  await make(uma, 'comments', { text: 'uma \\u0000', nick: 'uma' });
  const sent = () => count(`${ALL_DELIVERIES} d`, `endpoint_id = $1 and type = 'comment.created'`, id);
  await vi.waitUntil(async () => receiver.requests.length === 2 && (await sent()) === 1, patience);
  await finished((await erase(uma)).body.data.id);
  expect(await sent()).toBe(0);
  expect(await count(`${ALL_DELIVERIES} d`, `endpoint_id = $1 and type = 'thing.told'`, id)).toBe(1);
  await receiver.close();
});

test('a wrong password, or a missing or wrong two-factor code, erases nothing', async () => {
  const cat = await person('Cat');
  expect((await erase(cat, { password: 'not the one' })).body.error).toMatchObject({
    details: { password: 'Must be your current password' },
  });
  expect((await cat.call('POST', '/api/auth/me/erase', {})).body.error.details).toEqual({ password: 'Is required' });
  const guarded = await guard(cat, database);
  expect((await erase(cat)).body.error).toMatchObject({ details: { code: 'Is required' } });
  expect((await erase(cat, { code: '000000' })).body.error).toMatchObject({ details: { code: expect.any(String) } });
  expect((await cat.call('GET', '/api/auth/me')).status).toBe(200);
  const response = await erase(cat, { code: codeOf(guarded.secret) });
  expect(response.status).toBe(202);
  await finished(response.body.data.id);
  expect(await count('two_factors', 'user_id = $1', cat.id)).toBe(0);
});

test.each([false, true])(
  'one of ten concurrent requests starts the erasure and the others respond 202 or 401 (two-factor: %s)',
  async (guarded) => {
    const eve = await person('Eve');
    const code = guarded ? { code: codeOf((await guard(eve, database)).secret) } : {};
    const responses = await Promise.all(Array.from({ length: 10 }, () => erase(eve, code)));
    const accepted = responses.filter(({ status }) => status === 202);
    expect(new Set(accepted.map(({ body }) => body.data.id)).size).toBe(1);
    expect(responses.filter(({ status }) => status !== 202 && status !== 401)).toEqual([]);
    await finished(accepted[0]!.body.data.id);
  },
);

test('from the request on, login responds 403 and requests with sessions or keys respond 401', async () => {
  const dan = await person('Dan');
  const key = (await dan.call('POST', '/api/auth/api-keys', { name: 'k', scopes: ['notes:read'], expiresInDays: 5 }))
    .body.data.key;
  // A row lock keeps the erasure in progress.
  const noteId = await make(dan, 'notes', { title: 'Held' });
  const holder = new Client({ connectionString: env.DATABASE_URL! });
  await holder.connect();
  await holder.query('begin');
  await holder.query('select 1 from notes where id = $1 for update', [noteId]);
  const { id } = (await erase(dan)).body.data;
  expect(await rows('select status from users where id = $1', dan.id)).toEqual([{ status: 'deleting' }]);
  const login = await call('POST', '/api/auth/login', { email: dan.email, password: PASSWORD });
  expect([login.status, login.body.error.message]).toEqual([403, 'This account is disabled']);
  expect((await dan.call('GET', '/api/auth/me')).status).toBe(401);
  expect((await createClient(url, key)('GET', '/api/notes')).status).toBe(401);
  expect((await report(id)).status).toBe('running');
  // Setting another status meanwhile has no effect.
  expect((await root.call('PATCH', `/api/users/${dan.id}`, { status: 'active' })).status).toBe(200);
  await vi.waitUntil(async () => (await count('users', `id = $1 and status = 'deleting'`, dan.id)) === 1, patience);
  expect((await call('POST', '/api/auth/login', { email: dan.email, password: PASSWORD })).status).toBe(403);
  await holder.query('rollback');
  await holder.end();
  await finished(id);
  expect(await count('notes', 'id = $1', noteId)).toBe(0);
});

test('a user who is restored during the erasure stays signed out', async () => {
  const kim = await person('Kim');
  const noteId = await make(kim, 'notes', { title: 'Held' });
  expect((await root.call('DELETE', `/api/users/${kim.id}`)).status).toBe(204);
  const holder = new Client({ connectionString: env.DATABASE_URL! });
  await holder.connect();
  await holder.query('begin');
  await holder.query('select 1 from notes where id = $1 for update', [noteId]);
  const { id } = (await root.call('POST', `/api/admin/users/${kim.id}/erase`)).body.data;
  expect((await root.call('POST', `/api/users/${kim.id}/restore`)).status).toBe(200);
  await vi.waitUntil(async () => (await count('users', `id = $1 and status = 'deleting'`, kim.id)) === 1, patience);
  expect((await call('POST', '/api/auth/login', { email: kim.email, password: PASSWORD })).status).toBe(403);
  await holder.query('rollback');
  await holder.end();
  await finished(id);
  expect(await count('users', 'id = $1', kim.id)).toBe(0);
});

test('kept records that take too long to count are reported without a number, and the account is still erased', async () => {
  const nat = await person('Nat');
  await make(nat, 'invoices', { amount: 1 });
  const holder = new Client({ connectionString: env.DATABASE_URL! });
  await holder.connect();
  await holder.query('begin; lock table invoices_deleted in access exclusive mode');
  const { id } = (await erase(nat)).body.data;
  // The error of Postgres for a statement that exceeds its timeout.
  const waiting = `datname = current_database() and wait_event_type = 'Lock' and query like '%count(*)%invoices%'`;
  await vi.waitUntil(
    async () => (await rows(`select pg_cancel_backend(pid) from pg_stat_activity where ${waiting}`)).length > 0,
    patience,
  );
  await holder.query('rollback');
  await holder.end();
  expect((await finished(id)).kept).toContainEqual({ name: 'invoice', count: null, why: expect.any(String) });
});

test('concurrent requests by the user and an admin start one erasure', async () => {
  const eve = await person('Eve');
  await make(eve, 'notes', { title: 'x' });
  const responses = await Promise.all([
    erase(eve),
    erase(eve),
    root.call('POST', `/api/admin/users/${eve.id}/erase`),
    root.call('POST', `/api/admin/users/${eve.id}/erase`),
  ]);
  const accepted = responses.filter(({ status }) => status === 202);
  expect(accepted.length).toBeGreaterThanOrEqual(2);
  // If a request arrived after the first one finished, its user was already signed out.
  expect(responses.filter(({ status }) => status !== 202).every(({ status }) => status === 401)).toBe(true);
  expect(new Set(accepted.map(({ body }) => body.data.id)).size).toBe(1);
  await finished(accepted[0]!.body.data.id);
  expect(await count('privacy_erasures', 'user_id = $1', eve.id)).toBe(1);
  const again = await root.call('POST', `/api/admin/users/${eve.id}/erase`);
  expect([again.status, again.body.data.status]).toEqual([202, 'finished']);
});

test('an admin can erase other users, but not themselves through that route; the last admin cannot be erased; other users get 403', async () => {
  const fay = await person('Fay');
  expect((await fay.call('POST', `/api/admin/users/${root.id}/erase`)).status).toBe(403);
  expect((await fay.call('GET', '/api/admin/erasures')).status).toBe(403);
  expect((await call('POST', `/api/admin/users/${fay.id}/erase`)).status).toBe(401);
  expect((await root.call('POST', `/api/admin/users/${root.id}/erase`)).status).toBe(403);
  expect((await root.call('POST', '/api/admin/users/none/erase')).status).toBe(404);
  expect((await root.call('POST', `/api/admin/users/${'0'.repeat(24)}/erase`)).status).toBe(404);
  const last = await erase(root);
  expect([last.status, last.body.error.message]).toEqual([409, 'The last admin cannot be erased']);
  const response = await root.call('POST', `/api/admin/users/${fay.id}/erase`);
  expect(response.body.data).toMatchObject({ user: fay.id, requestedBy: root.id });
  await finished(response.body.data.id);
  const listed = await root.call('GET', `/api/admin/erasures?user=${fay.id}&status=finished`);
  expect(listed.body.data.map(({ id }: { id: string }) => id)).toEqual([response.body.data.id]);
  expect((await root.call('GET', '/api/admin/erasures/none')).status).toBe(404);
  expect((await root.call('GET', '/api/admin/erasures?limit=0')).status).toBe(400);
});

test('when two admins erase each other concurrently, one remains', async () => {
  // The test’s own admin must not count meanwhile.
  await database.query(`update users set status = 'disabled' where id = $1`, [root.id]);
  const gil = await guard(await person('Gil', ['user', 'admin']), database);
  const hal = await guard(await person('Hal', ['user', 'admin']), database);
  // Without a second factor, an admin erases no other admin.
  const eve = await person('Evan', ['user', 'admin']);
  expect((await eve.call('POST', `/api/admin/users/${hal.id}/erase`)).status).toBe(403);
  await app.service('user').delete(eve.id);
  expect((await gil.call('POST', `/api/admin/users/${hal.id}/erase`)).status).toBe(422);
  const responses = await Promise.all([
    gil.call('POST', `/api/admin/users/${hal.id}/erase`, { code: codeOf(gil.secret) }),
    hal.call('POST', `/api/admin/users/${gil.id}/erase`, { code: codeOf(hal.secret) }),
  ]);
  expect(responses.filter(({ status }) => status === 202)).toHaveLength(1);
  await database.query(`update users set status = 'active' where id = $1`, [root.id]);
  await vi.waitUntil(async () => (await count('privacy_erasures', `status = 'running'`)) === 0, patience);
  expect(await count('users', 'id = any($1)', [gil.id, hal.id])).toBe(1);
});

test('a later check removes data that a running request stored after the account was deleted', async () => {
  const ida = await person('Ida');
  const { id } = (await erase(ida)).body.data;
  await finished(id);
  const late = await app.service('note').create({ title: 'Late', author: ida.id } as never);
  await database.query(
    `insert into sessions (id, user_id, token_hash, expires_at, ip, user_agent) values ('late', $1, 'late', now() + interval '1 day', '::1', '')`,
    [ida.id],
  );
  await database.query('update privacy_erasures set due_at = now() - make_interval(secs => 1) where id = $1', [id]);
  await vi.waitUntil(
    async () => (await rows('select looks from privacy_erasures where id = $1', id))[0].looks === 1,
    patience,
  );
  expect([await count('notes', 'id = $1', late.id), await count('sessions', 'user_id = $1', ida.id)]).toEqual([0, 0]);
  expect((await report(id)).deleted).toEqual({ note: 1, user: 1 });
});

test('records created or changed during the erasure are erased too, and their events contain no personal data', async () => {
  const joe = await person('Joey');
  const receiver = await startReceiver();
  await root.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.*'], scope: 'global' });
  let going = true;
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let i = 0; going; i++) {
      const made = await joe.call('POST', '/api/notes', { title: `${writer} ${i}`, email: 'joey@home.example' });
      if (made.status !== 201) return;
      await joe.call('PATCH', `/api/notes/${made.body.data.id}`, { title: 'Changed' });
    }
  });
  await vi.waitUntil(async () => (await count('notes', 'author = $1', joe.id)) > 20, patience);
  const { id } = (await erase(joe)).body.data;
  await Promise.all(writers);
  going = false;
  await finished(id);
  await database.query('update privacy_erasures set due_at = now() - make_interval(secs => 1) where id = $1', [id]);
  await vi.waitUntil(
    async () => (await rows('select looks from privacy_erasures where id = $1', id))[0].looks === 1,
    patience,
  );
  expect(await count('notes', 'author = $1', joe.id)).toBe(0);
  await vi.waitUntil(async () => (await count('outbox', 'true')) === 0, patience);
  expect(await count(`${ALL_DELIVERIES} d`, `body like '%joey@home%'`)).toBe(0);
  await receiver.close();
}, 120_000);

test('an admin can erase an account that is soft-deleted, disabled or empty', async () => {
  const kim = await person('Kim');
  await root.call('PATCH', `/api/users/${kim.id}`, { status: 'disabled' });
  const response = await root.call('POST', `/api/admin/users/${kim.id}/erase`);
  expect(await finished(response.body.data.id)).toMatchObject({ deleted: { user: 1 }, anonymized: {} });
  // Finding some of the data means scanning whole tables. For a user without records, one scan is enough.
  expect(inquiries.filter((id) => id === kim.id)).toHaveLength(1);

  const lou = await person('Louise');
  await make(lou, 'notes', { title: 'Mine', email: 'louise@home.example' });
  expect((await root.call('DELETE', `/api/users/${lou.id}`)).status).toBe(204);
  expect(await count('users_deleted', 'id = $1', lou.id)).toBe(1);
  const archived = await root.call('POST', `/api/admin/users/${lou.id}/erase`);
  expect(await finished(archived.body.data.id)).toMatchObject({ deleted: { note: 1, user: 1 } });
  expect(await count('users_deleted', 'id = $1', lou.id)).toBe(0);
  expect((await root.call('POST', `/api/users/${lou.id}/restore`)).status).toBe(404);
});

test('a status set by an admin during the erasure does not bring the account back', async () => {
  const lea = await person('Lea');
  const response = await root.call('POST', `/api/admin/users/${lea.id}/erase`);
  await root.call('PATCH', `/api/users/${lea.id}`, { status: 'active' });
  await finished(response.body.data.id);
  expect(await count('users', 'id = $1', lea.id)).toBe(0);
});

test('the audit trail records who requested the erasure and that it finished', async () => {
  const mia = await person('Mia');
  const { id } = (await root.call('POST', `/api/admin/users/${mia.id}/erase`)).body.data;
  await finished(id);
  const securityEntries = await vi.waitUntil(async () => {
    const { data } = (await root.call('GET', `/api/admin/audit?record=${mia.id}`)).body;
    const found = data.filter(({ action }: { action: string }) => action.startsWith('security.'));
    return found.length === 2 && found;
  }, patience);
  expect(securityEntries.map(({ action, user: by, via }: Record<string, string>) => [action, by, via])).toEqual([
    ['security.account_erased', null, 'system'],
    ['security.erasure_requested', root.id, null],
  ]);
});
