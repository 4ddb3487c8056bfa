import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { apiKeys, audit, defineResource, defineUser, f, type HookContext } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const hooked: Pick<HookContext, 'user' | 'as'>[] = [];
const viewerIds: (string | undefined)[] = [];

const ticket = defineResource('ticket', {
  fields: { title: f.string().required(), state: f.string().readOnly(), opener: f.ref('user').owner() },
  policies: { list: 'owner | admin', read: 'public', create: 'authenticated', update: 'admin', delete: 'admin' },
  audit: true,
  hooks: {
    async beforeUpdate(changes, _record, ctx) {
      hooked.push({ user: ctx.user, as: ctx.as });
      if (changes.title === 'logs before') await ctx.service('log').create({ text: 'before' });
    },
    async afterUpdate(record, _previous, ctx) {
      if (record.title === 'logs after') await ctx.service('log').create({ text: 'after' });
    },
  },
  routes: (route) => [
    route.post('/:id/close', { policy: 'public' }, ({ doc, service }) =>
      service('ticket').update(doc.id, { state: 'closed' }),
    ),
    route.post('/:id/title', { policy: 'public' }, ({ doc, service, query }) =>
      service('ticket').update(doc.id, { title: query.title }),
    ),
    route.post('/:id/as-user', { policy: 'public' }, ({ doc, service }) =>
      service('ticket').update(doc.id, { title: 'By the user' }, { as: 'user' }),
    ),
    route.post('/:id/as-user-closed', { policy: 'public' }, ({ doc, service }) =>
      service('ticket').update(doc.id, { state: 'closed' }, { as: 'user' }),
    ),
    route.post('/:id/for/:other', { policy: 'public' }, ({ doc, params, service }) =>
      service('ticket').update(doc.id, { state: 'for' }, { user: { id: params.other! }, as: 'system' }),
    ),
    route.post('/:id/in-transaction', { policy: 'public' }, ({ doc, transaction }) =>
      transaction((tx) => tx.service('ticket').update(doc.id, { state: 'in a transaction' })),
    ),
    route.get('/mine', { policy: 'public' }, ({ service }) => service('ticket').list({}, { as: 'user' })),
    route.post('/open', { policy: 'public' }, ({ service }) => service('ticket').create({ title: 'Opened' })),
    route.post('/open-unowned', { policy: 'public' }, ({ service }) =>
      service('ticket').create({ title: 'Opened', opener: null }),
    ),
    route.post('/open-for/:other', { policy: 'public' }, ({ params, service }) =>
      service('ticket').create({ title: 'Opened', opener: params.other }),
    ),
    route.post('/wrong', { policy: 'public' }, ({ service }) =>
      service('ticket').create({ title: 'x' }, { as: 'admin' as never }),
    ),
  ],
});
const log = defineResource('log', { fields: { text: f.string() }, audit: true, policies: { list: 'admin' } });
/** The scope and the policy call a service as the viewer. */
const guarded = defineResource('guarded', {
  fields: { name: f.string() },
  policies: {
    list: 'authenticated',
    read: async ({ user, service }) => {
      const { data } = await service('ticket').list({}, { as: 'user' });
      viewerIds.push(user?.id);
      return data.length > 0;
    },
  },
});

const { app, call, person, env, url } = await startTestApp(
  {
    resources: [defineUser(), ticket, log, guarded],
    extensions: [audit(), apiKeys()],
    listeners: (own) => {
      own.on('ticket.updated', async ({ record }) => {
        if (record.title === 'listened to') await own.service('log').create({ text: 'listener' });
      });
    },
  },
  { roles: 'all' },
);
const [ada, root] = [await person('Ada'), await person('Root', ['user', 'admin'])];
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
beforeEach(() => void hooked.splice(0));

async function newestEntry(query: string) {
  return vi.waitFor(
    async () => {
      const { body } = await root.call('GET', `/api/admin/audit?${query}`);
      expect(body.data).not.toEqual([]);
      return body.data[0];
    },
    { timeout: 60_000, interval: 25 },
  );
}

const made = async () => (await ada.call('POST', '/api/tickets', { title: 'A' })).body.data.id as string;

