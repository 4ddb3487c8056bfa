// A scope that follows references decides on every channel, also about records in events.
import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f, realtime, webhooks } from '../../../src/index.ts';
import { ready } from '../../extensions/realtime/listen.ts';
import { type Person, startTestApp } from '../../support/app.ts';

const organisation = defineResource('organisation', {
  fields: { name: f.string().required(), plan: f.enum(['free', 'paid']).filterable() },
  relations: { members: f.reverse('membership', 'organisation') },
  policies: { list: 'public', read: 'public' },
});
const membership = defineResource('membership', {
  fields: { organisation: f.ref('organisation').index(), user: f.ref('user').index(), role: f.string() },
});
const ticket = defineResource('ticket', {
  fields: { title: f.string().required(), organisation: f.ref('organisation').required().filterable() },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated' },
  scope: ({ user }) => ({ 'organisation.members.user': user?.id ?? null }),
});
const note = defineResource('note', {
  fields: { text: f.string().required(), organisation: f.ref('organisation').required() },
  policies: {
    list: 'none',
    read: ({ user }) => user !== undefined && { 'organisation.members.user': user.id },
    create: () => ({ text: 'x' }),
    update: () => ({}),
    delete: () => ({ nothing: 1 }),
  },
});

const { app, person, url } = await startTestApp(
  {
    resources: [defineUser(), organisation, membership, ticket, note],
    extensions: [realtime(), webhooks()],
  },
  { roles: 'all' },
);
const [ann, ben] = [await person('ann'), await person('ben')];
const organisations = app.service(organisation);
const [acme, bolt] = [
  await organisations.create({ name: 'acme', plan: 'paid' }),
  await organisations.create({ name: 'bolt', plan: 'free' }),
];
const ofAnn = await app.service(membership).create({ organisation: acme.id, user: ann.id });
await app.service(membership).create({ organisation: bolt.id, user: ben.id });
const createTicket = (title: string, { id }: { id: string }) => app.service(ticket).create({ title, organisation: id });

test('a stream gets the changes that its viewer may see by the scope, and those that meet its filter', async () => {
  const all = await ready(url, 'subscribe=ticket', ann);
  const paid = await ready(url, `subscribe=${encodeURIComponent('ticket?organisation.plan=paid')}`, ann);
  const free = await ready(url, `subscribe=${encodeURIComponent('ticket?organisation.plan=free')}`, ann);
  expect([all.status, paid.status, free.status]).toEqual([200, 200, 200]);
  await createTicket('not for Ann', bolt);
  const { id } = await createTicket('for Ann', acme);
  const last = await app.service(ticket).update(id, { title: 'still for Ann' });
  for (const stream of [all, paid]) {
    await stream.wait(({ event, data }) => event === 'ticket.updated' && data.id === last.id);
    expect(stream.changes().map(({ data }) => data.data?.title)).toEqual(['for Ann', 'still for Ann']);
  }
  await createTicket('one more', acme);
  await all.wait(({ data }) => data?.data?.title === 'one more');
  expect(free.changes()).toEqual([]);
});

test('a member who was removed gets no further change', async () => {
  const stream = await ready(url, 'subscribe=ticket', ann);
  await createTicket('before', acme);
  await stream.wait(({ data }) => data?.data?.title === 'before');
  await app.service(membership).update(ofAnn.id, { organisation: bolt.id });
  await createTicket('after', acme);
  await createTicket('of bolt', bolt);
  await stream.wait(({ data }) => data?.data?.title === 'of bolt');
  expect(stream.changes().map(({ data }) => data.data?.title)).toEqual(['before', 'of bolt']);
  await app.service(membership).update(ofAnn.id, { organisation: acme.id });
});

test('a webhook gets only the events that its owner may see by the scope', async () => {
  const target = { url: 'https://receiver.example/hook', events: ['ticket.created'] };
  const ids = new Map<Person, string>();
  for (const one of [ann, ben]) {
    const { status, body } = await one.call('POST', '/api/webhooks', target);
    expect(status).toBe(201);
    ids.set(one, body.data.id);
  }
  await createTicket('event of acme', acme);
  await createTicket('event of bolt', bolt);
  const payloadsOf = async (one: Person) => {
    const { body } = await one.call('GET', `/api/webhooks/${ids.get(one)}/deliveries`);
    return body.data.map(({ payload }: { payload: string }) => /event of \w+/.exec(payload)?.[0]);
  };
  await expect.poll(() => payloadsOf(ann), { timeout: 20_000 }).toEqual(['event of acme']);
  await expect.poll(() => payloadsOf(ben), { timeout: 20_000 }).toEqual(['event of bolt']);
});

test('a filter is refused where no record is at hand, and if it would allow everything or names an unknown field', async () => {
  const { id } = await app.service(note).create({ text: 'x', organisation: acme.id });
  expect((await ann.call('GET', `/api/notes/${id}`)).status).toBe(200);
  expect((await ben.call('GET', `/api/notes/${id}`)).status).toBe(404);
  expect((await ann.call('POST', '/api/notes', { text: 'x', organisation: acme.id })).status).toBe(403);
  expect((await ann.call('PATCH', `/api/notes/${id}`, { text: 'y' })).status).toBe(403);
  expect((await ann.call('DELETE', `/api/notes/${id}`)).status).toBe(403);
});

test('reverse relations that cannot be followed are configuration errors that say what to do', () => {
  const resources = [
    defineUser(),
    defineResource('post', {
      fields: { title: f.string(), back: f.reverse('comment', 'post') as never },
      relations: {
        title: f.reverse('comment', 'post'),
        limit: f.reverse('comment', 'post'),
        nobody: f.reverse('coment', 'post'),
        texts: f.reverse('comment', 'text'),
        slow: f.reverse('comment', 'post'),
        secret: f.reverse('comment', 'hiddenPost'),
      },
    }),
    defineResource('comment', {
      fields: { text: f.string(), post: f.ref('post'), hiddenPost: f.ref('post').index().hidden() },
    }),
  ];
  const messageOf = (list: typeof resources) => {
    try {
      createApp({ resources: list }, {});
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  const [user, post, comment] = resources as unknown as [never, { fields: object }, never];
  expect(messageOf(resources)).toMatch(/field "back".*move it to the option "relations"/);
  const { back: _, ...fields } = post.fields as Record<string, unknown>;
  const message = messageOf([user, { ...post, fields } as never, comment]);
  for (const part of [
    /relation "title".*a field has the same name/,
    /relation "limit".*reserved/,
    /relation "nobody".*unknown resource.*comment/,
    /relation "texts".*"text" of "comment" is not a reference to "post"/,
    /relation "slow".*add \.index\(\) to that field/,
    /relation "secret".*clients cannot read "hiddenPost"/,
  ])
    expect(message).toMatch(part);
});
