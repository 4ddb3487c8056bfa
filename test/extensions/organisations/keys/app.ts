// An app whose organisations have API keys of their own, and helpers for its tests.
import { Client } from 'pg';
import { afterAll, expect } from 'vitest';
import type { Services } from '../../../../src/declare/service.ts';
import {
  apiKeys,
  audit,
  defineJob,
  defineResource,
  defineUser,
  f,
  type OrganisationOptions,
  type OrganisationsApi,
  organisations,
  privacy,
  realtime,
  softDelete,
  tenant,
} from '../../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../../support/app.ts';

/** What a run of the job has found out about its caller. */
const look = defineJob('look', {
  async run({ user, service }) {
    const tickets = await service('ticket').list({}, { as: 'user', user });
    await service('project').create({ name: `by a job ${user?.id}`, organisation: user?.id as string });
    return { caller: user?.id ?? null, titles: tickets.data.map(({ title }) => title) };
  },
});
const project = defineResource('project', {
  fields: { organisation: tenant(), name: f.string().required().unique().filterable() },
  relations: { tickets: f.reverse('ticket', 'project') },
  softDelete: true,
  audit: true,
});
const ticket = defineResource('ticket', {
  fields: {
    organisation: tenant(),
    title: f.string().required().filterable().sortable().searchable(),
    state: f.enum(['open', 'closed']).default('open').filterable().aggregatable(),
    price: f.number().visibleTo('org:admin').writableBy('org:owner'),
    project: f.ref('project').filterable(),
    assignee: f.ref('user', { exists: true }),
    scan: f.file({ types: ['text/plain'] }),
    author: f.ref('user').owner().populate(),
  },
  policies: { update: 'owner | org:admin', delete: 'org:admin' },
  routes: (route) => [
    route.post('/:id/close', { policy: 'org:admin' }, ({ doc, service }) =>
      service('ticket').update(doc.id, { state: 'closed' }),
    ),
    route.get('/caller', { organisationKeys: true }, ({ user, auth }) => ({ user: { ...user }, auth })),
    route.post('/look', { organisationKeys: true }, ({ jobs }) => jobs.enqueue(look)),
    route.get('/admins', { organisationKeys: true, policy: 'admin' }, () => 'for admins'),
  ],
});
/** Records that must have an owner. */
const signature = defineResource('signature', {
  fields: { organisation: tenant(), text: f.string(), signer: f.ref('user').owner().required() },
});
/** Records that only their owners see. */
const jotting = defineResource('jotting', {
  fields: { organisation: tenant(), text: f.string().required(), writer: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
});
const memo = defineResource('memo', { fields: { text: f.string().required(), author: f.ref('user').owner() } });

/** An API key, and a client that sends it. */
export interface Key {
  id: string;
  token: string;
  call: Person['call'];
}

/** Starts an app with organisations and API keys for the test file. */
export async function startOrganisationKeysApp(
  options: { organisations?: OrganisationOptions; keys?: Parameters<typeof apiKeys>[0] } = {},
) {
  const running = await startTestApp(
    {
      resources: [defineUser({ roles: ['user', 'admin'] }), project, ticket, signature, jotting, memo],
      jobs: [look],
      extensions: [
        organisations({ audit: true, ...options.organisations }),
        apiKeys(options.keys),
        softDelete(),
        audit(),
        privacy(),
        realtime(),
      ],
      settings: { rateLimit: { enabled: false }, relay: { sweepMs: 50, pollMs: 50 } },
    },
    { roles: 'all' },
  );
  const { app, url, env } = running;
  const client = new Client({ connectionString: env.DATABASE_URL! });
  await client.connect();
  afterAll(() => client.end());
  const events: { name: string; payload: Record<string, unknown> }[] = [];
  for (const name of ['api_key_created', 'api_key_revoked', 'api_keys_revoked', 'invalid_api_key', 'access_refused'])
    app.on<Record<string, unknown>>(`security.${name}`, (payload) => void events.push({ name, payload }));
  return {
    ...running,
    api: (app as typeof app & { organisations: OrganisationsApi }).organisations,
    service: app.service as unknown as Services,
    // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
    query: async (text: string, values: unknown[] = []): Promise<any[]> => (await client.query(text, values)).rows,
    /** The events of keys, in order. */
    events,
    /** Creates a key of an organisation. */
    async key(creator: Person, organisation: string, body: object = {}): Promise<Key> {
      const path = `/api/organisations/${organisation}/api-keys`;
      const { status, body: answer } = await creator.call('POST', path, { name: 'script', scopes: ['*'], ...body });
      expect([status, answer.error]).toEqual([201, undefined]);
      const { id, key: token } = answer.data;
      return { id, token, call: createClient(url, token) };
    },
  };
}
