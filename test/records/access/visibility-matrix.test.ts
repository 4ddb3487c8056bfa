// Field × channel × viewer, generated from a declaration. The expected fields come from a hand-written table; the actual ones are read
// through every channel of the API.
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const VIEWERS = ['nobody', 'owner', 'stranger', 'editor', 'admin'] as const;
type Viewer = (typeof VIEWERS)[number];
const all = new Set<Viewer>(VIEWERS);
const none = new Set<Viewer>();

/** Each field with its viewers. All values differ, so that a leak is detected wherever the text appears. */
const fields = {
  open: { field: f.string(), seenBy: all },
  fixed: { field: f.string().readOnly(), seenBy: all },
  once: { field: f.string().immutable(), seenBy: all },
  adminSet: { field: f.string().writableBy('admin'), seenBy: all },
  hidden: { field: f.string().hidden(), seenBy: none },
  written: { field: f.string().writeOnly(), seenBy: none },
  password: { field: f.password(), seenBy: none },
  sealed: { field: f.string().encrypted(), seenBy: all },
  forOwner: { field: f.string().visibleTo('owner'), seenBy: new Set<Viewer>(['owner']) },
  forStaff: { field: f.string().visibleTo('editor | admin'), seenBy: new Set<Viewer>(['editor', 'admin']) },
  forBoth: { field: f.string().visibleTo('owner | admin'), seenBy: new Set<Viewer>(['owner', 'admin']) },
  forUsers: {
    field: f.string().visibleTo('authenticated'),
    seenBy: new Set<Viewer>(['owner', 'stranger', 'editor', 'admin']),
  },
  forNone: { field: f.string().visibleTo('none'), seenBy: none },
  forAsked: {
    field: f
      .string()
      .visibleTo(
        async ({ user, doc, action }) => action === 'read' && doc.open === 'value-open' && user?.name === 'editor',
      ),
    seenBy: new Set<Viewer>(['editor']),
  },
  sealedForOwner: { field: f.string().encrypted().visibleTo('owner'), seenBy: new Set<Viewer>(['owner']) },
  sealedHidden: { field: f.string().encrypted().hidden(), seenBy: none },
};
type Name = keyof typeof fields;
const NAMES = Object.keys(fields) as Name[];
const value = (name: Name) => `value-${name}`;

const declared = Object.fromEntries(NAMES.map((name) => [name, fields[name].field]));
/** The same fields, made queryable where the declaration language allows it. */
const queryable = Object.fromEntries(
  (['open', 'forOwner', 'forStaff', 'forBoth', 'forUsers'] as const).map((name) => [
    name,
    fields[name].field.filterable().sortable().searchable(),
  ]),
);

const note = defineResource('note', {
  fields: { ...declared, ...queryable, author: f.ref('user').owner() },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  routes: (route) => [
    route.get('/:id/alone', { policy: 'public' }, ({ doc }) => doc),
    route.get('/:id/nested', { policy: 'public' }, ({ doc }) => ({ a: { b: [{ c: { d: { e: { f: [doc] } } } }] } })),
    route.get('/:id/listed', { policy: 'public' }, async ({ service }) => (await service('note').list()).data),
    route.get('/:id/paged', { policy: 'public' }, ({ service }) => service('note').list()),
    route.get('/:id/mixed', { policy: 'public' }, async ({ doc, service }) => [
      doc,
      1,
      ...(await service('link').list()).data,
    ]),
    route.get('/:id/bare', { policy: 'public' }, ({ doc }) =>
      Object.assign(Object.create(null), { doc, when: new Date(0) }),
    ),
    route.get(
      '/:id/instance',
      { policy: 'public' },
      ({ doc }) =>
        new (class Box {
          inside = doc;
        })(),
    ),
    route.get('/:id/by-hand', { policy: 'public' }, ({ doc, res }) => {
      res.json({ data: doc });
    }),
  ],
});
const link = defineResource('link', {
  fields: { shown: f.ref('note').populate(), asked: f.ref('note') },
  policies: { list: 'public', read: 'public' },
});

const { app, call, person } = await startTestApp({ resources: [defineUser({ roles: ['editor'] }), note, link] });
const people = {
  owner: await person('owner'),
  stranger: await person('stranger'),
  editor: await person('editor', ['user', 'editor']),
  admin: await person('admin', ['user', 'admin']),
};
const as = (viewer: Viewer) => (viewer === 'nobody' ? call : people[viewer].call);
const values = Object.fromEntries(NAMES.map((name) => [name, value(name)]));
const record = await app.service('note').create({ ...values, author: people.owner.id } as never);
const linked = await app.service('link').create({ shown: record.id, asked: record.id });

