// Gateways of an app that is never started: no database is needed.
import { expect, test } from 'vitest';
import type { ResourceGateway, StoredRecord } from '../../../src/declare/host.ts';
import type { Viewer } from '../../../src/declare/policy.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { createApp, defineExtension, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';

const ENV = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
  REDIS_URL: 'redis://127.0.0.1:1',
};

/** The gateways of an app with these resources, by resource name. */
function viewsOf(...resources: AnyResource[]): Map<string, ResourceGateway> {
  const gateways = new Map<string, ResourceGateway>();
  const reading = defineExtension({
    name: 'reading',
    setup(host) {
      for (const gateway of host.resources) gateways.set(gateway.name, gateway);
      return {};
    },
  });
  createApp({ resources: [defineUser(), ...resources], extensions: [softDelete(), reading] }, ENV);
  return gateways;
}

const idOf = (n: number) => String(n).padStart(24, '0');
const ann: Viewer = { id: idOf(1), roles: ['user'] };
const bob: Viewer = { id: idOf(2), roles: ['user'] };
const admin: Viewer = { id: idOf(3), roles: ['user', 'admin'] };
const open = { read: 'public' } as const;

const gateways = viewsOf(
  defineResource('label', {
    fields: {
      name: f.string(),
      code: f.string().encrypted(),
      owner: f.ref('user').owner(),
      note: f.string().visibleTo('owner'),
    },
    policies: { read: 'public', reference: 'authenticated' },
    scope: ({ user }) => (user?.id === bob.id ? { name: 'shown' } : undefined),
  }),
  defineResource('page', {
    fields: {
      title: f.string(),
      staff: f.string().visibleTo('admin'),
      mine: f.string().visibleTo('owner'),
      hidden: f.string().hidden(),
      data: f.json(),
      author: f.ref('user').owner(),
      label: f.ref('label').populate(),
      labels: f.array(f.ref('label')).populate(),
    },
    policies: open,
  }),
  defineResource('renamed', {
    fields: {
      headline: f.string().renamedFrom('title', 'name'),
      staff: f.string().visibleTo('admin').renamedFrom('note'),
      report: f.string().hidden().renamedFrom('text'),
      text: f.string(),
      number: f.string().encrypted().renamedFrom('code'),
      code: f.string(),
    },
    policies: open,
  }),
  defineResource('sealed', { fields: { code: f.string().encrypted(), title: f.string() }, policies: open }),
  defineResource('guarded', { fields: { staff: f.string().visibleTo('admin') }, policies: open }),
  defineResource('draft', { fields: { author: f.ref('user').owner() }, policies: { read: 'owner | admin' } }),
  defineResource('judged', { fields: { n: f.integer() }, policies: { read: () => true } }),
  defineResource('scoped', { fields: { n: f.integer() }, policies: open, scope: () => ({ n: 1 }) }),
  defineResource('kept', { fields: { n: f.integer() }, policies: open, softDelete: true, timestamps: false }),
  defineResource('secret', { fields: { word: f.string().hidden(), own: f.ref('user').owner() }, policies: open }),
);

const label: StoredRecord = { id: idOf(8), name: 'shown', owner: ann.id };
const page: StoredRecord = { id: idOf(9), title: 't', author: ann.id, label: label.id };
const records = new Map([[label.id, label]]);

interface Read {
  resource?: string;
  data: Record<string, unknown>;
  record?: StoredRecord | undefined;
  user?: Viewer | undefined;
  anyRecord?: boolean;
}

function readable({ resource = 'page', data, record, user, anyRecord = false }: Read): Promise<boolean> {
  const find = (name: string, id: string) => (name === 'label' ? records.get(id) : undefined);
  return gateways.get(resource)!.stillReadable({ data, record, find }, { user }, anyRecord);
}

test.each<[string, Record<string, unknown>, Viewer | undefined, boolean]>([
  ['a public field', { id: page.id, title: 't' }, undefined, true],
  ['its timestamps', { createdAt: 'x', updatedAt: 'x' }, undefined, true],
  ['a timestamp that the resource no longer has', { deletedAt: 'x' }, undefined, true],
  ['a field that was removed', { gone: 1 }, undefined, true],
  ['a hidden field', { hidden: 'x' }, admin, false],
  ['a field for admins, by an admin', { staff: 'x' }, admin, true],
  ['a field for admins, by a user', { staff: 'x' }, ann, false],
  ['a field for its owner, by the owner', { mine: 'x' }, ann, true],
  ['a field for its owner, by another user', { mine: 'x' }, bob, false],
  ['a field for its owner, by a visitor', { mine: 'x' }, undefined, false],
  ['a public field next to one for admins', { title: 't', staff: 'x' }, ann, false],
])('serialized data with %s is readable only by viewers who see all of it: %j', async (_, data, user, expected) => {
  expect(await readable({ data, record: page, user })).toBe(expected);
});

test.each<[string, Record<string, unknown>, boolean]>([
  ['the time of its deletion', { deletedAt: 'x' }, true],
  ['timestamps that the resource no longer has', { createdAt: 'x' }, true],
  ['an update time that the resource no longer has', { updatedAt: 'x' }, true],
])('data of a resource that keeps deleted records is readable with %s: %j', async (_, data, expected) => {
  expect(await readable({ resource: 'kept', data, record: { id: idOf(9) } })).toBe(expected);
});

