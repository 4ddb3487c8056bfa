// An app that was created with the previous release and has data of every feature is upgraded to this version, without downtime.
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { verifyWebhook } from '../../packages/verify-webhook/src/index.ts';
import { startReceiver } from '../fakes/receiver.ts';
import { startSmtpServer } from '../fakes/smtp-server.ts';
import { type Feature, register, send, type World } from '../fixtures/upgrade/data/world.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { createPackagedApp, createSandbox, openApp, type PackagedApp } from './packaged-app.ts';
import { providePackages } from './packages.ts';
import { findPreviousRelease, packRelease, type Release } from './previous-release.ts';

// Two installations, eight processes, and the tests of the app.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 900_000 });

const ADMIN_EMAIL = 'root@example.com';
const FIXTURE = 'test/fixtures/upgrade';
const CLIENTS = 4;
/** The number of articles that the clients create in each phase of the upgrade. */
const CREATES_PER_PHASE = 20;

/** Starts what the app sends to: a receiver of webhooks and pushes, and a mail server. */
async function startOutside() {
  const [receiver, smtp] = [await startReceiver(), await startSmtpServer()];
  const accepted = new Set<string>();
  receiver.answer(({ path }, res) => {
    res.writeHead(path.includes('waiting') && !accepted.has(path) ? 503 : 204).end();
  });
  const { origin } = new URL(receiver.url);
  const requestsAt = (path: string) => receiver.requests.filter((request) => request.path === path);
  return {
    env: { PUSH_URL: `${origin}/pushes`, SMTP_URL: smtp.url, MAIL_FROM: 'app@example.com' },
    /** Describes the outside to a feature, together with the address of the app. */
    createWorld: (url: string, admin: World['admin']): World => ({
      url,
      receiverUrl: origin,
      admin,
      webhooksAt: requestsAt,
      verify: (key, { headers, body }) => void verifyWebhook(key, headers, body, { toleranceSeconds: 900 }),
      acceptWebhooksAt: (path) => void accepted.add(path),
      pushes: () => requestsAt('/pushes').map(({ body }) => JSON.parse(body)),
      mailsTo: (address) => smtp.mails.filter(({ to }) => to.includes(address)).map(({ raw }) => raw),
      async until(what, read) {
        try {
          return (await vi.waitUntil(read, { timeout: 60_000, interval: 100 })) as never;
        } catch (error) {
          throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
        }
      },
    }),
    async close() {
      await receiver.close();
      await smtp.close();
    },
  };
}

