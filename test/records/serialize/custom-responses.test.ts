// Custom routes that return records, copies of them, or values with records in them.
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

// biome-ignore lint/suspicious/noExplicitAny: a stored record of any resource
type Doc = any;

/** Ways in which handlers copy a record before they return it. `whole`: the response contains the record itself, not a copy. */
const SHAPES: Record<string, { whole: boolean; make: (doc: Doc) => unknown; find: (data: Doc) => Doc }> = {
  record: { whole: true, make: (doc) => doc, find: (data) => data },
  list: { whole: true, make: (doc) => [doc], find: (data) => data[0] },
  nested: { whole: true, make: (doc) => ({ nested: { doc } }), find: (data) => data.nested.doc },
  spread: { whole: false, make: (doc) => ({ ...doc }), find: (data) => data },
  data: { whole: false, make: (doc) => ({ data: { ...doc } }), find: (data) => data.data },
  assign: { whole: false, make: (doc) => Object.assign({}, doc), find: (data) => data },
  entries: { whole: false, make: (doc) => Object.fromEntries(Object.entries(doc)), find: (data) => data },
  json: { whole: false, make: (doc) => JSON.parse(JSON.stringify(doc)), find: (data) => data },
  clone: { whole: false, make: (doc) => structuredClone(doc), find: (data) => data },
  loop: {
    whole: false,
    make(doc) {
      const copy: Doc = {};
      for (const name in doc) copy[name] = doc[name];
      return copy;
    },
    find: (data) => data,
  },
};

/** What the route `/:id/wrapped` makes of the record. */
let wrapping: (doc: Doc) => unknown = (doc) => doc;