test.each<[string, Record<string, unknown>, Viewer | undefined, boolean]>([
  ['the former name of a public field', { title: 't' }, undefined, true],
  ['an earlier former name', { name: 't' }, undefined, true],
  ['the former name of a field for admins, by an admin', { note: 'x' }, admin, true],
  ['the former name of a field for admins, by a user', { note: 'x' }, ann, false],
  ['the former name of a hidden field, which a public field has now', { text: 'x' }, admin, false],
])('data with %s is checked by the rules of that field: %j', async (_, data, user, expected) => {
  expect(await readable({ resource: 'renamed', data, record: { id: idOf(9) }, user })).toBe(expected);
});

test('a record that is expanded under a reference that was removed is checked by the rules of its own resource', async () => {
  const data = { former: { id: label.id, name: 'shown' }, formers: [{ id: label.id }] };
  expect(await readable({ data, record: page, user: ann })).toBe(true);
  expect(await readable({ data: { former: { id: label.id, note: 'x' } }, record: page, user: bob })).toBe(false);
  expect(await readable({ data: { former: { id: idOf(7) } }, record: page, user: ann })).toBe(false);
  expect(await readable({ data: { address: { street: 'x' } }, record: page, user: ann })).toBe(true);
});

test('the read policy decides, unless the viewer may read any record', async () => {
  const record = { id: idOf(9), author: ann.id };
  const by = (user: Viewer | undefined, anyRecord = false) =>
    readable({ resource: 'draft', data: { id: record.id }, record, user, anyRecord });
  expect([await by(ann), await by(bob), await by(admin), await by(undefined)]).toEqual([true, false, true, false]);
  expect(await by(bob, true)).toBe(true);
});

test('the scope decides, even if the viewer may read any record', async () => {
  for (const anyRecord of [false, true]) {
    for (const n of [1, 2]) {
      const record = { id: idOf(9), n };
      expect(await readable({ resource: 'scoped', data: { n }, record, anyRecord })).toBe(n === 1);
    }
  }
});

test('data of an unknown record is readable only if access does not depend on the record', async () => {
  expect(await readable({ resource: 'sealed', data: { title: 't' } })).toBe(true);
  expect(await readable({ resource: 'draft', data: {}, user: admin })).toBe(true);
  for (const user of [admin, ann]) {
    expect(await readable({ resource: 'guarded', data: { staff: 'x' }, user })).toBe(user === admin);
  }
  for (const resource of ['scoped', 'judged']) expect(await readable({ resource, data: {} })).toBe(false);
  for (const user of [ann, undefined]) expect(await readable({ resource: 'draft', data: {}, user })).toBe(false);
});

test.each<[string, Record<string, unknown>, Viewer | undefined, boolean]>([
  ['by its id alone', { label: label.id }, undefined, true],
  ['for a viewer who may follow the reference', { label: { id: label.id, name: 'x' } }, ann, true],
  ['for a viewer who may not follow the reference', { label: { id: label.id, name: 'x' } }, undefined, false],
  ['with a field for its owner, by the owner', { label: { id: label.id, note: 'x' } }, ann, true],
  ['with a field for its owner, by another user', { label: { id: label.id, note: 'x' } }, bob, false],
  ['that was deleted', { label: { id: idOf(7), name: 'x' } }, ann, false],
  ['in a list', { labels: [label.id, { id: label.id }] }, ann, true],
  ['in a list, one of them deleted', { labels: [{ id: label.id }, { id: idOf(7) }] }, ann, false],
  ['that is null', { label: null }, undefined, true],
])('an expanded record %s is as readable as the record itself: %j', async (_, data, user, expected) => {
  expect(await readable({ data, record: page, user })).toBe(expected);
});

test("an expanded record outside the viewer's scope makes the data unreadable", async () => {
  const read = (user: Viewer) => readable({ data: { label: { id: label.id } }, record: page, user });
  expect([await read(ann), await read(bob)]).toEqual([true, true]);
  records.set(label.id, { ...label, name: 'other' });
  expect([await read(ann), await read(bob)]).toEqual([true, false]);
  records.set(label.id, label);
});

test.each<[string, Viewer | undefined, boolean, boolean]>([
  ['page', ann, false, true],
  ['draft', ann, false, true],
  ['draft', ann, true, false],
  ['draft', admin, false, false],
  ['judged', admin, false, true],
  ['judged', admin, true, false],
  ['scoped', admin, true, true],
  ['sealed', undefined, false, false],
  ['secret', ann, false, false],
  ['guarded', ann, false, false],
])('whether access to a %s depends on the record, for %j, any record %j: %j', (name, user, anyRecord, expected) => {
  expect(gateways.get(name)!.needsRecord(user, anyRecord)).toBe(expected);
});

test('the expanded records and encrypted values of serialized data are found, also in lists of references', () => {
  const gateway = gateways.get('page')!;
  const [a, b] = [{ id: idOf(4) }, { id: idOf(5), code: 'x' }];
  expect(gateway.expandedIn({ title: 't', author: ann.id, label: null, labels: [], data: a })).toEqual([]);
  expect(gateway.expandedIn({ label: a, labels: [b, idOf(6)] })).toEqual([
    { resource: 'label', id: a.id },
    { resource: 'label', id: b.id },
  ]);
  expect(gateway.holdsEncrypted({ label: a, labels: [a, b] })).toBe(true);
  expect(gateway.holdsEncrypted({ label: a, labels: [a], title: 't' })).toBe(false);
  expect(gateways.get('sealed')!.holdsEncrypted({ code: 'x' })).toBe(true);
  expect(gateways.get('sealed')!.holdsEncrypted({ title: 't' })).toBe(false);
  expect(gateways.get('renamed')!.holdsEncrypted({ code: 'x' })).toBe(true);
  expect(gateways.get('renamed')!.holdsEncrypted({ headline: 'x', code: undefined })).toBe(false);
});
