import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ResourceGateway, StoredRecord } from '../../../src/declare/host.ts';
import type { Viewer } from '../../../src/declare/policy.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { createApp, defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';

const ENV = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://nobody:nothing@127.0.0.1:1/nowhere',
  REDIS_URL: 'redis://127.0.0.1:1',
};

/** The gateway of a resource of an app that is never started. */
function viewOf(resource: AnyResource, ...others: AnyResource[]): ResourceGateway {
  let found: ResourceGateway | undefined;
  const viewContext = defineExtension({
    name: 'viewing',
    setup(host) {
      found = host.resources.find((gateway) => gateway.name === resource.name);
      return {};
    },
  });
  createApp(
    { resources: [defineUser({ roles: ['user', 'admin', 'editor'] }), resource, ...others], extensions: [viewContext] },
    ENV,
  );
  return found!;
}

const idOf = (n: number) => String(n).padStart(24, '0');
const words = fc
  .uniqueArray(fc.constantFrom('public', 'authenticated', 'owner', 'admin', 'editor', 'none'), {
    minLength: 1,
    maxLength: 3,
  })
  .map((list) => list.join(' | '));
const viewers = fc.option(
  fc.record({
    id: fc.integer({ min: 1, max: 4 }).map(idOf),
    roles: fc.subarray(['user', 'admin', 'editor']),
  }),
  { nil: undefined },
);
const records = fc.record({
  id: fc.integer({ min: 1, max: 9 }).map(idOf),
  title: fc.constant('t'),
  author: fc.option(fc.integer({ min: 1, max: 4 }).map(idOf), { nil: undefined }),
  createdAt: fc.constant('2030-01-01T00:00:00.000Z'),
  updatedAt: fc.constant('2030-01-01T00:00:00.000Z'),
});

async function seen(gateway: ResourceGateway, record: StoredRecord, user: Viewer | undefined) {
  if (!(await gateway.readableBy(record, { user }))) return undefined;
  return (await gateway.serialize([record], { user }))[0];
}

test('viewers with the same visibility key see the same of every record that they do not own, whatever the policy keywords', async () => {
  await fc.assert(
    fc.asyncProperty(words, words, records, viewers, viewers, async (read, visibleTo, record, one, other) => {
      const gateway = viewOf(
        defineResource('thing', {
          fields: { title: f.string().visibleTo(visibleTo), author: f.ref('user').owner() },
          policies: { read },
        }),
      );
      if ((one === undefined) !== (other === undefined) || gateway.visibilityKey(one) !== gateway.visibilityKey(other))
        return;
      const owners = gateway.ownersIn(record);
      if (owners.includes(one?.id ?? '') || owners.includes(other?.id ?? '')) return;
      expect(await seen(gateway, record, one)).toEqual(await seen(gateway, record, other));
    }),
    { numRuns: 300 },
  );
});

const ann = { id: idOf(1), roles: ['user'] };
const bob = { id: idOf(2), roles: ['user'] };
const secret = defineResource('secret', {
  fields: { title: f.string().visibleTo('owner'), keeper: f.ref('user').owner() },
  policies: { read: 'public' },
});

test.each<[string, AnyResource, boolean]>([
  [
    'only policy keywords',
    defineResource('thing', { fields: { title: f.string().visibleTo('owner'), author: f.ref('user').owner() } }),
    true,
  ],
  ['a scope', defineResource('thing', { fields: { title: f.string() }, scope: () => undefined }), false],
  [
    'a function as read policy',
    defineResource('thing', { fields: { title: f.string() }, policies: { read: () => true } }),
    false,
  ],
  [
    'a function as field visibility',
    defineResource('thing', { fields: { title: f.string().visibleTo(() => true) } }),
    false,
  ],
  ['the populated user, who owns itself', defineResource('thing', { fields: { by: f.ref('user').populate() } }), true],
  [
    'a populated record with an unknown owner',
    defineResource('thing', { fields: { it: f.ref('secret').populate() } }),
    false,
  ],
])('with %s, whether users of the same roles share a visibility key: %#', (_, resource, alike) => {
  const gateway = viewOf(resource, secret);
  expect(gateway.visibilityKey(ann) === gateway.visibilityKey(bob)).toBe(alike);
  expect(gateway.visibilityKey(undefined)).not.toBe(gateway.visibilityKey(ann));
  expect(gateway.visibilityKey({ ...ann, roles: ['admin'] }) === gateway.visibilityKey(ann)).toBe(!alike);
});

test('the owners of a record, and the populated users in it, are listed separately', () => {
  const gateway = viewOf(
    defineResource('thing', {
      fields: {
        note: f.string().visibleTo('owner'),
        author: f.ref('user').owner(),
        by: f.ref('user').populate(),
        all: f.array(f.ref('user')),
      },
    }),
  );
  const record = { id: idOf(9), author: ann.id, by: bob.id, all: [idOf(3)] };
  expect(gateway.ownersIn(record).sort()).toEqual([ann.id, bob.id]);
});
