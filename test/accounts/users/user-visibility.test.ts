// What other viewers see of a user: a visible record may reference a user whose own record the viewer may not read.
import { expect, onTestFinished, test } from 'vitest';
import { defineResource, defineUser, f, privacy, realtime, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const VALUES = {
  name: 'Ann',
  avatarUrl: 'https://example.com/ann.png',
  phone: '+41 44 000 00 00',
  locale: 'de-CH' as const,
  motto: 'Never late',
  nickname: 'Annie',
  contact: { street: 'Hill 1', floor: 2 },
  addresses: ['Hill 1'],
  postcode: '8000',
  badge: 'gold',
};
const user = defineUser({
  fields: {
    phone: f.string().filterable().searchable().sortable(),
    locale: f.enum(['de-CH', 'en']).filterable(),
    motto: f.string(),
    nickname: f.string().pii(),
    contact: f.object({ street: f.string(), floor: f.integer() }),
    addresses: f.array(f.string()),
    postcode: f.string().visibleTo('authenticated'),
    badge: f.string().pii().visibleTo('public'),
  },
  policies: { list: 'authenticated', read: 'authenticated' },
});
const post = defineResource('post', {
  fields: { title: f.string(), author: f.ref('user').owner().populate(), editors: f.array(f.ref('user')) },
  policies: { list: 'public', read: 'public' },
  routes: (route) => [
    route.get('/:id/author', { policy: 'public' }, ({ doc, service }) => service('user').read(doc.author)),
    route.get('/:id/nested', { policy: 'public' }, async ({ doc, service }) => ({
      by: [await service('user').read(doc.author)],
    })),
  ],
});
const { app, call, person } = await startTestApp(
  { resources: [user, post], extensions: [webhooks(), realtime()] },
  { roles: 'all' },
);
const [ann, bob, root] = [await person('Ann'), await person('Bob'), await person('Root', ['user', 'admin'])];
await app.service('user').update(ann.id, VALUES);
const { id } = (await ann.call('POST', '/api/posts', { title: 'One', editors: [ann.id] })).body.data;

const OPEN = ['avatarUrl', 'badge', 'createdAt', 'id', 'motto', 'name', 'updatedAt'];
const SIGNED_IN = [...OPEN, 'postcode'].sort();
const PERSONAL = ['addresses', 'contact', 'locale', 'nickname', 'phone'];
const WHOLE = [...SIGNED_IN, ...PERSONAL, 'email', 'roles', 'status'].sort();

const DOORS: Record<string, (as: typeof call) => Promise<object>> = {
  'a populated reference': async (as) => (await as('GET', `/api/posts/${id}`)).body.data.author,
  'a populated reference of a list': async (as) => (await as('GET', '/api/posts')).body.data[0].author,
  'an included array': async (as) => (await as('GET', `/api/posts/${id}?include=editors`)).body.data.editors[0],
  'a custom route': async (as) => (await as('GET', `/api/posts/${id}/author`)).body.data,
  'a custom route that nests it': async (as) => (await as('GET', `/api/posts/${id}/nested`)).body.data.by[0],
};

test.each(Object.entries(DOORS))(
  '%s shows personal fields and status only to the user and to admins',
  async (_door, show) => {
    expect(Object.keys(await show(call)).sort()).toEqual(OPEN);
    expect(Object.keys(await show(bob.call)).sort()).toEqual(SIGNED_IN);
    for (const as of [ann, root]) expect(Object.keys(await show(as.call)).sort()).toEqual(WHOLE);
  },
);

test('a wider read policy does not make these fields visible; the owner sees all of them', async () => {
  const keys = async (as: typeof call) => Object.keys((await as('GET', `/api/users/${ann.id}`)).body.data).sort();
  expect(await keys(bob.call)).toEqual(SIGNED_IN);
  expect(await keys(ann.call)).toEqual(WHOLE);
  const me = (await ann.call('GET', '/api/auth/me')).body.data;
  expect(me).toMatchObject({ ...VALUES, status: 'active', roles: ['user'] });
});

test('filters, searches and sorts do not reveal a field that is not visible to the caller', async () => {
  const found = async (as: typeof call, query: string) => (await as('GET', `/api/users?${query}`)).body.meta.total;
  for (const query of [`phone=${encodeURIComponent(VALUES.phone)}`, 'q=000 00', 'phone[exists]=true', 'locale=de-CH']) {
    expect([query, await found(bob.call, query)]).toEqual([query, 0]);
    expect([query, await found(ann.call, query)]).toEqual([query, 1]);
    expect([query, await found(root.call, query)]).toEqual([query, 1]);
  }
  expect(await found(bob.call, 'status=active')).toBe(1);
  expect(await found(root.call, 'status=active')).toBe(3);
  expect((await bob.call('GET', '/api/users?sort=phone')).status).toBe(400);
  expect((await root.call('GET', '/api/users?sort=phone')).status).toBe(200);
});

test('a webhook of another user receives only what that user may read', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  await bob.call('POST', '/api/webhooks', { url: receiver.url, events: ['post.created', 'user.updated'] });
  await ann.call('POST', '/api/posts', { title: 'Two' });
  await ann.call('PATCH', '/api/auth/me', { phone: '+41 44 111 11 11' });
  const bodies = (await receiver.received(2)).map((request) => JSON.parse(request.body));
  const author = bodies.find(({ type }) => type === 'post.created').data.author;
  const changed = bodies.find(({ type }) => type === 'user.updated').data;
  expect(Object.keys(author).sort()).toEqual(SIGNED_IN);
  expect(Object.keys(changed).sort()).toEqual(SIGNED_IN);
});