/** Clients that create, read, change and list articles until they are stopped. */
async function startClients(world: World) {
  const { token } = await register(world, 'Load');
  const body = { url: `${world.receiverUrl}/hooks/load`, events: ['article.created'] };
  await send(world, 'POST', '/api/webhooks', { token, body });
  let urls = [world.url];
  let requests = 0;
  let stopping = false;
  const created: string[] = [];
  const failures: string[] = [];
  const request = (method: string, path: string, changes?: object) =>
    send({ url: urls[requests++ % urls.length]! }, method, path, { token, body: changes });
  async function runClient(): Promise<void> {
    while (!stopping) {
      try {
        const { data } = (await request('POST', '/api/articles', { title: 'Load', tags: ['load'] })).body;
        created.push(data.id);
        await request('GET', `/api/articles/${data.id}`);
        await request('PATCH', `/api/articles/${data.id}`, { status: 'published' });
        await request('GET', '/api/articles?tags=load&limit=5');
        await request('GET', '/api/auth/me');
      } catch (error) {
        failures.push(String(error));
        return;
      }
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, runClient));
  return {
    created,
    failures,
    /** Sends the next requests to these addresses, in turn. Resolves when every client has done a number of rounds there. */
    async moveTo(...addresses: string[]) {
      urls = addresses;
      const target = created.length + CREATES_PER_PHASE + CLIENTS;
      await vi.waitUntil(() => created.length >= target || failures.length > 0, { timeout: 120_000 });
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}

const release = findPreviousRelease();
if (release === undefined)
  console.warn(
    'The upgrade test is skipped: git does not have the commit of the previous release. Fetch the whole history.',
  );

describe.skipIf(release === undefined)('an upgrade from the previous release', () => {
  const sandbox = createSandbox();
  const close: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const end of close.reverse()) await end();
    await sandbox.remove();
  });

  let features: Record<string, Feature>;
  const facts = new Map<string, unknown>();
  let old: PackagedApp;
  let app: PackagedApp;
  let env: Record<string, string>;
  let world: World;
  let clients: Awaited<ReturnType<typeof startClients>>;
  let exitCodes: Record<string, number | string>;

  /** Creates the app of the fixture with the release, and writes its first migration. */
  async function createOldApp({ tarball, folder }: Release): Promise<PackagedApp> {
    const fixture = existsSync(join(folder, FIXTURE)) ? join(folder, FIXTURE) : resolve(FIXTURE);
    features = (await import(pathToFileURL(join(fixture, 'data/index.ts')).href)).features;
    const createBelfry = join(folder, 'create-belfry');
    const created = await createPackagedApp(sandbox, { name: 'old', example: 'empty', belfry: tarball, createBelfry });
    for (const part of ['src', 'test']) {
      rmSync(join(created.folder, part), { recursive: true });
      cpSync(join(fixture, part), join(created.folder, part), { recursive: true });
    }
    await created.run('npx', ['belfry', 'migration', 'generate', 'init']);
    return created;
  }

  /** Copies the app and installs this version of Belfry in the copy. */
  async function createNewApp(): Promise<PackagedApp> {
    const folder = join(sandbox.folder, 'new');
    cpSync(old.folder, folder, { recursive: true, verbatimSymlinks: true });
    const copy = openApp(sandbox, folder);
    const { belfry, client, pages, verifyWebhook } = await providePackages();
    const packages = [belfry, client, pages, verifyWebhook].map((path) => `./${relative(folder, path)}`);
    await copy.run('npm', ['install', '--no-audit', '--no-fund', ...packages]);
    return copy;
  }

  beforeAll(async () => {
    const outside = await startOutside();
    const database = await createTestDatabase();
    close.push(outside.close, database.drop);
    env = {
      ...database.appVariables,
      REDIS_URL: database.redisUrl,
      REDIS_PREFIX: database.redisPrefix,
      APP_URL: 'http://127.0.0.1',
      // Clients know which processes stop.
      DRAIN_DELAY_MS: '500',
      SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 'upgrade').toString('base64'),
      ...outside.env,
    };

    old = await createOldApp(packRelease(release!));
    await old.run('npx', ['belfry', 'migrate'], env);
    const created = await old.run('npx', ['belfry', 'admin', 'create', '--email', ADMIN_EMAIL], env);
    const admin = { email: ADMIN_EMAIL, password: /Password[^:]*: (\S+)/.exec(created)![1]! };
    const oldDeployment = await old.deploy(env);
    close.push(oldDeployment.stop);
    world = outside.createWorld(oldDeployment.url, admin);
    for (const [name, feature] of Object.entries(features)) facts.set(name, await feature.fill(world));

    app = await createNewApp();
    clients = await startClients(world);
    close.push(clients.stop);
    await clients.moveTo(oldDeployment.url);
    await app.run('npx', ['belfry', 'migrate'], env);
    await clients.moveTo(oldDeployment.url);
    const newDeployment = await app.deploy(env);
    close.push(newDeployment.stop);
    await clients.moveTo(oldDeployment.url, newDeployment.url);
    await clients.moveTo(newDeployment.url);
    exitCodes = await oldDeployment.stop();
    await clients.moveTo(newDeployment.url);
    await clients.stop();
    world = outside.createWorld(newDeployment.url, admin);
  });

  test('no request fails while the database is migrated and the processes are replaced', () => {
    expect(clients.failures).toEqual([]);
    expect(exitCodes).toEqual({ web: 0, relay: 0, 'webhook-worker': 0, 'push-worker': 0 });
  });

  test('every event of that time is delivered', async () => {
    const delivered = () =>
      new Set(
        world.webhooksAt('/hooks/load').map(({ body }) => (JSON.parse(body) as { data: { id: string } }).data.id),
      );
    await vi.waitUntil(() => clients.created.every((id) => delivered().has(id)), { timeout: 60_000 });
  });

  test('the data of every feature is intact, and what the old version issued is accepted', async () => {
    const failed: Record<string, unknown> = {};
    for (const [name, feature] of Object.entries(features))
      await feature.check(world, facts.get(name)).catch((error) => (failed[name] = error));
    expect(failed).toEqual({});
  });

  test('the app compiles with the new version, and needs no migration because of it', async () => {
    const [doctor] = await Promise.all([
      app.run('npx', ['belfry', 'doctor'], { NODE_ENV: 'production', ...env }),
      app.run('npx', ['belfry', 'audit', 'verify'], env),
      app.run('npx', ['belfry', 'migration', 'generate', '--check']),
      app.run('npm', ['run', 'check']),
    ]);
    expect(doctor).toContain('Errors: 0.');
  });

  test("the app's own tests pass with the new version", async () => {
    const { TEST_DATABASE_URL = '', TEST_REDIS_URL = '' } = process.env;
    // The default of 5 s is too short beside the other tests.
    await app.run('npm', ['test', '--', '--test-timeout=120000'], { TEST_DATABASE_URL, TEST_REDIS_URL });
  });

  test('after a rollback, processes of the old version serve requests from the upgraded database', async () => {
    await old.run('npx', ['belfry', 'migrate'], env);
    const { url, stop } = await old.deploy(env);
    close.push(stop);
    expect((await send({ url }, 'GET', '/readyz')).body.status).toBe('ok');
    const articles = await send({ url }, 'GET', '/api/articles?tags=load&limit=1');
    expect(articles.body.meta.total).toBe(clients.created.length);
  });
});
