import { expect, test } from 'vitest';
import type { Auth } from '../../../src/declare/route.ts';
import {
  apiKeys,
  defineExtension,
  defineResource,
  defineUser,
  f,
  privacy,
  realtime,
  webhooks,
} from '../../../src/index.ts';
import { listen } from '../../extensions/realtime/listen.ts';
import { createClient, type Person, startTestApp } from '../../support/app.ts';

const PASSWORD = 'correct horse battery';

/** An extension that authenticates tokens of the form `ext_<user id>`, with an `auth` that the test chooses. */
let auth: Omit<Auth, 'scopes'> & { scopes?: readonly string[] };
const tokens = defineExtension({
  name: 'tokens',
  setup: (host) => ({
    authenticators: [
      {
        recognizes: (token) => token.startsWith('ext_'),
        async authenticate(token) {
          const [user] = await host.users!.load([token.slice(4)]);
          return { user: user!, auth: auth as Auth };
        },
        isSignInRecent: async (id) => id !== 'old',
      },
    ],
  }),
});
const resources = () =>
  [
    defineUser(),
    defineResource('note', {
      fields: { title: f.string() },
      policies: { list: 'public', read: 'public', create: 'authenticated' },
      routes: (route) => [route.post('/publish', { scope: 'notes:publish' }, () => ({ done: true }))],
    }),
  ] as const;
const plain = await startTestApp(
  { resources: resources(), extensions: [tokens, privacy(), realtime()] },
  { roles: 'all' },
);
const withKeys = await startTestApp(
  {
    resources: resources(),
    extensions: [apiKeys(), tokens, webhooks(), privacy(), realtime()],
  },
  { roles: 'all' },
);

test.each([
  ['', plain],
  [' beside API keys', withKeys],
])('a credential of an extension that is not a session is limited to its scopes%s', async (_, run) => {
  const ann = await run.person('Ann');
  const call = createClient(run.url, `ext_${ann.id}`);
  const statuses = async (scopes: readonly string[] | undefined) => {
    auth = { via: 'api-key', id: 'x', ...(scopes && { scopes }) };
    const responses = [
      await call('GET', '/api/auth/me'),
      await call('GET', '/api/notes'),
      await call('POST', '/api/notes', { title: 'a' }),
      await call('POST', '/api/notes/publish'),
      await call('HEAD', '/api/realtime?subscribe=note'),
    ];
    return responses.map(({ status }) => status);
  };
  expect(await statuses(undefined)).toEqual([403, 403, 403, 403, 403]);
  expect(await statuses([])).toEqual([403, 403, 403, 403, 403]);
  expect(await statuses(['notes:write'])).toEqual([403, 403, 201, 403, 403]);
  expect(await statuses(['notes:publish'])).toEqual([403, 403, 403, 200, 403]);
  expect(await statuses(['realtime:read'])).toEqual([403, 403, 403, 403, 403]);
  expect(await statuses(['realtime:read', 'notes:read'])).toEqual([403, 200, 403, 403, 200]);
  expect(await statuses(['*'])).toEqual([200, 200, 201, 200, 200]);
});

async function accountRoutes(who: Person) {
  const call = createClient(plain.url, `ext_${who.id}`);
  const passwords = { currentPassword: PASSWORD, newPassword: 'another staple entirely' };
  return [
    await call('PATCH', '/api/auth/me', { name: 'Eve' }),
    await call('GET', '/api/auth/sessions'),
    await call('POST', '/api/auth/password', passwords),
    await call('POST', '/api/auth/logout-all'),
    await call('POST', '/api/auth/devices', { token: 'x', platform: 'ios' }),
    await call('GET', '/api/auth/me/export'),
    await call('POST', '/api/auth/me/erase', { password: PASSWORD }),
  ].map(({ status }) => status);
}

test('no account route accepts a credential that is not a session, whatever its scopes', async () => {
  const ann = await plain.person('Ann');
  auth = { via: 'api-key', id: 'x', scopes: ['*', 'auth:*'] };
  expect(await accountRoutes(ann)).toEqual(Array(7).fill(403));
  expect((await ann.call('GET', '/api/auth/me')).body.data.name).toBe('Ann');
});

test('a session that an extension issues may do everything that its user may do', async () => {
  const ann = await plain.person('Ann');
  auth = { via: 'session', id: 'x', scopes: ['*'] };
  const call = createClient(plain.url, `ext_${ann.id}`);
  expect((await call('PATCH', '/api/auth/me', { name: 'Eve' })).status).toBe(200);
  expect((await call('POST', '/api/auth/me/erase', { password: PASSWORD })).status).toBe(202);
});

test('a session of an extension can register devices, create keys, endpoints and exports, and keep streams open', async () => {
  const [ann, bob] = [await withKeys.person('Ann'), await withKeys.person('Bob')];
  auth = { via: 'session', id: 'x', scopes: ['*'] };
  const token = `ext_${ann.id}`;
  const call = createClient(withKeys.url, token);
  const stream = await listen(withKeys.url, 'subscribe=note', { token });
  const own = await listen(withKeys.url, 'subscribe=note', { token: bob.token });
  const responses = [
    await call('POST', '/api/auth/devices', { token: 'token-0123456789abcdef', platform: 'ios' }),
    await call('POST', '/api/auth/api-keys', { name: 'CI' }),
    await call('POST', '/api/webhooks', { url: 'https://example.com/hooks', events: ['note.created'] }),
    await call('GET', '/api/auth/me/export'),
  ];
  expect(responses.map(({ status }) => status)).toEqual([201, 201, 201, 202]);
  expect(responses[0]!.body.data.signedIn).toBe(false);
  // By then, the extension has been asked which sessions have ended.
  await bob.call('POST', '/api/auth/logout');
  await own.ended;
  await call('POST', '/api/notes', { title: 'Still there' });
  expect(JSON.stringify((await stream.named('note.created')).data)).toContain('Still there');
});

test('a route that requires a recent sign-in asks the extension that issued the session', async () => {
  const ann = await withKeys.person('Ann');
  const call = createClient(withKeys.url, `ext_${ann.id}`);
  const createKey = async (id: string, via: Auth['via'] = 'session') => {
    auth = { via, id, scopes: ['*'] };
    return (await call('POST', '/api/auth/api-keys', { name: 'CI' })).status;
  };
  expect([await createKey('x'), await createKey('old'), await createKey('old', 'api-key')]).toEqual([201, 403, 403]);
});

test('webhook endpoints cannot be created with an API key of an extension, because Belfry is not told when such a key ends', async () => {
  const ann = await withKeys.person('Ann');
  auth = { via: 'api-key', id: 'x', scopes: ['*'] };
  const call = createClient(withKeys.url, `ext_${ann.id}`);
  const made = await call('POST', '/api/webhooks', { url: 'https://example.com/hooks', events: ['note.created'] });
  expect([made.status, made.body.error.message]).toEqual([403, expect.stringContaining('use a session')]);
});
