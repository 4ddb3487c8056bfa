// An app with API keys, and helpers for its tests.
import { Client } from 'pg';
import { afterAll } from 'vitest';
import type { Route } from '../../../src/declare/route.ts';
import { apiKeys, defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.string().required(), secret: f.string().visibleTo('admin'), author: f.ref('user').owner() },
  policies: { list: 'owner | admin', read: 'owner | admin', create: 'authenticated', delete: 'admin' },
  routes: (route) => [
    route.post('/:id/pin', { policy: 'owner', scope: 'notes:pin', summary: 'Pin a note' }, ({ doc }) => doc),
    route.get('/export', { scope: 'export' }, ({ auth }) => auth),
    route.get('/whoami', { policy: 'public' }, ({ auth, user }) => ({ auth, user: user?.id })),
  ],
});
const publicThing = defineResource('thing', {
  fields: { text: f.string() },
  policies: { list: 'public', read: 'public', create: 'admin' },
});

const probeRoutes: Route[] = [
  { method: 'GET', path: '/probe/look', handler: () => 'seen' },
  { method: 'POST', path: '/probe/run', handler: () => 'ran' },
  { method: 'POST', path: '/probe/:what/poke', handler: () => 'poked' },
  { method: 'GET', path: '/auth/extra', handler: () => 'never for keys' },
];

/** Starts the app for a test file. */
export async function startKeysApp(
  options: Parameters<typeof apiKeys>[0] = {},
  settings: Parameters<typeof startTestApp>[0]['settings'] = {},
) {
  const started = await startTestApp(
    {
      resources: [defineUser({ roles: ['user', 'admin'] }), note, publicThing],
      extensions: [
        apiKeys({
          routeScopes: { 'POST /probe/:name/poke': 'probe:poke', 'PUT /things/:id': 'things:change' },
          ...options,
        }),
        defineExtension({ name: 'probe', setup: () => ({ routes: probeRoutes }) }),
      ],
      settings,
    },
    { roles: 'all' },
  );
  const database = new Client({ connectionString: started.env.DATABASE_URL });
  await database.connect();
  afterAll(() => database.end());
  const seen: Record<string, Record<string, unknown>[]> = {};
  for (const name of ['api_key_created', 'api_key_revoked', 'api_keys_revoked', 'invalid_api_key']) {
    seen[name] = [];
    started.app.on<Record<string, unknown>>(`security.${name}`, (payload) => void seen[name]!.push(payload));
  }
  return {
    ...started,
    /** A connection to the database. */
    client: database,
    /** Payloads of the extension's events, by name. */
    seen,
    // biome-ignore lint/suspicious/noExplicitAny: rows as the test knows them
    query: async (text: string, values: unknown[] = []): Promise<any[]> => (await database.query(text, values)).rows,
    /** Creates a key. Returns it as its creator sees it, and a client that is signed in with it. */
    async key(who: Pick<Person, 'call'>, body: object = {}) {
      const response = await who.call('POST', '/api/auth/api-keys', { name: 'script', ...body });
      if (response.status !== 201) throw new Error(JSON.stringify(response.body));
      const made = response.body.data as { id: string; key: string; prefix: string };
      return { ...made, call: createClient(started.url, made.key) };
    },
  };
}