test('the OpenAPI document states that the owner and admins see these fields', async () => {
  const { User } = (await call('GET', '/api/openapi.json')).body.components.schemas;
  for (const name of [...PERSONAL, 'status']) {
    expect(User.properties[name].description).toBe('Visible only to `owner | admin`.');
    expect(User.required).not.toContain(name);
  }
  for (const name of ['name', 'avatarUrl', 'motto']) {
    expect(User.properties[name].description).toBeUndefined();
  }
});

test('in an app without admins only the owner sees these fields', async () => {
  const roles = f
    .array(f.enum(['user', 'boss']))
    .default(['user'])
    .writableBy('boss')
    .visibleTo('owner | boss');
  const email = f.email().required().unique().visibleTo('owner | boss');
  const own = { list: 'boss', read: 'owner | boss', create: 'boss', update: 'owner | boss', delete: 'boss' };
  const status = f.enum(['active', 'disabled']).default('active').writableBy('boss');
  const declared = defineUser({ fields: { roles, email, status, phone: f.string() } as never, policies: own });
  expect(getStartupError({ resources: [declared] })).toBe('');
  const fields = declared.fields as unknown as Record<string, ReturnType<typeof f.string>>;
  expect([fields.phone!.spec.visibleTo, fields.status!.spec.visibleTo]).toEqual(['owner', 'owner']);
});

test('fields that the declaration already hides stay hidden', () => {
  const fields = { phone: f.string().hidden(), iban: f.string().writeOnly(), salary: f.integer().visibleTo('none') };
  expect(getStartupError({ resources: [defineUser({ fields })] })).toBe('');
});

test('a field that personalFields lists is as personal as one with pii()', async () => {
  const listed = defineUser({ fields: { motto: f.string(), hobby: f.string() }, personalFields: ['motto'] });
  const own = await startTestApp({ resources: [listed, post], extensions: [privacy()] }, { roles: 'all' });
  const cat = await own.person('Cat');
  await own.app.service('user').update(cat.id, { motto: 'Never late', hobby: 'Chess' });
  const { body } = await cat.call('POST', '/api/posts', { title: 'One' });
  const author = async (as: typeof call) => (await as('GET', `/api/posts/${body.data.id}`)).body.data.author;
  expect(await author(cat.call)).toMatchObject({ motto: 'Never late', hobby: 'Chess' });
  expect(await author(own.call)).not.toHaveProperty('motto');
  expect(await author(own.call)).toMatchObject({ hobby: 'Chess' });
});
