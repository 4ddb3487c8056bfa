import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const organisation = defineResource('organisation', {
  fields: {
    name: f.string().required().max(100).filterable().sortable(),
    plan: f.enum(['free', 'paid', 'trial']).default('free').filterable(),
  },
  relations: { members: f.reverse('membership', 'organisation'), tickets: f.reverse('ticket', 'organisation') },
  policies: { list: 'authenticated', read: 'authenticated' },
});

const membership = defineResource('membership', {
  fields: {
    organisation: f.ref('organisation').required().filterable(),
    user: f.ref('user').required().filterable(),
  },
  policies: { list: 'admin', read: 'admin' },
});

const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().max(200).sortable(),
    body: f.text().max(20_000),
    status: f.enum(['open', 'closed', 'escalated']).default('open').filterable(),
    organisation: f.ref('organisation').required().filterable(),
  },
  policies: { list: 'authenticated', read: 'authenticated' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { 'organisation.members.user': user?.id ?? null }),
});

const comment = defineResource('comment', {
  fields: { body: f.string().required().max(1000), ticket: f.ref('ticket').required().filterable() },
  policies: { list: 'authenticated', read: 'authenticated' },
});

/** The app of the measurements of lists that follow relations. Users see the tickets of their organisations, administrators all. */
export function createRelatedApp(environment: Record<string, string | undefined>) {
  const settings = { rateLimit: { enabled: false } };
  return createApp({ resources: [defineUser(), organisation, membership, ticket, comment], settings }, environment);
}
