// Checked only by the compiler: the clients of the apps in this repository.
import { expectTypeOf, test } from 'vitest';
import type { app as helpdesk } from '../../examples/helpdesk/src/app.ts';
import type { Client } from '../../packages/client/src/index.ts';
import type { app as blog } from '../../src/app/index.ts';
import { type AnyResource, createApp, defineResource, defineUser, f } from '../../src/index.ts';

const compile = (_run: () => unknown) => undefined;

test('the client of the helpdesk knows its resources, also those that organisations() adds', async () => {
  const client = null as unknown as Client<typeof helpdesk>;
  const { data } = await client.tickets.list({
    where: { status: ['open', 'waiting'], assignee: null, 'requester.status': 'active', 'tags.name': 'urgent' },
    include: ['requester', 'assignee.user', 'comments.author', 'commentsCount'],
    sort: ['-priority'],
  });
  const ticket = data[0]!;
  expectTypeOf(ticket.status).toEqualTypeOf<'open' | 'waiting' | 'closed'>();
  expectTypeOf(ticket.attachments?.[0]?.url).toEqualTypeOf<string | undefined>();
  if (typeof ticket.requester === 'object') expectTypeOf(ticket.requester.locale).toEqualTypeOf<string | undefined>();
  if (typeof ticket.assignee === 'object') {
    expectTypeOf(ticket.assignee.role).toEqualTypeOf<'owner' | 'agent' | 'customer'>();
    if (typeof ticket.assignee.user === 'object') expectTypeOf(ticket.assignee.user.name).toEqualTypeOf<string>();
  }
  expectTypeOf(ticket.comments?.data[0]?.internal).toEqualTypeOf<boolean | undefined>();
  const closed = await client.tickets.call('POST /:id/close', { params: { id: ticket.id } });
  expectTypeOf(closed.title).toEqualTypeOf<string>();
  const reply = await client.cannedReplies.call('POST /:id/send', {
    params: { id: 'x' },
    input: { ticket: ticket.id },
  });
  expectTypeOf(reply.body).toEqualTypeOf<string>();
  const counts = await client.tickets.aggregate({ group: ['status', { week: 'createdAt' }] });
  expectTypeOf(counts.data[0]!.count).toEqualTypeOf<number>();
  await client.tickets.restore(ticket.id);
  await client.tags.upsert('name', { name: 'urgent' });
  const organisation = await client.organisations.get('x', { include: ['members'] });
  expectTypeOf(organisation.members?.data[0]?.role).toEqualTypeOf<'owner' | 'agent' | 'customer' | undefined>();
  // @ts-expect-error an organisation is created by a route of the extension
  compile(() => client.organisations.create({ name: 'x' }));
  // @ts-expect-error the status does not exist
  compile(() => client.tickets.update(ticket.id, { status: 'done' }));
});

test('the client of the blog knows its posts', async () => {
  const client = null as unknown as Client<typeof blog>;
  const post = await client.posts.call('POST /:id/publish', { params: { id: 'x' } });
  if (typeof post.author === 'object') expectTypeOf(post.author.bio).toEqualTypeOf<string | undefined>();
  for await (const { body } of client.comments.each({ where: { 'post.status': 'published' }, sort: 'createdAt' }))
    expectTypeOf(body).toEqualTypeOf<string>();
  // @ts-expect-error the key is that of the path
  compile(() => client.post);
});

test('an app, and a function that returns a promise of it, have the same client', () => {
  const tag = defineResource('ProductTag', { fields: { name: f.string().required() }, path: '/labels' });
  const app = createApp({ resources: [defineUser({ path: '/people', crud: ['list'] }), tag] }, {});
  const later = async () => app;
  expectTypeOf<Client<typeof app>['labels']>().toEqualTypeOf<Client<typeof later>['labels']>();
  compile(async () => {
    const client = null as unknown as Client<typeof app>;
    const { data } = await client.people.list();
    expectTypeOf(data[0]!.name).toEqualTypeOf<string>();
    // @ts-expect-error the resource has only a list
    await client.people.get('x');
    // @ts-expect-error the option path replaces the default
    client.productTags;
  });
});

test('resources whose types are not known accept every field', () => {
  const resources: readonly AnyResource[] = [];
  const app = createApp({ resources }, {});
  compile(async () => {
    const client = null as unknown as Client<typeof app>;
    const { data } = await client.posts!.list({ where: { any: 'x' }, include: ['author'] });
    expectTypeOf(data[0]!.title).toBeUnknown();
  });
});
