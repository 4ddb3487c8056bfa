import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  apiKeys,
  audit,
  createApp,
  defineJob,
  defineResource,
  defineUser,
  developerConsole,
  f,
  realtime,
} from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const note = defineResource('note', {
  fields: { title: f.string().required() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const resources = [defineUser(), note];
const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  APP_VERSION: 'release-7',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};
const settings = {
  rateLimit: {
    enabled: true,
    global: { limit: 100_000, windowMs: 60_000 },
    auth: { limit: 40, windowMs: 60_000 },
  },
  slowLog: { requestMs: 0, statementMs: 0 },
};
const jobs = [defineJob('tidy', { run: () => undefined })];
const extensions = [audit(), apiKeys(), realtime(), developerConsole({ production: true })];
const { app, call, person, url, env } = await startTestApp(
  { resources, jobs, settings, extensions },
  { env: () => PRODUCTION },
);
const API = '/console/api/operations';
const admin = await person('Root', ['user', 'admin']);
const ada = await person('Ada');
const redis = new Redis(env.REDIS_URL!);
afterAll(() => redis.disconnect());

const read = async (path: string) => {
  const { status, body } = await admin.call('GET', API + path);
  expect([path, status]).toEqual([path, 200]);
  return body.data;
};

async function query(text: string, values: unknown[] = []): Promise<unknown[][]> {
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

/** The oldest entry of the audit trail about an action. */
const entryOf = (action: string) =>
  vi.waitUntil(async () => {
    const { body } = await admin.call('GET', `/console/api/audit/entries?action=${action}`);
    return body.data.at(-1);
  });

const HASH = 'a'.repeat(64);
const ROUTES: [method: string, path: string, body?: unknown][] = [
  ['GET', '/overview'],
  ['GET', '/checks'],
  ['GET', '/processes'],
  ['GET', '/queues'],
  ['GET', '/jobs'],
  ['GET', '/queues/mail/failed'],
  ['POST', '/queues/mail/failed/1/retry'],
  ['DELETE', '/queues/mail/failed/1'],
  ['GET', '/outbox'],
  ['POST', '/outbox/retry'],
  ['POST', '/outbox/1/retry'],
  ['GET', '/limits'],
  ['GET', '/limits/clients'],
  ['GET', '/limits/lockouts'],
  ['GET', '/limits/lookup?q=127.0.0.1'],
  ['POST', '/limits/clients/clear', { name: 'all', windowMs: 60_000, client: '127.0.0.1' }],
  ['POST', `/limits/lockouts/${HASH}/clear`],
  ['POST', `/limits/accounts/${ada.id}/unlock`],
  ['GET', '/slow'],
  ['GET', '/slow/statistics'],
  ['POST', '/slow/clear'],
];

test.each(ROUTES)('%s %s is refused without a session of an administrator', async (method, path, body) => {
  expect((await call(method, API + path, body)).status).toBe(401);
  expect((await ada.call(method, API + path, body)).body.error.code).toBe('FORBIDDEN');
  const { body: made } = await admin.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  expect((await createClient(url, made.data.key)(method, API + path, body)).body.error.code).toBe('FORBIDDEN');
  await admin.call('DELETE', `/api/auth/api-keys/${made.data.id}`);
});

test('the log is not available in production', async () => {
  expect((await admin.call('GET', `${API}/log`)).status).toBe(404);
});

test('the overview says how the servers, the outbox, the queues and the requests are', async () => {
  const overview = await read('/overview');
  expect(overview.postgres).toMatchObject({
    version: expect.stringMatching(/^\d+\.\d/),
    maxConnections: expect.any(Number),
  });
  expect(overview.redis.servers[0]).toMatchObject({ evictionPolicy: 'noeviction', latencyMs: expect.any(Number) });
  expect(overview.outbox).toMatchObject({ rows: expect.any(Number), isCapped: false });
  expect(overview.queues.count).toBeGreaterThan(2);
  expect(overview.concerns).toEqual([]);
  expect(JSON.stringify(overview)).not.toContain(new URL(env.DATABASE_URL!).password || 'password');
});

test('the checks are those of the doctor, and are not repeated within 30 seconds', async () => {
  const first = await read('/checks');
  expect(first.findings).toContainEqual({ level: 'ok', message: 'The database has everything that the app declares' });
  expect(first.findings).toContainEqual(expect.objectContaining({ level: 'warning', message: 'SMTP_URL is not set' }));
  expect((await read('/checks')).at).toBe(first.at);
});

describe('processes', () => {
  test('every process is listed with its roles, versions and load, and is gone when it stops', async () => {
    const own = await vi.waitUntil(async () =>
      (await read('/processes')).processes.find((one: { pid: number }) => one.pid === process.pid),
    );
    expect(own).toMatchObject({
      roles: ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'],
      appVersion: 'release-7',
      version: expect.stringMatching(/^\d/),
      memory: { rss: expect.any(Number) },
      eventLoop: { maxMs: expect.any(Number) },
      facts: { connections: { max: 8 }, streams: { open: 0, subscriptions: 0 }, queues: expect.any(Array) },
    });
    const worker = createApp({ resources, jobs, settings, extensions }, { ...env, APP_VERSION: 'release-8' });
    await worker.start({ roles: ['job-worker'] });
    const rolesOf = async () =>
      (await read('/processes')).processes.map(({ roles }: { roles: string[] }) => roles.join());
    await expect.poll(rolesOf, { timeout: 5000 }).toContain('job-worker');
    const { concerns } = await vi.waitUntil(async () => {
      const overview = await read('/overview');
      return overview.concerns.length > 0 && overview;
    });
    expect(concerns).toContainEqual(expect.objectContaining({ message: 'Processes run 2 different versions' }));
    await worker.close();
    await expect.poll(rolesOf, { timeout: 5000 }).not.toContain('job-worker');
  });

  test('a process that was killed is no longer listed after its last heartbeat has expired', async () => {
    const keys = `${env.REDIS_PREFIX}:{processes}`;
    await redis.hset(`${keys}:state`, 'killed', JSON.stringify({ roles: ['relay'] }));
    await redis.zadd(`${keys}:seen`, Date.now() - 60_000, 'killed');
    const ids = (await read('/processes')).processes.map(({ id }: { id: string }) => id);
    expect(ids).not.toContain('killed');
  });

  test('a state that another version wrote, or that cannot be read, does not break the page', async () => {
    const keys = `${env.REDIS_PREFIX}:{processes}`;
    for (const [id, state] of [
      ['newer', '{"roles":["web"],"facts":{"requests":null}}'],
      ['broken', '{'],
    ] as const) {
      await redis.hset(`${keys}:state`, id, state);
      await redis.zadd(`${keys}:seen`, Date.now(), id);
    }
    onTestFinished(async () => {
      await redis.zrem(`${keys}:seen`, 'newer', 'broken');
    });
    await expect
      .poll(async () => (await read('/processes')).processes.map(({ id }: { id: string }) => id), { timeout: 5000 })
      .toContain('newer');
    await read('/overview');
    await read('/queues');
  });
});

describe('queues and the outbox', () => {
  test('each queue has its numbers and the processes that work on it', async () => {
    const queues = await read('/queues');
    expect(queues).toContainEqual({
      name: 'job.tidy',
      ...{ waiting: 0, active: 0, delayed: 0, failed: 0, oldestSeconds: null },
      ...{ workers: 1, concurrency: 5, failures: [] },
    });
    expect((await read('/jobs')).kinds[0]).toMatchObject({ name: 'tidy' });
  });

  test('an unknown queue or entry is not found', async () => {
    for (const [method, path] of [
      ['GET', '/queues/nope/failed'],
      ['GET', '/queues/__proto__/failed'],
      ['POST', '/queues/mail/failed/nope/retry'],
      ['DELETE', '/queues/mail/failed/nope'],
    ] as const)
      expect([path, (await admin.call(method, API + path)).status]).toEqual([path, 404]);
    expect(await read('/queues/mail/failed')).toEqual([]);
  });

  test('a row that failed is listed with its error, and retried on request, which is recorded', async () => {
    await query(
      `insert into outbox (event_id, name, payload, available_at, attempts, error)
       values ('one', 'unknown.event', '{}', now() + interval '1 hour', 3, 'no such endpoint')`,
    );
    const outbox = await vi.waitUntil(async () => {
      const state = await read('/outbox');
      return state.stuck.length > 0 && state;
    });
    const [row] = outbox.stuck;
    expect(row).toMatchObject({ name: 'unknown.event', attempts: 3, error: 'no such endpoint' });
    expect(outbox.events).toContainEqual(expect.objectContaining({ name: 'unknown.event', failing: 1, attempts: 3 }));
    const retried = await admin.call('POST', `${API}/outbox/${row.id}/retry`);
    expect([retried.status, retried.body.data]).toEqual([200, { rows: 1 }]);
    await expect.poll(() => query('select id from outbox'), { timeout: 5000 }).toEqual([]);
    expect((await admin.call('POST', `${API}/outbox/${row.id}/retry`)).body.error.code).toBe('CONFLICT');
    expect(await entryOf('console.outboxRetried')).toMatchObject({
      resource: 'outbox',
      user: admin.id,
      details: { id: row.id },
    });
  });

  test('hostile ids of rows are refused', async () => {
    for (const id of ['0', '-1', '1e9', "1'--", '99999999999999999999999999'])
      expect((await admin.call('POST', `${API}/outbox/${encodeURIComponent(id)}/retry`)).status).toBe(409);
  });
});

describe('limits and locks', () => {
  test('the configured limits are listed', async () => {
    const rules = await read('/limits');
    expect(rules).toMatchObject({
      isEnabled: true,
      global: { limit: 100_000, windowMs: 60_000 },
      auth: { limit: 40, windowMs: 60_000 },
      lockout: { maxAttempts: 5, windowMinutes: 15, lockMinutes: 15 },
    });
    expect(rules.authRoutes).toContain('POST /api/auth/login');
  });

  test('a limited client can be looked up and let in again, in every process', async () => {
    const limit = 40;
    let status = 0;
    for (let i = 0; i <= limit && status !== 429; i++)
      ({ status } = await call('POST', '/api/auth/password/forgot', { email: 'nobody@example.com' }));
    expect(status).toBe(429);
    const { counts } = await read('/limits/lookup?q=127.0.0.1');
    const counted = counts.find(({ isLimited }: { isLimited: boolean }) => isLimited);
    expect(counted).toMatchObject({
      name: 'POST /auth/password/forgot',
      label: 'POST /api/auth/password/forgot',
      limit,
    });
    const listed = (await read('/limits/clients')).clients[0];
    expect(listed).toMatchObject({ client: '127.0.0.1', isLimited: true, windowMs: 60_000 });

    const { name, windowMs, client } = counted;
    expect((await admin.call('POST', `${API}/limits/clients/clear`, { name, windowMs, client })).status).toBe(204);
    expect((await call('POST', '/api/auth/password/forgot', { email: 'nobody@example.com' })).status).not.toBe(429);
    const entry = await entryOf('console.limitCleared');
    expect(entry).toMatchObject({ resource: 'rate-limit', user: admin.id, details: { limit: name } });
    expect(entry.details).toEqual({ limit: name });
    const again = await admin.call('POST', `${API}/limits/clients/clear`, { name: 'nope', windowMs: 1, client });
    expect(again.body.error.code).toBe('NOT_FOUND');
    const mails = { name: 'mails', windowMs: 1, client: `sign-in:${ada.id}` };
    expect((await admin.call('POST', `${API}/limits/clients/clear`, mails)).status).toBe(404);
    const entriesOf = async () =>
      (await admin.call('GET', '/console/api/audit/entries?action=console.limitCleared')).body.data;
    const named = { details: { limit: 'mails', user: ada.id } };
    await expect.poll(entriesOf, { timeout: 30_000 }).toContainEqual(expect.objectContaining(named));
  });

  test('a locked account is found by its address, and unlocked, which is recorded', async () => {
    const person1 = await person('Locked');
    const login = (password: string) => call('POST', '/api/auth/login', { email: person1.email, password });
    for (let i = 0; i < 5; i++) await login('wrong');
    expect((await login('correct horse battery')).status).toBe(429);
    const found = await read(`/limits/lookup?q=${encodeURIComponent(person1.email.toUpperCase())}`);
    expect(found).toMatchObject({ kind: 'account', user: person1.id, lockouts: [{ kind: 'sign-in' }] });
    expect(found.lockouts[0].lockedUntil).toMatch(/^\d{4}-/);
    const listed = await vi.waitUntil(async () =>
      (await read('/limits/lockouts')).lockouts.find(({ id }: { id: string }) => id === found.lockouts[0].id),
    );
    expect(JSON.stringify(listed)).not.toContain(person1.email);

    expect((await admin.call('POST', `${API}/limits/accounts/${person1.id}/unlock`)).status).toBe(204);
    expect((await login('correct horse battery')).status).toBe(200);
    expect(await entryOf('console.accountUnlocked')).toMatchObject({ resource: 'user', record: person1.id });
  });

  test('a lock is cleared by its hash', async () => {
    const login = () => call('POST', '/api/auth/login', { email: 'unknown@example.com', password: 'x' });
    for (let i = 0; i < 5; i++) await login();
    expect((await login()).status).toBe(429);
    const { lockouts } = await read('/limits/lookup?q=unknown@example.com');
    expect((await admin.call('POST', `${API}/limits/lockouts/${lockouts[0].id}/clear`)).status).toBe(204);
    expect((await login()).status).toBe(401);
    const entry = await entryOf('console.lockoutCleared');
    expect(entry).toMatchObject({ resource: 'lockout', record: null, user: admin.id });
    expect(JSON.stringify(entry)).not.toContain(lockouts[0].id);
  });

  test.each(['', 'nobody', '127.0.0.1.5', '%00', 'x'.repeat(400), '*'])('the search refuses %j', async (text) => {
    const { status, body } = await admin.call('GET', `${API}/limits/lookup?q=${encodeURIComponent(text)}`);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  });

  test('hostile ids change nothing', async () => {
    await redis.set(`${env.REDIS_PREFIX}:lockout:kept`, '{}');
    expect((await admin.call('POST', `${API}/limits/lockouts/kept/clear`)).status).toBe(404);
    expect(await redis.exists(`${env.REDIS_PREFIX}:lockout:kept`)).toBe(1);
    expect((await admin.call('POST', `${API}/limits/accounts/${'0'.repeat(24)}/unlock`)).status).toBe(404);
    expect((await admin.call('POST', `${API}/limits/clients/clear`, { name: 'all' })).status).toBe(422);
  });
});

describe('slow work', () => {
  test('requests and statements above the thresholds are listed, without values', async () => {
    const { body } = await call(
      'POST',
      '/api/notes',
      { title: 'a secret title' },
      { 'x-request-id': 'request-of-test' },
    );
    await call('GET', `/api/notes/${body.data.id}`);
    const slow = await read('/slow');
    expect(slow.thresholds).toEqual({ requestMs: 0, statementMs: 0 });
    const created = slow.newest.find(({ requestId }: { requestId: string }) => requestId === 'request-of-test');
    expect(created).toMatchObject({ method: 'POST', route: '/api/notes', status: 201, ms: expect.any(Number) });
    expect(created.statements).toBeGreaterThan(0);
    expect(slow.statements.length).toBeGreaterThan(3);
    expect(JSON.stringify(slow)).not.toContain('secret title');
    expect(JSON.stringify(slow)).not.toContain(body.data.id);
  });

  test('the list can be cleared, which is recorded', async () => {
    await call('GET', '/api/notes', undefined, { 'x-request-id': 'before-the-clearing' });
    expect((await admin.call('POST', `${API}/slow/clear`)).status).toBe(204);
    expect(JSON.stringify(await read('/slow'))).not.toContain('before-the-clearing');
    expect(await entryOf('console.slowLogCleared')).toMatchObject({ resource: 'operations', user: admin.id });
  });

  test('the statistics of Postgres say how to switch them on, or list statements', async () => {
    const { missing, statements } = await read('/slow/statistics');
    expect(missing ?? 'available').toBeOneOf(['not installed', 'not loaded', 'not permitted', 'available']);
    expect(statements).toEqual(missing === undefined ? expect.any(Array) : []);
  });
});

test('without slow work, the slow log stays empty with the default thresholds', async () => {
  const other = await startTestApp({ resources, extensions: [developerConsole()] });
  await other.call('GET', '/api/notes');
  const { body } = await other.call('GET', `${API}/slow`);
  expect(body.data.thresholds).toEqual({ requestMs: 500, statementMs: 200 });
});

test('requests to the console and to its receiver count neither as load nor as slow work of the app', async () => {
  const other = await startTestApp({
    resources,
    settings: { slowLog: { requestMs: 0, statementMs: 0 } },
    extensions: [developerConsole()],
  });
  const ask = async (path: string) => (await other.call('GET', path)).body.data;
  await ask('/console/api/resources/note?limit=1');
  await other.call('POST', '/console/receiver/any', {});
  await ask(`${API}/slow/statistics`);
  expect((await ask(`${API}/slow`)).newest).toEqual([]);
  await ask('/api/notes?limit=3');
  // Less than a second after the first one, the console would repeat it.
  const slow = await vi.waitUntil(async () => {
    const found = await ask(`${API}/slow`);
    return found.newest.length > 0 && found;
  });
  expect(slow.newest.map(({ route }: { route: string }) => route)).toEqual(['/api/notes']);
  expect(JSON.stringify(slow.statements)).not.toContain('pg_extension');
  const { requests } = await ask(`${API}/processes`);
  expect(requests).toMatchObject({ count: 1, failed: 0, inFlight: 0 });
});

test('the log of all processes is read from a line on', async () => {
  const other = await startTestApp(
    { resources, extensions: [developerConsole()] },
    { env: () => ({ NODE_ENV: 'development', LOG_LEVEL: 'warn' }), start: { roles: ['web'] } },
  );
  other.app.on('note.created', () => {
    throw new Error('this listener fails in a test');
  });
  const lines = async (after = '') => (await other.call('GET', `${API}/log${after}`)).body.data;
  const before = await lines();
  await other.call('POST', '/api/notes', { title: 'x' });
  const after = before.length === 0 ? '' : `?after=${before.at(-1).id}`;
  const added = await vi.waitUntil(async () => {
    const found = await lines(after);
    return found.length > 0 && found;
  });
  expect(added[0].fields).toMatchObject({ level: 'error', process: 'web', time: expect.stringMatching(/Z$/) });
  expect(await lines(`?after=${added.at(-1).id}`)).toEqual([]);
  expect((await other.call('GET', `${API}/log?after=${encodeURIComponent('- +')}`)).status).toBe(400);
});

test('the first page says what is wrong while nothing works on a queue', async () => {
  await app.service('note').create({ title: 'x' });
  await redis.zadd(`${env.REDIS_PREFIX}:{processes}:queues`, Date.now(), 'abandoned');
  await redis.lpush(`${env.REDIS_PREFIX}:{abandoned}:abandoned:wait`, '1');
  await redis.hset(`${env.REDIS_PREFIX}:{abandoned}:abandoned:1`, {
    name: 'process',
    data: '{}',
    opts: '{}',
    timestamp: Date.now() - 5000,
  });
  const messages = async () => (await read('/overview')).concerns.map(({ message }: { message: string }) => message);
  await expect.poll(messages, { timeout: 5000 }).toContain('No process works on the queue abandoned');
});

test('while Redis is down, the overview says so, and the other pages say what they cannot read', async () => {
  const proxy = await startTcpProxy(new URL(env.REDIS_URL!));
  const other = await startTestApp(
    { resources, extensions: [developerConsole()] },
    { env: () => ({ REDIS_URL: proxy.url }), start: { roles: ['web', 'relay', 'job-worker'] } },
  );
  expect((await other.call('GET', `${API}/queues`)).status).toBe(200);
  await proxy.close();
  const concerns = async () =>
    (await other.call('GET', `${API}/overview`)).body.data.concerns.map(({ message }: { message: string }) => message);
  await expect.poll(concerns, { timeout: 10_000 }).toContainEqual(expect.stringMatching(/^Redis cannot be reached/));
  for (const path of [
    '/queues',
    '/limits/clients',
    '/limits/lockouts',
    '/slow',
    '/log',
    '/limits/lookup?q=a@example.com',
  ]) {
    const codeOf = async () => (await other.call('GET', API + path)).body.error?.code;
    await expect.poll(codeOf, { message: path, timeout: 5000 }).toBe('UNAVAILABLE');
  }
  const advice = `(${new URL(proxy.url).host}). Check REDIS_URL, and that Redis runs.`;
  expect((await other.call('GET', `${API}/processes`)).body.data.problem).toContain(advice);
  expect((await other.call('GET', `${API}/slow`)).body.error.message).toContain(advice);
  const overview = (await other.call('GET', `${API}/overview`)).body.data;
  for (const unknown of ['processes', 'queues', 'requests']) expect(overview).not.toHaveProperty(unknown);
  expect((await other.call('GET', `${API}/outbox`)).status).toBe(200);
  expect((await other.call('GET', `${API}/limits`)).status).toBe(200);
});
