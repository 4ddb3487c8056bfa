// A transaction must not wait for a hash, a request or Redis, because other requests wait for its locks and its connection.
import { Client as PostgresClient } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { ExtensionHost } from '../../../../src/extension/index.ts';
import { defineExtension, defineResource, defineUser, f } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { assertOutsideTransaction } from '../../../../src/platform/data/postgres/transaction-watch.ts';
import { createGuardedAgent } from '../../../../src/platform/http/address-guard/guarded-agent.ts';
import { createHostResolver } from '../../../../src/platform/http/address-guard/resolve-host.ts';
import { sendPost } from '../../../../src/platform/http/post.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';

const password = 'correct horse battery';
let host: ExtensionHost | undefined;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host = given;
    return {};
  },
});
let changesPassword = false;
const user = defineUser({
  policies: { create: 'public' },
  hooks: {
    // Writes first, so that the transaction of the create is open when the record is inserted.
    async beforeCreate(values, { service }) {
      await service('note').create({ text: values.email });
      if (changesPassword) values.password = `${password}!`;
    },
  },
});
const note = defineResource('note', { fields: { text: f.string() }, policies: { list: 'public' } });
const { app, call, env, person, url } = await startTestApp({
  resources: [user, note],
  extensions: [probe],
});
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let people = 0;
const newUser = () => ({ name: 'Ada', email: `watched${++people}@example.com`, password });
const login = async ({ email }: { email: string }, secret = password) =>
  (await call('POST', '/api/auth/login', { email, password: secret })).status;
const notes = async () => (await app.service('note').list()).meta.total;

beforeEach(() => sql.query('delete from notes'));

test('a user is hashed before the transaction in which a hook writes, so a create with a hook works', async () => {
  const ada = newUser();
  expect((await call('POST', '/api/auth/register', ada)).status).toBe(201);
  expect([await login(ada), await notes()]).toEqual([200, 1]);
});

test.each(['atomic', 'perItem'])('a batch of users hashes their passwords before its transaction: %s', async (mode) => {
  const root = await person('Root', ['user', 'admin']);
  const users = [newUser(), newUser(), newUser()];
  const operations = users.map((data) => ({ op: 'create', data }));
  expect((await root.call('POST', '/api/users/batch', { mode, operations })).status).toBe(200);
  for (const one of users) expect(await login(one)).toBe(200);
  // One password of several users has a hash for each of them.
  const { rows } = await sql.query('select distinct password from users where email = any($1)', [
    users.map(({ email }) => email),
  ]);
  expect(rows).toHaveLength(users.length);
});

test('an upsert of users by code hashes passwords before its transaction', async () => {
  const ada = newUser();
  await app.service('user').upsert('email', ada);
  expect(await login(ada)).toBe(200);
});

test('a transaction begins with its first statement, so a user may be created first in it, but not after a write', async () => {
  const [ada, eve] = [newUser(), newUser()];
  await app.transaction((tx) => tx.service('user').create(ada));
  expect(await login(ada)).toBe(200);
  const late = app.transaction(async (tx) => {
    await tx.service('note').create({ text: 'first' });
    return tx.service('user').create(eve);
  });
  await expect(late).rejects.toThrow('A password is hashed inside a transaction');
  expect([await login(eve), await app.service('note').count({})]).toEqual([401, 1]);
});

test('a hook that writes and changes the password is refused, and stores nothing', async () => {
  changesPassword = true;
  try {
    await expect(app.service('user').create(newUser())).rejects.toThrow('A password is hashed inside a transaction');
  } finally {
    changesPassword = false;
  }
  expect(await notes()).toBe(0);
});

test.each<[string, () => Promise<unknown>, string]>([
  ['a command of Redis', () => host!.redis.commands.get('x'), 'Redis is used (get)'],
  ['a count in Redis', () => host!.limits.limiter('probe', { limit: 5, windowMs: 1000 }).consume('x'), 'Redis is used'],
  [
    'a request',
    async () => {
      const agent = createGuardedAgent({ allowPrivate: true, connectTimeoutMs: 1000 });
      return sendPost(agent, { url: new URL(url), headers: {}, body: Buffer.of(), timeoutMs: 1000 });
    },
    'A request to',
  ],
  ['a look-up of a host', () => createHostResolver({ localNames: true, timeoutMs: 1000 })('localhost'), 'is looked up'],
])('%s in a transaction makes it fail, even if its error is caught', async (_what, work, message) => {
  const running = app.transaction(async (tx) => {
    await tx.service('note').create({ text: 'open' });
    await work().catch(() => undefined);
  });
  await expect(running).rejects.toThrow(message);
  expect(await notes()).toBe(0);
});

test('the same work before the first statement and after the commit is allowed', async () => {
  const done: string[] = [];
  await app.transaction(async (tx) => {
    await host!.redis.commands.get('x');
    await tx.service('note').create({ text: 'open' });
    tx.afterCommit(async () => done.push(String(await host!.redis.commands.get('x'))));
  });
  await expect.poll(() => done).toEqual(['null']);
});

test('a listener of an event may use Redis, because no transaction waits for it', async () => {
  const seen = Promise.withResolvers<unknown>();
  app.on('probe.happened', () => void host!.redis.commands.get('x').then(seen.resolve, seen.reject));
  await app.transaction(async (tx) => {
    await tx.service('note').create({ text: 'open' });
    host!.events.emit('probe.happened', {});
    await seen.promise;
  });
  expect(await notes()).toBe(1);
});

test('what follows the commit of a transaction inside another one does not count as work of the outer one', async () => {
  let followed: unknown;
  await app.transaction(async (tx) => {
    await tx.service('note').create({ text: 'outer' });
    await app.transaction(async (inner) => {
      await inner.service('note').create({ text: 'inner' });
      inner.afterCommit(async () => {
        followed = await host!.redis.commands.get('x');
      });
    });
  });
  expect([followed, await notes()]).toEqual([null, 2]);
});

test('a database that is not watched, as in production, refuses nothing', async () => {
  const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
  try {
    await database.transaction(async () => assertOutsideTransaction('Anything is done'));
  } finally {
    await database.close();
  }
});