const note = defineResource('note', {
  fields: {
    title: f.string(),
    owner: f.ref('user').owner(),
    hidden: f.string().hidden(),
    password: f.password(),
    writeOnly: f.string().writeOnly(),
    forAdmins: f.string().visibleTo('admin'),
    forOwner: f.string().visibleTo('owner'),
    byFunction: f.string().visibleTo(({ user }) => user?.roles?.includes('admin') === true),
    encrypted: f.string().encrypted(),
    hiddenEncrypted: f.string().encrypted().hidden(),
    adminEncrypted: f.string().encrypted().visibleTo('admin'),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  routes: (route) => [
    route.get('/:id/wrapped', { policy: 'public' }, ({ doc }) => wrapping(doc)),
    ...Object.entries(SHAPES).map(([name, { make }]) =>
      route.get(`/:id/${name}` as '/:id/x', { policy: 'public' }, ({ doc }) => {
        // Code sees every value, so a field missing in the copy was not missing from the record.
        if (doc.hidden !== 'h' || doc.hiddenEncrypted !== 'he') throw new Error('the record lacks its hidden fields');
        return make(doc);
      }),
    ),
  ],
});

const open = { list: 'public', read: 'public' } as const;
const topic = defineResource('topic', { fields: { name: f.string(), note: f.string().hidden() }, policies: open });
const post = defineResource('post', {
  fields: {
    title: f.string(),
    draft: f.string().visibleTo('admin'),
    author: f.ref('user').populate(),
    topics: f.array(f.ref('topic')).populate(),
  },
  policies: open,
  routes: (route) => [
    route.get('/scored', { policy: 'public' }, async ({ service }) => {
      const { data } = await service('post').list({ sort: 'createdAt' });
      const topics = (await service('topic').list({ sort: 'createdAt' })).data;
      return {
        scored: data.map((doc, score) => ({ doc, score })),
        mixed: [data[0], 'text', null, topics[0], [data[1]], new Date(0)],
        byTitle: Object.fromEntries(data.map((doc) => [doc.title, { doc }])),
        twice: [data[0], data[0]],
        odd: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'),
      };
    }),
  ],
});

const { app, call, person } = await startTestApp({ resources: [defineUser(), note, topic, post] });
const [owner, other, admin] = [await person('Ann'), await person('Bob'), await person('Root', ['user', 'admin'])];
const viewers: Record<string, typeof call> = { visitor: call, other: other.call, owner: owner.call, admin: admin.call };
const SECRETS = {
  hidden: 'h',
  password: 'pass-word-1234',
  writeOnly: 'w',
  hiddenEncrypted: 'he',
} as const;
const RESTRICTED = { forAdmins: 'fa', forOwner: 'fo', byFunction: 'bf', adminEncrypted: 'ae' } as const;
const OPEN = { title: 't', encrypted: 'e' } as const;
const { id } = await app.service('note').create({ ...OPEN, ...SECRETS, ...RESTRICTED, owner: owner.id });
const topics: string[] = [];
for (const name of ['a', 'b']) topics.push((await app.service('topic').create({ name, note: 'hidden' })).id);
for (let i = 0; i < 12; i++) {
  await app.service('post').create({ title: `t${i}`, draft: 'd', author: owner.id, topics });
}

/** The fields with `visibleTo` that a viewer may see on a record. */
const VISIBLE: Record<string, (keyof typeof RESTRICTED)[]> = {
  visitor: [],
  other: [],
  owner: ['forOwner'],
  admin: ['forAdmins', 'byFunction', 'adminEncrypted'],
};

const cases = Object.keys(SHAPES).flatMap((shape) => Object.keys(viewers).map((viewer) => [shape, viewer] as const));

test.each(cases)('a custom route that returns a record as "%s" sends %s only visible fields', async (shape, viewer) => {
  const { status, body } = await viewers[viewer]!('GET', `/api/notes/${id}/${shape}`);
  expect(status).toBe(200);
  const { whole, find } = SHAPES[shape]!;
  const visible = whole ? VISIBLE[viewer]! : [];
  expect(find(body.data)).toEqual({
    id,
    ...OPEN,
    owner: owner.id,
    ...Object.fromEntries(visible.map((name) => [name, RESTRICTED[name]])),
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
});

test('a custom route sends the same fields of a record as the CRUD routes', async () => {
  for (const as of Object.values(viewers)) {
    const { data } = (await as('GET', `/api/notes/${id}`)).body;
    expect((await as('GET', `/api/notes/${id}/record`)).body.data).toEqual(data);
    expect((await as('GET', '/api/notes')).body.data).toEqual([data]);
  }
});

/** The response of a custom route that returns what `wrap` makes of the record; for the owner, who may see most of its fields. */
async function returned(wrap: (doc: Doc) => unknown) {
  wrapping = wrap;
  return owner.call('GET', `/api/notes/${id}/wrapped`);
}

test('an object that inherits from a record sends its own keys, as in JSON', async () => {
  expect((await returned((doc) => Object.create(doc))).body).toEqual({ data: {} });
  const { status, body } = await returned((doc) => Object.assign(Object.create(doc), { title: 'x' }));
  expect([status, body.data]).toEqual([200, { title: 'x' }]);
});

test('a proxy of a record sends the fields that every reader may see', async () => {
  const { status, body } = await returned((doc) => [new Proxy(doc, {})]);
  const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
  expect([status, body.data]).toEqual([200, [{ id, ...OPEN, owner: owner.id, ...times }]]);
});

test('a proxy that reads from the record sends the fields that the viewer may see', async () => {
  const { status, body } = await returned((doc) => new Proxy(doc, { get: (target, key) => target[key] }));
  expect(status).toBe(200);
  expect(body.data).toEqual((await owner.call('GET', `/api/notes/${id}`)).body.data);
});

test.each(['hidden', 'forOwner'])(
  'reading or setting the field "%s" of a wrapped record is a clear error',
  async (name) => {
    const message = new RegExp(`^The field "${name}" belongs to the stored note itself, but this object inherits`);
    const record = (await app.service('note').read(id)) as Doc;
    for (const wrapped of [Object.create(record), new Proxy(record, {})]) {
      expect(() => wrapped[name]).toThrow(message);
      expect(() => {
        wrapped[name] = 'x';
      }).toThrow(message);
    }
    expect(record[name]).toBe(name === 'hidden' ? 'h' : 'fo');
  },
);

test('records anywhere in a response are serialized for the caller, and all other values stay unchanged', async () => {
  const { data } = (await call('GET', '/api/posts/scored')).body;
  const serializedNote = (title: string) => ({
    id: expect.any(String),
    title,
    author: expect.objectContaining({ id: owner.id, name: 'Ann' }),
    topics: [expect.objectContaining({ name: 'a' }), expect.objectContaining({ name: 'b' })],
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  expect(data.scored).toHaveLength(12);
  for (const [score, one] of data.scored.entries()) expect(one).toEqual({ doc: serializedNote(`t${score}`), score });
  const topicShown = { id: topics[0], name: 'a', createdAt: expect.any(String), updatedAt: expect.any(String) };
  expect(data.mixed).toEqual([
    serializedNote('t0'),
    'text',
    null,
    topicShown,
    [serializedNote('t1')],
    '1970-01-01T00:00:00.000Z',
  ]);
  expect(data.byTitle.t11).toEqual({ doc: serializedNote('t11') });
  expect(data.twice).toEqual([serializedNote('t0'), serializedNote('t0')]);
  expect(JSON.stringify(data.odd)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
  expect((await admin.call('GET', '/api/posts/scored')).body.data.scored[0].doc.draft).toBe('d');
});

test('the records of a response cost one query per reference field, wherever they occur', async () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  expect((await call('GET', '/api/posts/scored')).status).toBe(200);
  const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text ?? '');
  sent.mockRestore();
  const tables = texts.flatMap((text) =>
    text.includes('"id" = any(') ? (/from "(\w+)" where/.exec(text)?.[1] ?? []) : [],
  );
  expect(tables.sort()).toEqual(['topics', 'users']);
});
