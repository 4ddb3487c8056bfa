import { randomBytes } from 'node:crypto';
import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { audit, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const seen: string[] = [];
const tag = defineResource('tag', { fields: { name: f.string() }, policies: open });
const item = defineResource('item', {
  fields: {
    code: f.string().unique().filterable(),
    title: f.string(),
    body: f.text(),
    price: f.decimal({ precision: 10, scale: 2 }),
    size: f.number(),
    count: f.integer(),
    due: f.date(),
    done: f.boolean(),
    tags: f.refs('tag'),
    labels: f.array(f.string()),
    parts: f.array(f.object({ name: f.string(), size: f.number() })),
    place: f.object({ city: f.string(), zip: f.string() }),
    data: f.json(),
    iban: f.string().encrypted(),
    notes: f.json().encrypted(),
    checked: f.string().check((value) => value !== 'bad'),
    absent: f.string(),
    absentSecret: f.string().encrypted(),
  },
  policies: open,
  audit: true,
});
const hooked = defineResource('hooked', {
  fields: { title: f.string(), slug: f.string(), visits: f.integer() },
  policies: open,
  hooks: {
    beforeUpdate(changes, record) {
      seen.push('before');
      if (changes.title === 'count') changes.visits = (record.visits ?? 0) + 1;
      if (typeof changes.title === 'string') changes.slug = changes.title.toLowerCase();
    },
    afterUpdate: () => void seen.push('after'),
  },
});
const timeless = defineResource('timeless', {
  fields: { text: f.string(), pin: f.string().encrypted() },
  policies: open,
  timestamps: false,
});
const vault = defineResource('vault', {
  fields: {
    name: f.string(),
    pin: f.string().writeOnly(),
    code: f.string().encrypted().writeOnly(),
    grade: f.enum(['a', 'b']).visibleTo('admin'),
    diary: f.string().visibleTo('owner'),
    owner: f.ref('user').owner(),
  },
  policies: { ...open, create: 'authenticated', update: 'authenticated' },
});
const { app, call, env, person } = await startTestApp(
  { resources: [defineUser({ roles: ['user', 'admin'] }), tag, item, hooked, timeless, vault], extensions: [audit()] },
  { env: () => ({ SVC_ENCRYPTION_KEYS: randomBytes(32).toString('base64') }) },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const [ada, bob] = [await person('Ada'), await person('Bob')];
const items = app.service(item);
app.on('item.updated', () => void seen.push('listener'));

const countEvents = async (id: string) =>
  Number(
    (await sql.query(`select count(*) from outbox where record_id = $1 and name like '%.updated'`, [id])).rows[0].count,
  );
const tags = (await app.service(tag).createMany([{ name: 'one' }, { name: 'two' }])).map(({ id }) => id);

const values = {
  title: 'Chair',
  body: ' two\nlines ',
  price: '24.50',
  size: 1.5,
  count: 3,
  due: '2026-11-28T10:00:00.000Z',
  done: false,
  tags,
  labels: ['a', 'b'],
  parts: [{ name: 'leg', size: 2 }],
  place: { city: 'Bern', zip: '3000' },
  data: { a: 1, b: [{ c: null }] },
  iban: 'CH93',
  notes: { x: 1, y: [2] },
  checked: 'good',
};
let made = 0;
const make = async () => (await call('POST', '/api/items', { code: `code${++made}`, ...values })).body.data;

/** Runs a write and returns whether it changed the record, by its time, its event and its listeners, which agree. */
async function isChangedBy(id: string, write: () => Promise<unknown>): Promise<boolean> {
  const before = await items.read(id);
  const events = await countEvents(id);
  seen.length = 0;
  await write();
  const found = [
    (await items.read(id)).updatedAt !== before.updatedAt,
    (await countEvents(id)) !== events,
    seen.includes('listener'),
  ];
  expect(new Set(found).size).toBe(1);
  return found[0]!;
}

const equal: [string, object][] = [
  ['no field', {}],
  ['the same text', { title: 'Chair' }],
  ['a text that is the same once trimmed', { title: '  Chair ' }],
  ['a decimal with other zeros', { price: 24.5 }],
  ['a date in another time zone', { due: '2026-11-28T11:00:00+01:00' }],
  [
    'objects and JSON with other orders of keys',
    { place: { zip: '3000', city: 'Bern' }, data: { b: [{ c: null }], a: 1 } },
  ],
  ['lists with the same items', { tags, labels: ['a', 'b'], parts: [{ size: 2, name: 'leg' }] }],
  ['encrypted values', { iban: 'CH93', notes: { y: [2], x: 1 } }],
  ['null for an encrypted and a plain field without a value', { absent: null, absentSecret: null }],
  ['a value with a rule', { checked: 'good' }],
  ['every value', values],
];
const different: [string, object][] = [
  ['another text', { title: 'chair' }],
  ['null', { title: null }],
  ['an empty list', { labels: [] }],
  ['lists in another order', { tags: tags.toReversed() }],
  ['a nested value', { data: { a: 2, b: [{ c: null }] } }],
  ['another encrypted value', { iban: 'CH94' }],
  ['null for an encrypted value', { iban: null }],
  ['an encrypted value among unchanged ones', { title: 'Chair', notes: { x: 1, y: [3] } }],
  ['one of many values', { ...values, done: true }],
];

/** Each way to update a record with a code, by its name. */
function writersOf({ id, code }: { id: string; code: string }, changes: object): [string, () => Promise<unknown>][] {
  const update = { op: 'update', id, data: changes };
  const upsert = { op: 'upsert', by: 'code', data: { code, ...changes } };
  const batch = (mode: string, ...operations: object[]) => call('POST', '/api/items/batch', { mode, operations });
  return [
    ['PATCH', () => call('PATCH', `/api/items/${id}`, changes)],
    ['PUT', () => call('PUT', `/api/items/${id}`, changes)],
    ['an atomic batch', () => batch('atomic', update)],
    ['a batch per item', () => batch('perItem', update, { op: 'create', data: { title: 'other' } })],
    ['an upsert of a batch', () => batch('atomic', upsert)],
    ['service.update', () => items.update(id, changes)],
    ['service.updateMany', () => items.updateMany({ code }, changes)],
    ['service.upsert', () => items.upsert('code', { code, ...changes })],
    ['service.update in a transaction', () => app.transaction((tx) => tx.service(item).update(id, changes))],
    [
      'the import',
      () => app.bulk.resource('item').write([{ values: { code, ...changes } }], { upsertBy: 'code' } as never),
    ],
    [
      'the bulk action of the console',
      () => app.bulk.resource('item').change([id], { action: 'update', values: changes as never }),
    ],
  ];
}

test.each(equal)(
  'an update that changes nothing stores and emits nothing, over every door: %s',
  async (_name, changes) => {
    const record = await make();
    for (const [door, write] of writersOf(record, changes))
      expect([door, await isChangedBy(record.id, write)]).toEqual([door, false]);
  },
);

test.each(different)(
  'an update that changes one value is stored and emitted once, over every door: %s',
  async (_name, changes) => {
    for (const at of writersOf({ id: '', code: '' }, changes).keys()) {
      const record = await make();
      const [door, write] = writersOf(record, changes)[at]!;
      expect([door, await isChangedBy(record.id, write), await countEvents(record.id)]).toEqual([door, true, 1]);
      expect([door, await isChangedBy(record.id, write)]).toEqual([door, false]);
    }
  },
);

test('a repeated update returns the record with its entity tag, and If-Match is still checked', async () => {
  const { id } = await make();
  const { headers, body } = await call('GET', `/api/items/${id}`);
  const etag = headers.get('etag')!;
  const again = await call('PATCH', `/api/items/${id}`, { title: 'Chair' }, { 'if-match': etag });
  expect([again.status, again.headers.get('etag'), again.body.data]).toEqual([200, etag, body.data]);
  const stale = { 'if-match': '"v0"' };
  expect((await call('PATCH', `/api/items/${id}`, { title: 'Chair' }, stale)).status).toBe(412);
  await call('DELETE', `/api/items/${id}`);
  expect((await call('PATCH', `/api/items/${id}`, { title: 'Chair' })).status).toBe(404);
});

test('a record without timestamps keeps its version when nothing changes', async () => {
  const { id } = (await call('POST', '/api/timelesses', { text: 'x', pin: '1' })).body.data;
  const tagAfter = async (changes: object) =>
    (await call('PATCH', `/api/timelesses/${id}`, changes)).headers.get('etag');
  const first = await tagAfter({ text: 'y' });
  expect([await tagAfter({ text: 'y', pin: '1' }), await tagAfter({}), await countEvents(id)]).toEqual([
    first,
    first,
    1,
  ]);
  expect([(await tagAfter({ pin: '2' })) === first, await countEvents(id)]).toEqual([false, 2]);
});

test('beforeUpdate runs, then the values are compared, and afterUpdate runs only after a change', async () => {
  const { id } = (await call('POST', '/api/hookeds', { title: 'One', slug: 'one' })).body.data;
  const send = async (changes: object) => {
    seen.length = 0;
    const { body } = await call('PATCH', `/api/hookeds/${id}`, changes);
    return [...seen, body.data.visits, await countEvents(id)];
  };
  expect(await send({ title: 'One' })).toEqual(['before', undefined, 0]);
  expect(await send({ title: 'Two' })).toEqual(['before', 'after', undefined, 1]);
  expect(await send({ title: 'count' })).toEqual(['before', 'after', 1, 2]);
  // The hook changes a value that the client did not send.
  expect(await send({ title: 'count' })).toEqual(['before', 'after', 2, 3]);
});

test('an update of a field that its caller cannot see counts as a change, so that nobody learns its value by guessing', async () => {
  const input = { name: 'x', pin: '1', code: '2', grade: 'a', diary: 'd' };
  const { id } = await app.service(vault).create({ ...input, owner: ada.id } as never);
  const isChanged = async (as: typeof ada, changes: object) => {
    const events = await countEvents(id);
    const one = await as.call('PATCH', `/api/vaults/${id}`, changes);
    const operations = [{ op: 'update', id, data: changes }];
    const many = await as.call('POST', '/api/vaults/batch', { operations });
    expect([one.status, many.status]).toEqual([200, 200]);
    return (await countEvents(id)) - events;
  };
  const found: number[] = [];
  for (const changes of [{ pin: '1' }, { code: '2' }, { grade: 'a' }, { diary: 'd' }, { name: 'x' }])
    found.push(await isChanged(bob, changes), await isChanged(ada, changes));
  expect(found).toEqual([2, 2, 2, 2, 2, 2, 2, 0, 0, 0]);
});
