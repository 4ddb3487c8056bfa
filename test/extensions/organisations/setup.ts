import {
  apiKeys,
  audit,
  defineResource,
  defineUser,
  f,
  type OrganisationOptions,
  organisations,
  privacy,
  realtime,
  softDelete,
  tenant,
  webhooks,
} from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

/** The resources of the tests: records of organisations that refer to each other, and records that belong to no organisation. */
const project = defineResource('project', {
  fields: {
    organisation: tenant(),
    name: f.string().required().unique().filterable().sortable().searchable(),
    watchers: f.array(f.ref('membership')),
  },
  relations: { tickets: f.reverse('ticket', 'project') },
  softDelete: true,
  audit: true,
});
const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().max(100).filterable().sortable().searchable(),
    code: f.string().unique(),
    state: f.enum(['open', 'closed']).default('open').filterable().aggregatable(),
    project: f.ref('project').filterable(),
    related: f.array(f.ref('ticket')).filterable(),
    author: f.ref('user').owner(),
  },
  policies: { update: 'owner | org:admin', delete: 'org:admin' },
  routes: (route) => [
    route.post('/:id/close', { policy: 'org:admin' }, ({ doc, service }) =>
      service('ticket').update(doc.id, { state: 'closed' }),
    ),
  ],
});
const invoice = defineResource('invoice', {
  fields: { organisation: tenant(), number: f.string().required().unique() },
  policies: { list: 'org:admin', read: 'org:admin', create: 'org:admin' },
});
const bookmark = defineResource('bookmark', {
  fields: { ticket: f.ref('ticket').required().filterable(), owner: f.ref('user').owner() },
});

/** Starts an app with organisations for the test file. */
export async function startOrganisationApp(options: OrganisationOptions = {}) {
  const running = await startTestApp(
    {
      resources: [defineUser(), project, ticket, invoice, bookmark],
      extensions: [
        organisations({ audit: true, ...options }),
        apiKeys(),
        webhooks({ allowPrivate: true, requireHttps: false }),
        softDelete(),
        audit(),
        privacy(),
        realtime(),
      ],
      settings: { relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const { app, url } = running;
  const { organisations: api } = app as typeof app & {
    organisations: import('../../../src/index.ts').OrganisationsApi;
  };
  let count = 0;
  return {
    ...running,
    api,
    /** Creates an organisation, with a slug of its own, and its owner. */
    async organisation(owner: Person, slug = `team-${++count}`) {
      const { status, body } = await owner.call('POST', '/api/organisations', { name: slug, slug });
      if (status !== 201) throw new Error(JSON.stringify(body));
      return { id: body.data.id as string, slug };
    },
    /** Adds a member. Returns the id of the membership. */
    async addMember(organisation: { id: string }, person: Person, role?: string) {
      return (await api.addMember(organisation.id, person.id, role)).id;
    },
    /** A client of a person whose requests work in an organisation. */
    within(person: Pick<Person, 'token'>, organisation: string) {
      const call = createClient(url, person.token);
      return (method: string, path: string, body?: unknown) =>
        call(method, path, body, { 'x-organisation': organisation });
    },
  };
}
