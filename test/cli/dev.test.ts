import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { isRunning } from '../../src/dev-servers/orphaned-server.ts';
import { createClient } from '../support/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { otherAddress } from '../support/other-address.ts';
import { createAppProject } from '../support/processes/app-project.ts';
import { runCommandsInOneProcess, startCommand } from '../support/processes/command.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());

const APP = `
import { createApp, defineUser, adminConsole } from 'belfry';
export const app = (environment: Record<string, string | undefined>) =>
  createApp({ resources: [defineUser()], extensions: [adminConsole()] }, environment);
`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const project = createAppProject();
project.writeApp(APP);
afterAll(project.remove);

/** Runs `belfry dev` in this file's project until it prints the next steps. It is stopped when the test ends. */
async function startDev(env: Record<string, string>, folder = project.folder) {
  const port = await freePort();
  const services = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: `${database.redisPrefix}-${port}`,
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  };
  const dev = startCommand(folder, 'dev', { ...services, PORT: String(port), ...env });
  onTestFinished(async () => {
    dev.child.kill('SIGTERM');
    await dev.ended;
  });
  const ready = vi.waitUntil(() => dev.out.output.includes('README.md has a quick start'), {
    timeout: 90_000,
    interval: 50,
  });
  await Promise.race([
    ready.catch(() => expect.fail(dev.out.output)),
    dev.ended.then(({ output }) => expect.fail(`it ended: ${output}`)),
  ]);
  return { dev, output: dev.out.output, port };
}

const untilHealthy = (port: number) =>
  vi.waitUntil(async () => (await fetch(`http://localhost:${port}/healthz`).catch(() => undefined))?.ok, {
    timeout: 60_000,
    interval: 50,
  });

/** The distinct statuses of this many requests to a route with a limit of 10 in 15 minutes. */
async function askOften(url: string, times: number): Promise<Set<number>> {
  const call = createClient(url);
  const statuses = new Set<number>();
  for (let i = 0; i < times; i++)
    statuses.add((await call('POST', '/api/auth/password/forgot', { email: `ada${i}@example.com` })).status);
  return statuses;
}

test('belfry dev listens only on this machine, prints its pages, and says that rate limits are lifted here', {
  timeout: 240_000,
}, async () => {
  const { dev, output, port } = await startDev({});
  const url = `http://localhost:${port}`;
  expect(output).toContain(`API reference  ${url}/api/docs`);
  expect(output).toContain(`Console        ${url}/console`);
  expect(output).toContain('Rate limits are off on this machine; LOOPBACK_RATE_LIMITS=on npx belfry dev applies them');
  const page = await fetch(`${url}/console`);
  expect([page.status, page.url]).toEqual([200, `${url}/console/overview`]);
  expect([...(await askOften(url, 12))]).toEqual([202]);
  await expect.poll(() => dev.out.output).toMatch(/^\d\d:\d\d:\d\d POST \/api\/auth\/password\/forgot 202 \d+ ms$/m);
  expect(dev.out.output).not.toMatch(/^\{|\/console\/data \d|healthz/m);
  if (otherAddress !== undefined) await expect(fetch(`http://${otherAddress}:${port}/healthz`)).rejects.toThrow();
});

test('belfry dev with HOST=0.0.0.0 serves other machines, except the console; LOOPBACK_RATE_LIMITS=on keeps the limits, LOG_FORMAT=json the log', {
  timeout: 240_000,
}, async () => {
  const { dev, output, port } = await startDev({ HOST: '0.0.0.0', LOOPBACK_RATE_LIMITS: 'on', LOG_FORMAT: 'json' });
  const url = `http://localhost:${port}`;
  expect(output).toContain('Rate limits apply as in production: LOOPBACK_RATE_LIMITS=on');
  expect([...(await askOften(url, 11))]).toEqual([202, 429]);
  await expect
    .poll(() => dev.out.output)
    .toMatch(/^\{"level":"info","time":"[^"]+","process":"web".*"method":"POST".*"msg":"request"\}$/m);
  expect((await fetch(`${url}/console`)).status).toBe(200);
  if (otherAddress === undefined) return;
  const call = createClient(`http://${otherAddress}:${port}`);
  expect((await call('GET', '/healthz')).status).toBe(200);
  const { status, body } = await call('GET', '/console/push');
  expect([status, body.error.message]).toEqual([403, expect.stringContaining('came from another one')]);
});

test('while belfry dev runs, a saved file restarts it, other commands use its database, and a second one is refused', {
  timeout: 240_000,
}, async () => {
  const { dev, port } = await startDev({});
  const list = startCommand(project.folder, 'admin list').ended;
  const second = startCommand(project.folder, 'dev', { PORT: String(await freePort()) }).ended;
  const [keys, ...migrations] = await runCommandsInOneProcess(
    ['keys status', 'migrate', 'migrate --dry-run', 'migration status'].map((command) => ({
      folder: project.folder,
      command,
    })),
  );
  expect(await list).toEqual({ code: 0, output: 'No users found.' });
  expect(keys).toEqual({ code: 0, output: expect.stringMatching(/^Keys by id:\n.* 1 process encrypts with it/) });
  const refusal = /^belfry dev is running in this folder, .*\nFor another database, set DATABASE_URL/;
  expect(migrations).toEqual(Array(3).fill({ code: 1, output: expect.stringMatching(refusal) }));
  expect(await second).toEqual({
    code: 1,
    output: `belfry dev is already running in this folder: http://localhost:${port} (process ${dev.child.pid}). Press Ctrl-C there first.`,
  });

  project.writeApp(`${APP}\nthrow new Error('half-written');`);
  const printed = (text: string) =>
    vi.waitUntil(() => dev.out.output.includes(text), { timeout: 60_000, interval: 50 });
  await printed('src/app.ts changed, restarting.');
  // SQL of the project, also in a folder that did not exist when the command started.
  mkdirSync(join(project.folder, 'migrations'), { recursive: true });
  writeFileSync(join(project.folder, 'migrations', '0001_note.sql'), 'select 1;');
  await printed('migrations/0001_note.sql changed, restarting.');
  await printed('src/app.ts cannot be loaded:\n  - Error: half-written (src/app.ts:');
  await printed('Waiting for a file change.');
  project.writeApp(APP);
  await untilHealthy(port);

  dev.child.kill('SIGTERM');
  expect((await dev.ended).code).toBe(143);
  expect(readdirSync(join(project.folder, '.data')).filter((name) => name.endsWith('.json'))).toEqual([]);
  expect(await startCommand(project.folder, 'admin list').ended).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^SVC_ENCRYPTION_KEYS is missing/),
  });
});