describe('a change that a route makes through its service', () => {
  test.each(['close', 'in-transaction'])(
    'is recorded for the caller and the request, with the privilege of the system: /%s',
    async (path) => {
      const id = await made();
      const heard = new Promise<{ user: { id: string } | undefined; requestId: string | undefined }>((resolve) =>
        app.on('ticket.updated', (event) => event.record.id === id && resolve(event as never)),
      );
      const { status, headers } = await ada.call('POST', `/api/tickets/${id}/${path}`);
      expect(status).toBe(200);
      const requestId = headers.get('x-request-id');
      expect(await heard).toMatchObject({ user: { id: ada.id }, requestId });
      const actor = { user: ada.id, via: 'session', credential: expect.any(String), requestId, ip: expect.any(String) };
      expect(await newestEntry(`record=${id}&action=updated`)).toMatchObject(actor);
    },
  );

  test('names the API key that the caller signed in with', async () => {
    const id = await made();
    const key = (await ada.call('POST', '/api/auth/api-keys', { name: 'CI', scopes: ['*'] })).body.data;
    expect((await createClient(url, key.key)('POST', `/api/tickets/${id}/close`)).status).toBe(200);
    const entry = await newestEntry(`record=${id}&action=updated`);
    expect(entry).toMatchObject({ user: ada.id, via: 'api-key', credential: key.id });
  });

  test('is recorded for the system and the request when the caller is not signed in', async () => {
    const id = await made();
    const { headers } = await call('POST', `/api/tickets/${id}/close`);
    const entry = await newestEntry(`record=${id}&action=updated`);
    expect(entry).toMatchObject({ user: null, via: 'system', requestId: headers.get('x-request-id') });
  });

  test('can be recorded for another user, without the session of the caller', async () => {
    const id = await made();
    const { headers } = await ada.call('POST', `/api/tickets/${id}/for/${root.id}`);
    const entry = await newestEntry(`record=${id}&action=updated`);
    const requestId = headers.get('x-request-id');
    expect(entry).toMatchObject({ user: root.id, via: 'system', credential: null, requestId });
  });

  test.each([
    ['a before hook', 'logs before', 'before'],
    ['an after hook', 'logs after', 'after'],
    ['a listener', 'listened to', 'listener'],
  ])('is recorded for the caller when %s makes a further change', async (_, title, text) => {
    const id = await made();
    const { headers } = await ada.call('POST', `/api/tickets/${id}/title?title=${encodeURIComponent(title)}`);
    const found = await vi.waitFor(async () => (await app.service('log').first({ text })) ?? expect.fail('not yet'));
    const requestId = headers.get('x-request-id');
    expect(await newestEntry(`record=${found.id}`)).toMatchObject({ user: ada.id, via: 'session', requestId });
  });

  test('passes the caller and the privilege to hooks', async () => {
    const id = await made();
    await ada.call('POST', `/api/tickets/${id}/close`);
    await root.call('POST', `/api/tickets/${id}/as-user`);
    expect(hooked).toMatchObject([
      { user: { id: ada.id }, as: 'system' },
      { user: { id: root.id }, as: 'user' },
    ]);
  });
});

describe("{ as: 'user' }", () => {
  test('applies policies and field rules to the caller of the request', async () => {
    const id = await made();
    expect((await ada.call('POST', `/api/tickets/${id}/as-user`)).status).toBe(403);
    expect((await call('POST', `/api/tickets/${id}/as-user`)).status).toBe(401);
    const { status, headers } = await root.call('POST', `/api/tickets/${id}/as-user`);
    expect(status).toBe(200);
    const entry = await newestEntry(`record=${id}&action=updated`);
    expect(entry).toMatchObject({ user: root.id, via: 'session', requestId: headers.get('x-request-id') });
    const refused = await root.call('POST', `/api/tickets/${id}/as-user-closed`);
    expect(refused.body.error.details).toEqual({ state: 'Is read-only' });
    const mine = await ada.call('GET', '/api/tickets/mine');
    expect(new Set(mine.body.data.data.map((one: { opener: string }) => one.opener))).toEqual(new Set([ada.id]));
  });

  test('throws an error with instructions outside of a request, unless a user is given', async () => {
    const tickets = app.service('ticket');
    await expect(tickets.list({}, { as: 'user' })).rejects.toThrow(/needs a user.*pass \{ user \}/);
    const user = { id: ada.id, roles: ['user'] };
    const { data } = await tickets.list({}, { as: 'user', user });
    expect(data.every(({ opener }) => opener === ada.id)).toBe(true);
  });

  test('acts in a policy as the viewer that the policy is evaluated for, on every channel', async () => {
    const { id } = await app.service('guarded').create({ name: 'x' });
    await made();
    expect((await ada.call('GET', `/api/guardeds/${id}`)).status).toBe(200);
    const stranger = await person('Stranger');
    expect((await stranger.call('GET', `/api/guardeds/${id}`)).status).toBe(404);
    const asAda = app.service('guarded').read(id, { user: { id: ada.id, roles: ['user'] } });
    await expect(asAda).resolves.toMatchObject({ name: 'x' });
    expect(viewerIds).toEqual([ada.id, stranger.id, ada.id]);
  });

  test('is one of only two privileges: any other value is an error', async () => {
    expect((await ada.call('POST', '/api/tickets/wrong')).status).toBe(500);
    await expect(app.service('ticket').list({}, { as: 'root' as never })).rejects.toThrow(/"as".*'system' or 'user'/);
  });
});

describe('the owner of a record that a route creates as the system', () => {
  test('is the signed-in caller, unless the code sets another user or none', async () => {
    const opener = async (path: string, as = ada.call) => (await as('POST', `/api/tickets/${path}`)).body.data.opener;
    expect(await opener('open')).toBe(ada.id);
    expect(await opener(`open-for/${root.id}`)).toBe(root.id);
    expect(await opener('open-unowned')).toBeUndefined();
    expect(await opener('open', call)).toBeUndefined();
  });
});

test('outside of a request, service calls act as the system without a user, or as the given user', async () => {
  const { id } = await app.service('ticket').create({ title: 'By code' });
  const none = { user: null, via: 'system', credential: null, ip: null, requestId: null };
  expect(await newestEntry(`record=${id}`)).toMatchObject(none);
  const user = { id: ada.id, roles: ['user'] };
  const other = await app.service('ticket').create({ title: 'For Ada' }, { user });
  expect(other.opener).toBe(ada.id);
  expect(await newestEntry(`record=${other.id}`)).toMatchObject({ user: ada.id, via: null, requestId: null });
});

test('concurrent requests keep their own callers', async () => {
  const callers = [ada, root, await person('Third'), await person('Fourth')];
  const opened = await Promise.all(
    Array.from({ length: 40 }, (_, i) => callers[i % 4]!.call('POST', '/api/tickets/open')),
  );
  expect(opened.map(({ body }) => body.data.opener)).toEqual(opened.map((_, i) => callers[i % 4]!.id));
});
