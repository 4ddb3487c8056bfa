import { expect, onTestFinished, test, vi } from 'vitest';
import {
  ApiError,
  type ClientOptions,
  createClient,
  memoryStorage,
  type SessionStorage,
  type StoredSession,
} from '../../../packages/client/src/index.ts';
import { defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const PASSWORD = 'correct horse battery';
const { app, url, person } = await startTestApp({
  resources: [defineUser({ fields: { bio: f.string().optional() } })],
});
const newClient = (options: ClientOptions = {}) => createClient({ url, ...options });
const credentialsOf = ({ email }: { email: string }) => ({ email, password: PASSWORD });

/** A storage that other tabs share: each client gets a view of its own. */
function sharedStorage() {
  let stored: StoredSession | undefined;
  const tabs = new Set<() => void>();
  const writes: (StoredSession | undefined)[] = [];
  return {
    writes,
    get stored() {
      return stored;
    },
    set(session: StoredSession | undefined) {
      stored = session;
      for (const notify of tabs) notify();
    },
    openTab(): SessionStorage {
      let own: (() => void) | undefined;
      const change = (session: StoredSession | undefined) => {
        stored = session;
        writes.push(session);
        for (const notify of tabs) if (notify !== own) notify();
      };
      return {
        read: async () => stored,
        write: async (session) => change(session),
        remove: async () => change(undefined),
        subscribe(listener) {
          own = listener;
          tabs.add(listener);
          return () => tabs.delete(listener);
        },
      };
    },
  };
}

test('a user registers, and requests are sent with the session until the user signs out', async () => {
  const client = newClient();
  const heard: (string | undefined)[] = [];
  const stop = client.auth.subscribe((session) => heard.push(session?.user.id));
  expect(client.auth.session).toBeUndefined();
  const result = await client.auth.register({ name: 'Ada', email: 'ada@session.example.com', password: PASSWORD });
  expect(result).toEqual({ status: 'signedIn', user: expect.objectContaining({ name: 'Ada' }) });
  const { session } = client.auth;
  expect(session).toMatchObject({
    user: result.status === 'signedIn' && result.user,
    token: expect.stringMatching(/^svc_/),
    expiresAt: expect.any(String),
  });
  expect(client.auth.session).toBe(session);
  const { data } = await client.request<{ id: string }>({ method: 'GET', path: '/auth/me' });
  expect(data.id).toBe(session!.user.id);
  expect(await client.auth.updateUser({ bio: 'Bells' })).toMatchObject({ bio: 'Bells' });
  expect(client.auth.session!.user).toMatchObject({ bio: 'Bells', name: 'Ada' });

  await client.auth.signOut();
  expect(client.auth.session).toBeUndefined();
  expect(heard).toEqual([session!.user.id, session!.user.id, undefined]);
  const again = createClient({ url, token: session!.token! });
  await expect(again.request({ method: 'GET', path: '/auth/me' })).rejects.toMatchObject({ status: 401 });
  stop();
  await client.auth.signIn({ email: 'ada@session.example.com', password: PASSWORD });
  expect(heard).toHaveLength(3);
});

test('a wrong password is an error of the API, and does not end the session of another user', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const client = newClient();
  await client.auth.signIn(credentialsOf(ada));
  const error = await client.auth.signIn({ email: bob.email, password: 'wrong' }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 401, code: 'UNAUTHORIZED' });
  expect(client.auth.session?.user.id).toBe(ada.id);
  await client.auth.signIn(credentialsOf(bob));
  expect(client.auth.session?.user.id).toBe(bob.id);
});

test('a session that the server refuses ends, and a sign-in works although the former token is refused', async () => {
  const ada = await person('Ada');
  const storage = memoryStorage();
  const client = newClient({ storage });
  await client.auth.signIn(credentialsOf(ada));
  await ada.call('POST', '/api/auth/logout-all');
  await expect(client.request({ method: 'GET', path: '/auth/me' })).rejects.toMatchObject({ status: 401 });
  expect(client.auth.session).toBeUndefined();
  await expect.poll(() => storage.read()).toBeUndefined();

  const stale = newClient({ storage: { ...memoryStorage(), read: () => ({ token: `svc_${'0'.repeat(64)}` }) } });
  await stale.auth.signIn(credentialsOf(ada));
  expect(stale.auth.session?.user.id).toBe(ada.id);
});

test('a 401 that is about the input of a request does not end the session', async () => {
  const ada = await person('Ada');
  const client = newClient();
  await client.auth.signIn(credentialsOf(ada));
  await expect(client.auth.confirm({ password: 'wrong' })).rejects.toMatchObject({
    details: { password: expect.any(String) },
  });
  await expect(
    client.request({ method: 'POST', path: '/auth/login', json: { email: ada.email, password: 'wrong' } }),
  ).rejects.toMatchObject({ status: 401 });
  expect(client.auth.session?.user.id).toBe(ada.id);
});