/** An app with a job that takes until the file `finish` exists, and that does not end when it is told to. */
const BUSY_APP = `
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp, defineUser, defineJob } from 'belfry';
// Complete when it appears, because the test reads it at once.
const note = (name: string) => {
  writeFileSync(name + '.incomplete', String(process.pid));
  renameSync(name + '.incomplete', name);
};
const long = defineJob('long', {
  async run() {
    note('began');
    while (!existsSync('finish')) await sleep(20);
    note('done');
  },
});
export const app = (environment: Record<string, string | undefined>) =>
  createApp({ resources: [defineUser()], jobs: [long] }, environment);
`;

test('a save does not wait for a job that runs: it finishes in the former process. A second Ctrl-C waits for nothing', {
  timeout: 240_000,
}, async () => {
  const busy = createAppProject();
  onTestFinished(busy.remove);
  busy.writeApp(BUSY_APP);
  const { dev, port } = await startDev({ JOB_WORKER: 'on' }, busy.folder);
  const path = (name: string) => join(busy.folder, name);
  const startJob = async () => {
    await startCommand(busy.folder, 'jobs run long').ended;
    await vi.waitUntil(() => existsSync(path('began')), { timeout: 60_000 });
    return readFileSync(path('began'), 'utf8');
  };
  const former = await startJob();
  busy.writeApp(`${BUSY_APP}\n// saved`);
  await vi.waitUntil(() => dev.out.output.includes('The former process finishes its jobs'), { timeout: 60_000 });
  await untilHealthy(port);
  expect(existsSync(path('done'))).toBe(false);
  writeFileSync(path('finish'), '');
  await vi.waitUntil(() => existsSync(path('done')), { timeout: 60_000 });
  expect(readFileSync(path('done'), 'utf8')).toBe(former);

  for (const name of ['began', 'finish', 'done']) rmSync(path(name));
  const current = Number(await startJob());
  expect(current).not.toBe(Number(former));
  dev.child.kill('SIGINT');
  // Long enough that the second request is not taken for a copy of the first.
  await sleep(600);
  expect(dev.child.exitCode).toBe(null);
  dev.child.kill('SIGINT');
  expect((await dev.ended).code).toBe(130);
  await vi.waitUntil(() => !isRunning(current), { timeout: 5000 });
});

test('an app that is killed is reported with the signal, and starts again at the next save', {
  timeout: 240_000,
}, async () => {
  const { dev, port } = await startDev({});
  const [folder] = readdirSync(join(project.folder, '.data', 'web'));
  const [, pid] = readFileSync(join(project.folder, '.data', 'web', folder!, 'guard.pid'), 'utf8').split(' ');
  process.kill(Number(pid), 'SIGKILL');
  const line = 'The app was killed by SIGKILL. Save a file to start it again.';
  await vi.waitUntil(() => dev.out.output.includes(line), { timeout: 60_000 });
  project.writeApp(APP);
  await untilHealthy(port);
});

test('belfry dev reports a port in use, a PORT that is no port, and an unknown LOG_FORMAT', {
  timeout: 240_000,
}, async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  expect(await startCommand(project.folder, 'dev', { PORT: String(port) }).ended).toEqual({
    code: 1,
    output: `Port ${port} is in use. Stop the program that uses it, or choose another port: PORT=5002 npx belfry dev`,
  });
  expect(await startCommand(project.folder, 'dev', { PORT: 'http' }).ended).toEqual({
    code: 1,
    output: 'PORT must be a number from 1 to 65535, not http.',
  });
  expect(await startCommand(project.folder, 'dev', { LOG_FORMAT: 'xml' }).ended).toEqual({
    code: 1,
    output: 'LOG_FORMAT must be json or pretty, not xml.',
  });
});

test('belfry dev reports a HOST that this machine does not have', { timeout: 240_000 }, async () => {
  const dev = startCommand(project.folder, 'dev', { HOST: '203.0.113.9', PORT: String(await freePort()) });
  const { code, output } = await dev.ended;
  expect([code, output]).toEqual([
    1,
    'HOST=203.0.113.9 is not an address of this machine. Try HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.',
  ]);
});
