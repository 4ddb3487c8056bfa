import pg from 'pg';
import { expect, test } from 'vitest';
import { audit, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const org = defineResource('org', {
  fields: { name: f.string(), secret: f.boolean().default(false), owner: f.ref('user').owner() },
  policies: { ...open, create: 'authenticated', read: 'owner' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { secret: false }),
});
const place = defineResource('place', {
  fields: { name: f.string(), city: f.string() },
  policies: { ...open, read: ({ doc }) => (doc as { city?: string }).city === 'Rome', reference: 'admin' },
});
const ledger = defineResource('ledger', {
  fields: { firm: f.ref('firm', { onDelete: 'restrict' }) },
  policies: { ...open, read: 'admin' },
});
const hooked: string[] = [];
const job = defineResource('job', {
  fields: {
    org: f.ref('org', { onDelete: 'restrict' }),
    place: f.ref('place', { exists: true }),
    places: f.refs('place'),
    fallback: f.ref('place', { exists: true }),
    note: f.string(),
  },
  policies: open,
  hooks: {
    beforeCreate(values) {
      if (values.note?.startsWith('fallback ')) values.fallback = values.note.slice('fallback '.length);
      if (values.note === 'reverse') values.places = values.places?.toReversed();
    },
    beforeDelete: (record) => void hooked.push(`before ${record.id}`),
    afterDelete: (record) => void hooked.push(`after ${record.id}`),
  },
});
const badge = defineResource('badge', {
  fields: { job: f.ref('job', { onDelete: 'cascade' }), holder: f.ref('user', { onDelete: 'cascade' }) },
  policies: open,
  audit: true,
  hooks: {
    beforeDelete: (record) => void hooked.push(`before ${record.id}`),
    afterDelete: (record, { user }) => void hooked.push(`after ${record.id} by ${user?.id}`),
  },
});
const user = defineUser({
  fields: { employer: f.ref('firm', { onDelete: 'cascade' }) },
  roles: ['user', 'admin'],
});
const firm = defineResource('firm', { fields: { name: f.string() }, policies: open });
const page = defineResource('page', {
  fields: {
    topic: f.ref('topic', { onDelete: 'setNull' }),
    topics: f.refs('topic'),
    book: f.ref('book', { onDelete: 'cascade' }),
  },
  policies: open,
  softDelete: true,
});
const topic = defineResource('topic', { fields: { name: f.string() }, policies: open });
const book = defineResource('book', { fields: { name: f.string() }, policies: open });
const draft = defineResource('draft', {
  fields: { book: f.ref('book', { onDelete: 'cascade' }), author: f.ref('user').owner() },
  policies: { ...open, create: 'authenticated', delete: 'owner | admin' },
  softDelete: true,
});
const { app, call, env, person } = await startTestApp({
  resources: [user, ledger, org, place, job, badge, firm, page, topic, book, draft],
  extensions: [softDelete(), audit()],
});
const GONE = 'ffffffffffffffffffffffff';

test('a client cannot refer to a record that is hidden from it, and gets the same error as for a missing one', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const orgs = app.service('org');
  const hidden = await orgs.create({ owner: ada.id, secret: true });
  const visible = await orgs.create({ owner: ada.id });
  const missing = (await ada.call('POST', '/api/jobs', { org: GONE })).body;
  for (const response of [
    await ada.call('POST', '/api/jobs', { org: hidden.id }),
    await bob.call('POST', '/api/jobs', { org: visible.id }),
    await call('POST', '/api/jobs', { org: visible.id }),
  ]) {
    expect(response.status).toBe(422);
    expect(response.body.error).toEqual({ ...missing.error, requestId: response.body.error.requestId });
  }
  expect((await ada.call('POST', '/api/jobs', { org: visible.id })).status).toBe(201);
  expect(await app.service('job').create({ org: hidden.id })).toMatchObject({ org: hidden.id });
});

test('policies that decide record by record decide which records a client may refer to', async () => {
  const [rome, oslo] = [
    await app.service('place').create({ city: 'Rome' }),
    await app.service('place').create({ city: 'Oslo' }),
  ];
  const { body } = await call('POST', '/api/jobs', { place: oslo.id, places: [rome.id, oslo.id] });
  expect(body.error.details).toEqual({ place: 'No such place', 'places.1': 'No such place' });
  expect((await call('POST', '/api/jobs', { place: rome.id, places: [rome.id] })).status).toBe(201);
  const admin = await person('Admin', ['user', 'admin']);
  expect((await admin.call('POST', '/api/jobs', { place: oslo.id, places: [oslo.id] })).status).toBe(201);
});

test('a client may send back the references that a record has already, although it cannot see their records', async () => {
  const [rome, oslo, oslo2] = await Promise.all(
    ['Rome', 'Oslo', 'Oslo'].map((city) => app.service('place').create({ city })),
  );
  const { id } = await app.service('job').create({ place: oslo!.id, places: [oslo!.id] });
  const patch = (body: object) => call('PATCH', `/api/jobs/${id}`, body);
  expect((await patch({ place: oslo!.id, places: [rome!.id, oslo!.id], note: 'x' })).status).toBe(200);
  expect((await patch({ place: oslo2!.id })).status).toBe(422);
  expect((await patch({ places: [oslo!.id, oslo2!.id] })).body.error.details).toEqual({ 'places.1': 'No such place' });
});