test('a late response about a refused token does not end the session that replaced it', async () => {
  const ada = await person('Ada');
  const gate = Promise.withResolvers<void>();
  const client = newClient({
    fetch: async (target, init) => {
      const response = await fetch(target, init);
      if (String(target).endsWith('/auth/sessions')) await gate.promise;
      return response;
    },
  });
  await client.auth.signIn(credentialsOf(ada));
  await ada.call('POST', '/api/auth/logout-all');
  const late = client.request({ method: 'GET', path: '/auth/sessions' }).catch((error: unknown) => error);
  await client.auth.signIn(credentialsOf(ada));
  const { token } = client.auth.session!;
  gate.resolve();
  expect(await late).toMatchObject({ status: 401 });
  expect(client.auth.session?.token).toBe(token);
});

test('the session ends in this browser at once, also if the API cannot be reached', async () => {
  const ada = await person('Ada');
  let isOffline = false;
  const client = newClient({
    retries: 0,
    fetch: (target, init) => (isOffline ? Promise.reject(new TypeError('offline')) : fetch(target, init)),
  });
  await client.auth.signIn(credentialsOf(ada));
  isOffline = true;
  const ended = client.auth.signOut();
  await expect(ended).rejects.toMatchObject({ status: 0, code: 'NETWORK_ERROR' });
  expect(client.auth.session).toBeUndefined();
});

test('signing out everywhere ends all sessions; if the API refuses it, the session stays', async () => {
  const ada = await person('Ada');
  let isOffline = true;
  const client = newClient({
    retries: 0,
    fetch: (target, init) =>
      isOffline && String(target).includes('logout-all')
        ? Promise.reject(new TypeError('offline'))
        : fetch(target, init),
  });
  await client.auth.signIn(credentialsOf(ada));
  await expect(client.auth.signOutEverywhere()).rejects.toMatchObject({ code: 'NETWORK_ERROR' });
  expect(client.auth.session).toBeDefined();
  isOffline = false;
  await client.auth.signOutEverywhere();
  expect(client.auth.session).toBeUndefined();
  expect((await ada.call('GET', '/api/auth/me')).status).toBe(401);
});

test('an expired session is none, and listeners learn of the end', async () => {
  const ada = await person('Ada');
  const storage = memoryStorage();
  const signedIn = newClient({ storage });
  await signedIn.auth.signIn(credentialsOf(ada));
  const { token, user } = signedIn.auth.session!;
  const expired = newClient({
    storage: { ...memoryStorage(), read: () => ({ token: token!, user, expiresAt: '2020-01-01T00:00:00.000Z' }) },
  });
  expect(expired.auth.session).toBeUndefined();
  await expect(expired.request({ method: 'GET', path: '/auth/me' })).rejects.toMatchObject({ status: 401 });

  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = newClient({ storage });
  const heard: unknown[] = [];
  client.auth.subscribe((session) => heard.push(session));
  // Sessions last for 30 days, which is longer than a timer can run.
  await vi.advanceTimersByTimeAsync(29 * 86_400_000);
  expect([client.auth.session?.user.id, heard]).toEqual([ada.id, []]);
  await vi.advanceTimersByTimeAsync(86_400_000);
  expect([client.auth.session, heard]).toEqual([undefined, [undefined]]);
  expect(storage.read()).toBeUndefined();
});

test('the token is missing from JSON of the client and of its session', async () => {
  const ada = await person('Ada');
  const client = newClient({
    storage: { ...memoryStorage(), read: () => ({ token: ada.token, user: { id: ada.id } }) },
  });
  const session = await client.auth.ready();
  expect(session?.token).toBe(ada.token);
  expect(JSON.stringify([client, client.auth, session, { ...session }])).not.toContain('svc_');
});

test('a token without a user becomes a session once the client is ready', async () => {
  const ada = await person('Ada');
  const client = newClient({ storage: { ...memoryStorage(), read: async () => ({ token: ada.token }) } });
  expect(client.auth.session).toBeUndefined();
  expect(await client.auth.ready()).toMatchObject({ user: { id: ada.id }, token: ada.token });
  await app.service('user').update(ada.id, { name: 'Countess' });
  expect(await client.auth.ready({ refresh: true })).toMatchObject({ user: { name: 'Countess' } });
  await app.service('user').update(ada.id, { name: 'Lovelace' });
  expect(await client.auth.user()).toMatchObject({ name: 'Lovelace' });
});

test('a read of the storage that fails is reported, and tried again with the next request', async () => {
  const ada = await person('Ada');
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 1) throw new Error('locked');
    return { token: ada.token };
  };
  const client = newClient({ storage: { ...memoryStorage(), read } });
  await expect(client.auth.ready()).rejects.toThrow('locked');
  expect(await client.auth.ready()).toMatchObject({ user: { id: ada.id } });
});

