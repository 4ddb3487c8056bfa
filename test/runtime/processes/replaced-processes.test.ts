// Nothing is lost when processes are killed, or replaced by those of another version.
import { Pool } from 'undici';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { CHECK_EVERY_MS, provideHaproxy, startHaproxy } from '../../../scripts/services/haproxy.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { createNote } from '../../fixtures/rolling/app.ts';
import { createClient } from '../../support/app.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog, startProcess } from '../../support/processes/app-process.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...createRoleEnv(database), TRUST_PROXY: 'loopback', CHEAP_PASSWORDS: 'on' };
const patience = { timeout: 90_000, interval: 50 };
const longWait = { ...patience, interval: 250 };

const RECORDS = 150;

test('no event of an acknowledged record is lost when relay, worker and web are killed, and repeated events keep their id', {
  timeout: 480_000,
}, async () => {
  const receiver = await startReceiver();
  const web = startBlog('web', env);
  const url = await web.url();
  const workers = ['relay', 'webhook-worker'] as const;
  const start = (role: (typeof workers)[number]) => startBlog(role, env);
  let running = workers.map(start);

  const account = { name: 'Ben', email: 'ben@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(url)('POST', '/api/auth/register', account)).body.data;
  await createClient(url, token)('POST', '/api/webhooks', { url: receiver.url, events: ['post.created'] });

  const acknowledged = new Set<string>();
  let sent = 0;
  const client = async (_: unknown, index: number) => {
    // A single address may not send that many requests.
    const from = { 'x-forwarded-for': `203.0.113.${index}` };
    while (sent < RECORDS) {
      const title = `Post ${sent++}`;
      // A request that the killed web process broke off was not acknowledged, so nothing is promised about it.
      const response = await createClient(url, token)('POST', '/api/posts', { title }, from).catch(() => undefined);
      if (response?.status === 201) acknowledged.add(response.body.data.id);
    }
  };
  const clients = Promise.all(Array.from({ length: 10 }, client));
  await vi.waitUntil(() => receiver.requests.length > 0 && acknowledged.size > RECORDS / 4, patience);
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.map((one) => one.ended));
  running = workers.map(start);
  await vi.waitUntil(() => acknowledged.size > RECORDS / 2, patience);
  web.child.kill('SIGKILL');
  await web.ended;
  await clients;
  expect(acknowledged.size).toBeGreaterThan(RECORDS / 2);

  const arrivals = () =>
    receiver.requests.map(
      (one) => [JSON.parse(one.body.toString()).data.id as string, one.headers['webhook-id']] as const,
    );
  await vi.waitUntil(() => {
    const there = new Set(arrivals().map(([record]) => record));
    return [...acknowledged].every((record) => there.has(record));
  }, longWait);
  const idsOf = Map.groupBy(arrivals(), ([record]) => record);
  expect([...idsOf.values()].every((list) => new Set(list.map(([, id]) => id)).size === 1)).toBe(true);

  for (const { child } of running) child.kill('SIGTERM');
  await Promise.all(running.map((one) => one.ended));
  await receiver.close();
});

const CONNECTIONS = 8;
const haproxy = provideHaproxy();
if (haproxy === undefined)
  console.warn('The test of a rolling deploy is skipped: HAProxy is missing. Install it with: apt-get install haproxy');

/** Starts a `web` process of a version of the app on a port. */
function startWeb({ env }: MigrationProject, version: 'old' | 'new', port: number) {
  return startProcess('test/fixtures/rolling/process.ts', {
    ...env,
    NODE_ENV: 'production',
    APP_URL: 'http://127.0.0.1',
    APP_VERSION: version,
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 'rolling').toString('base64'),
    LOG_LEVEL: 'error',
    PORT: String(port),
    ...{ RELAY: 'off', WEBHOOKS_WORKER: 'off', PUSH_WORKER: 'off', JOB_WORKER: 'off' },
    DRAIN_DELAY_MS: String(10 * CHECK_EVERY_MS),
  });
}

/** Creates, reads and updates notes on kept-alive connections until it is stopped. Collects every failed request. */
function startLoad(url: string) {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const failures: string[] = [];
  const created = new Set<string>();
  let stopping = false;
  async function send(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
  ): Promise<{ id: string } | undefined> {
    try {
      const response = await pool.request({
        method,
        path,
        ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
      const text = await response.body.text();
      if (response.statusCode < 300) return JSON.parse(text).data;
      failures.push(`${method} ${path}: ${response.statusCode} ${text}`);
    } catch (error) {
      failures.push(`${method} ${path}: ${error}`);
    }
    return undefined;
  }
  async function runClient(): Promise<void> {
    while (!stopping) {
      const note = await send('POST', '/api/notes', { text: 'one' });
      if (note === undefined) continue;
      created.add(note.id);
      await send('GET', `/api/notes/${note.id}`);
      await send('PATCH', `/api/notes/${note.id}`, { text: 'two' });
      await send('GET', '/api/notes?limit=5');
    }
  }
  const running = Promise.all(Array.from({ length: CONNECTIONS }, runClient));
  return {
    failures,
    created,
    /** Resolves when this many more notes have been created. */
    async waitForCreates(count: number) {
      const target = created.size + count;
      await vi.waitUntil(() => created.size >= target || failures.length > 0, { timeout: 60_000, interval: 20 });
    },
    async stop() {
      stopping = true;
      await running;
      await pool.close();
    },
  };
}

test.skipIf(haproxy === undefined)(
  'a rolling deploy with a new field loses no request, and each row that old code creates has the default',
  { timeout: 480_000 },
  async () => {
    const project = await createMigrationProject();
    await project.change([createNote('old')]);
    const proxy = await startHaproxy(haproxy!, 4);
    onTestFinished(() => proxy.stop());
    const old = [0, 1].map((server) => startWeb(project, 'old', proxy.ports[server]!));
    await proxy.waitUntilUp([0, 1]);
    const load = startLoad(proxy.url);
    await load.waitForCreates(100);

    await project.change([createNote('new')]);
    // Old code runs on the new tables.
    await load.waitForCreates(200);
    for (const [i, one] of old.entries()) {
      startWeb(project, 'new', proxy.ports[i + 2]!);
      await proxy.waitUntilUp(i === 0 ? [0, 1, 2] : [1, 2, 3]);
      one.child.kill('SIGTERM');
      expect(await one.ended).toBe(0);
      await load.waitForCreates(100);
    }
    await load.stop();

    expect(load.failures).toEqual([]);
    const rows = await project.query('select status, count(*)::int from notes group by status');
    expect(rows).toEqual([{ status: 'open', count: load.created.size }]);
  },
);