test('a hook may refer to a record that the client cannot see, and a missing one is an error of the project', async () => {
  const oslo = await app.service('place').create({ city: 'Oslo' });
  const created = await call('POST', '/api/jobs', { note: `fallback ${oslo.id}` });
  expect(created.body.data.fallback).toBe(oslo.id);
  expect((await call('POST', '/api/jobs', { note: `fallback ${GONE}` })).status).toBe(500);
});

test('a client cannot refer to a hidden record in a list that a hook changes, and gets the same error as for a missing one', async () => {
  const [rome, oslo] = await Promise.all(['Rome', 'Oslo'].map((city) => app.service('place').create({ city })));
  const create = (id: string) => call('POST', '/api/jobs', { note: 'reverse', places: [id, rome!.id] });
  for (const { status, body } of [await create(oslo!.id), await create(GONE)]) {
    expect(status).toBe(422);
    expect(body.error.details).toEqual({ 'places.1': 'No such place' });
  }
});

test('a refused deletion names only resources of which the caller sees a referring record', async () => {
  const [ada, admin] = [await person('Ada'), await person('Admin', ['user', 'admin'])];
  const { id } = await app.service('firm').create({});
  await app.service('ledger').create({ firm: id });
  const messageFor = async (client: typeof call) => (await client('DELETE', `/api/firms/${id}`)).body.error.message;
  expect(await messageFor(ada.call)).toBe('Other records refer to this record, so it cannot be deleted');
  expect(await messageFor(admin.call)).toBe('Records of "ledger" refer to this record, so it cannot be deleted');
});

test('a cascade runs after hooks but no before hooks, and the deletion of users ends their sessions', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const firm = await app.service('firm').create({});
  await app.service('user').update(bob.id, { employer: firm.id });
  const { id } = await app.service('badge').create({ holder: bob.id });
  hooked.length = 0;
  expect((await ada.call('DELETE', `/api/firms/${firm.id}`)).status).toBe(204);
  expect(hooked).toEqual([`after ${id} by ${ada.id}`]);
  expect((await bob.call('GET', '/api/auth/me')).status).toBe(401);
});

test('a restored record has no references to records that were deleted meanwhile', async () => {
  const [topic, other] = [await app.service('topic').create({}), await app.service('topic').create({})];
  const page = await app.service('page').create({ topic: topic.id, topics: [topic.id, other.id] });
  await app.service('page').delete(page.id);
  await app.service('topic').delete(topic.id);
  const restored = await call('POST', `/api/pages/${page.id}/restore`);
  expect(restored.body.data).toMatchObject({ topics: [other.id] });
  expect(restored.body.data).not.toHaveProperty('topic');
});

test('a record that a cascade deleted cannot be restored before its target', async () => {
  const book = await app.service('book').create({});
  const page = await app.service('page').create({ book: book.id });
  await app.service('book').delete(book.id);
  const { status, body } = await call('POST', `/api/pages/${page.id}/restore`);
  expect([status, body.error.details]).toEqual([422, { book: 'No such book' }]);
});

test('owners can restore what their own deletion deleted with it, but not what that of another user did', async () => {
  const ada = await person('Ada');
  const restoreAfterDeletionBy = async (client: typeof call) => {
    const book = await app.service('book').create({});
    const { id } = (await ada.call('POST', '/api/drafts', { book: book.id })).body.data;
    await client('DELETE', `/api/books/${book.id}`);
    return (await ada.call('POST', `/api/drafts/${id}/restore`)).status;
  };
  // The book is gone, so an allowed restore fails for its reference.
  expect(await restoreAfterDeletionBy(ada.call)).toBe(422);
  expect(await restoreAfterDeletionBy(call)).toBe(403);
});

test('a deletion that would delete more than 10,000 other records is refused, and changes nothing', async () => {
  const { id } = await app.service('book').create({});
  const client = new pg.Client(env.DATABASE_URL);
  await client.connect();
  await client.query(
    `insert into pages (id, book) select lpad(to_hex(n), 24, '0'), $1 from generate_series(1, 10001) n`,
    [id],
  );
  const refused = await call('DELETE', `/api/books/${id}`);
  expect([refused.status, refused.body.error.message]).toEqual([
    409,
    'More than 10,000 records refer to this record, directly or through others; delete or change those first',
  ]);
  await client.query('delete from pages where id = $1', ['1'.padStart(24, '0')]);
  expect((await call('DELETE', `/api/books/${id}`)).status).toBe(204);
  const { rows } = await client.query(
    `select count(*)::int as pages, (select count(*)::int from outbox
    where name = 'page.deleted' and payload->'record'->>'book' = $1) as events from pages where book = $1`,
    [id],
  );
  await client.end();
  expect(rows[0].pages).toBe(0);
  expect([0, 10_000]).toContain(rows[0].events);
});