test('a sign-in whose session cannot be stored rejects, and leaves no session', async () => {
  const ada = await person('Ada');
  const write = () => Promise.reject(new Error('disk full'));
  const { auth } = newClient({ storage: { ...memoryStorage(), write } });
  await expect(auth.signIn(credentialsOf(ada))).rejects.toThrow('disk full');
  expect(auth.session).toBeUndefined();
});

test('a sign-in while the storage is being read is not undone by the older content', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const gate = Promise.withResolvers<StoredSession>();
  const client = newClient({ storage: { ...memoryStorage(), read: () => gate.promise } });
  const signedIn = client.auth.signIn(credentialsOf(bob));
  await vi.waitUntil(() => client.auth.session !== undefined);
  gate.resolve({ token: ada.token, user: { id: ada.id } });
  await signedIn;
  expect(client.auth.session?.user.id).toBe(bob.id);
});

test('a sign-in and a sign-out in one tab reach the others, without an echo', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const shared = sharedStorage();
  const [one, two] = [newClient({ storage: shared.openTab() }), newClient({ storage: shared.openTab() })];
  await one.auth.signIn(credentialsOf(ada));
  await expect.poll(() => two.auth.session?.user.id).toBe(ada.id);
  await two.auth.signIn(credentialsOf(bob));
  await expect.poll(() => one.auth.session?.user.id).toBe(bob.id);
  await one.auth.signOut();
  await expect.poll(() => two.auth.session).toBeUndefined();
  expect(shared.writes.map((session) => session?.user)).toMatchObject([{ id: ada.id }, { id: bob.id }, undefined]);
});

test('a response of the former user does not reach the session of the user who signed in meanwhile', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const shared = sharedStorage();
  const gate = Promise.withResolvers<void>();
  const slow: typeof fetch = async (target, init) => {
    const response = await fetch(target, init);
    if (String(target).endsWith('/auth/me')) await gate.promise;
    return response;
  };
  const one = newClient({ storage: shared.openTab(), fetch: slow });
  await one.auth.signIn(credentialsOf(ada));
  const late = one.auth.user();
  const update = one.auth.updateUser({ name: 'Late' });
  const two = newClient({ storage: shared.openTab() });
  await two.auth.signIn(credentialsOf(bob));
  await expect.poll(() => one.auth.session?.user.id).toBe(bob.id);
  gate.resolve();
  await Promise.all([late, update]);
  expect(one.auth.session?.user).toMatchObject({ id: bob.id, name: 'Bob' });
  expect(shared.stored).toMatchObject({ user: { id: bob.id, name: 'Bob' } });
});

test('a tab whose token is refused takes over the session that another tab has started', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  let stored: StoredSession | undefined;
  // This tab has been frozen: it hears nothing.
  const storage: SessionStorage = {
    read: () => stored,
    write(session) {
      stored = session;
    },
    remove() {
      stored = undefined;
    },
  };
  const client = newClient({ storage });
  await client.auth.signIn(credentialsOf(ada));
  stored = { token: bob.token, user: { id: bob.id } };
  await ada.call('POST', '/api/auth/logout-all');
  await expect(client.auth.sessions.list()).rejects.toMatchObject({ status: 401 });
  await expect.poll(() => client.auth.session?.user.id).toBe(bob.id);
  expect(stored).toMatchObject({ token: bob.token });
});

test('the error of a listener reaches neither the sign-in nor the other listeners', async () => {
  const ada = await person('Ada');
  const client = newClient();
  const reported: unknown[] = [];
  const report = (error: unknown) => void reported.push(error);
  const former = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', report);
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of former) process.on('uncaughtException', listener);
  });
  const heard: unknown[] = [];
  client.auth.subscribe(() => {
    throw new Error('broken listener');
  });
  client.auth.subscribe((session) => heard.push(session?.user.id));
  expect(await client.auth.signIn(credentialsOf(ada))).toMatchObject({ status: 'signedIn' });
  expect(heard).toEqual([ada.id]);
  await expect.poll(() => reported).toMatchObject([{ message: 'broken listener' }]);
});

test('users list their sessions and end one, and change their password', async () => {
  const ada = await person('Ada');
  const client = newClient();
  await client.auth.signIn(credentialsOf(ada));
  const [current, other] = await client.auth.sessions.list();
  expect([current, other]).toMatchObject([{ current: true, method: 'password' }, { current: false }]);
  await client.auth.sessions.end(other!.id);
  expect((await ada.call('GET', '/api/auth/me')).status).toBe(401);
  expect(await client.auth.methods()).toEqual(['password']);

  await client.auth.password.change({ currentPassword: PASSWORD, newPassword: 'a bell rings at noon' });
  await newClient().auth.signIn({ email: ada.email, password: 'a bell rings at noon' });
  expect(await client.auth.user()).toMatchObject({ id: ada.id });
});

test('a method of a part that does not exist is an error that names it', async () => {
  const { auth } = newClient();
  await expect((auth.passkeys as unknown as Record<string, () => unknown>).sing!()).rejects.toThrow('sing');
  expect(await auth.passkeys).toBe(auth.passkeys);
});