/** Reads the record through each channel. */
const channels: Record<string, (viewer: Viewer) => Promise<Record<string, unknown>>> = {
  read: async (viewer) => (await as(viewer)('GET', `/api/notes/${record.id}`)).body.data,
  list: async (viewer) => (await as(viewer)('GET', '/api/notes')).body.data[0],
  'answer of an update': async (viewer) =>
    (await as(viewer)('PATCH', `/api/notes/${record.id}`, { open: value('open') })).body.data,
  'populated reference': async (viewer) => (await as(viewer)('GET', `/api/links/${linked.id}`)).body.data.shown,
  'included reference': async (viewer) => (await as(viewer)('GET', '/api/links?include=asked')).body.data[0].asked,
  'custom route': async (viewer) => (await as(viewer)('GET', `/api/notes/${record.id}/alone`)).body.data,
  'nested in a custom answer': async (viewer) =>
    (await as(viewer)('GET', `/api/notes/${record.id}/nested`)).body.data.a.b[0].c.d.e.f[0],
  'list of a custom route': async (viewer) => (await as(viewer)('GET', `/api/notes/${record.id}/listed`)).body.data[0],
  'page of a custom route': async (viewer) =>
    (await as(viewer)('GET', `/api/notes/${record.id}/paged`)).body.data.data[0],
  'beside others in a custom answer': async (viewer) =>
    (await as(viewer)('GET', `/api/notes/${record.id}/mixed`)).body.data[0],
  'populated in a custom answer': async (viewer) =>
    (await as(viewer)('GET', `/api/notes/${record.id}/mixed`)).body.data[2].shown,
  'in a bare object': async (viewer) => (await as(viewer)('GET', `/api/notes/${record.id}/bare`)).body.data.doc,
  'in an instance of a class': async (viewer) =>
    (await as(viewer)('GET', `/api/notes/${record.id}/instance`)).body.data.inside,
};

for (const viewer of VIEWERS) {
  for (const [channel, open] of Object.entries(channels)) {
    test(`${viewer}, ${channel}: exactly the fields that the viewer may see`, async () => {
      const seen = await open(viewer);
      const expected = NAMES.filter((name) => fields[name].seenBy.has(viewer));
      expect(Object.keys(seen).sort()).toEqual([...expected, 'id', 'author', 'createdAt', 'updatedAt'].sort());
      for (const name of expected) expect(seen[name]).toBe(value(name));
      for (const name of NAMES) if (!expected.includes(name)) expect(JSON.stringify(seen)).not.toContain(value(name));
    });
  }

  test(`${viewer}: the fields parameter cannot select more than the viewer may see`, async () => {
    for (const name of NAMES) {
      const { status, body } = await as(viewer)('GET', `/api/notes/${record.id}?fields=${name}`);
      const { hidden, writeOnly, type } = fields[name].field.spec;
      if (hidden || writeOnly || type.kind === 'password') expect(status).toBe(400);
      else
        expect(body.data).toEqual({
          id: record.id,
          ...(fields[name].seenBy.has(viewer) ? { [name]: value(name) } : {}),
        });
    }
  });

  test(`${viewer}: filters, searches and their counts match a field only if it is visible to the viewer`, async () => {
    for (const name of Object.keys(queryable) as Name[]) {
      const visible = fields[name].seenBy.has(viewer) ? 1 : 0;
      const total = async (query: string) => (await as(viewer)('GET', `/api/notes?${query}`)).body.meta.total;
      expect(await total(`${name}=${value(name)}`)).toBe(visible);
      expect(await total(`${name}[ne]=other`)).toBe(visible);
      expect(await total(`${name}[nin]=other`)).toBe(visible);
      expect(await total(`${name}[exists]=true`)).toBe(visible);
      expect(await total(`${name}[exists]=false`)).toBe(0);
      expect(await total(`q=${value(name)}`)).toBe(visible);
    }
  });

  test(`${viewer}: sorting by a field requires that the viewer sees it on every record`, async () => {
    const everywhere: Partial<Record<Name, readonly Viewer[]>> = {
      open: VIEWERS,
      forStaff: ['editor', 'admin'],
      forBoth: ['admin'],
      forUsers: ['owner', 'stranger', 'editor', 'admin'],
    };
    for (const name of Object.keys(queryable) as Name[]) {
      const { status } = await as(viewer)('GET', `/api/notes?sort=-${name}`);
      expect([name, status]).toEqual([name, everywhere[name]?.includes(viewer) ? 200 : 400]);
    }
  });

  test(`${viewer}: a create returns the fields the creator may see, and accepts the fields the creator may set`, async () => {
    const refusals: Partial<Record<Name, string>> = {
      fixed: 'Is read-only',
      hidden: 'Is read-only',
      sealedHidden: 'Is read-only',
      ...(viewer === 'admin' ? {} : { adminSet: 'You are not allowed to set this field' }),
    };
    const refused = await as(viewer)('POST', '/api/notes', values);
    expect([refused.status, refused.body.error.details]).toEqual([422, refusals]);
    const allowed = Object.fromEntries(NAMES.filter((name) => !(name in refusals)).map((name) => [name, value(name)]));
    const { status, body } = await as(viewer)('POST', '/api/notes', allowed);
    expect(status).toBe(201);
    const roles: Viewer[] = viewer === 'nobody' ? ['nobody'] : [viewer, 'owner'];
    const expected = NAMES.filter((name) => name in allowed && roles.some((role) => fields[name].seenBy.has(role)));
    const got = NAMES.filter((name) => name in body.data);
    expect(got).toEqual(expected);
    await app.service('note').delete(body.data.id);
  });
}

test('a record that a handler copies by hand contains only fields visible to every viewer', async () => {
  const { body } = await people.owner.call('GET', `/api/notes/${record.id}/by-hand`);
  const visibleFields = NAMES.filter((name) => fields[name].seenBy === all);
  expect(NAMES.filter((name) => name in body.data)).toEqual(visibleFields);
});
