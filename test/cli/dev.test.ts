import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
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
async function startDev(env: Record<string, string>) {
  const port = await freePort();
  const services = {
    DATABASE_URL: database.databaseUrl,
    REDIS_URL: database.redisUrl,
    REDIS_PREFIX: `${database.redisPrefix}-${port}`,
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  };
  const dev = startCommand(project.folder, 'dev', { ...services, PORT: String(port), ...env });
  onTestFinished(async () => {
    dev.child.kill('SIGTERM');
    await dev.ended;
  });
  const ready = vi.waitUntil(() => dev.out.output.includes('README.md has a quick start'), {
    timeout: 90_000,
    interval: 50,
  });
  await Promise.race([ready, dev.ended.then(({ output }) => expect.fail(`it ended: ${output}`))]);
  return { dev, output: dev.out.output, port };
}

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
  const { output, port } = await startDev({});
  const url = `http://localhost:${port}`;
  expect(output).toContain(`API reference  ${url}/api/docs`);
  expect(output).toContain(`Console        ${url}/console`);
  expect(output).toContain('LOOPBACK_RATE_LIMITS=off, which belfry dev sets');
  const page = await fetch(`${url}/console`);
  expect([page.status, page.url]).toEqual([200, `${url}/console/data`]);
  expect([...(await askOften(url, 12))]).toEqual([202]);
  if (otherAddress !== undefined) await expect(fetch(`http://${otherAddress}:${port}/healthz`)).rejects.toThrow();
});

test('belfry dev with HOST=0.0.0.0 serves other machines, except the console; LOOPBACK_RATE_LIMITS=on keeps the limits', {
  timeout: 240_000,
}, async () => {
  const { output, port } = await startDev({ HOST: '0.0.0.0', LOOPBACK_RATE_LIMITS: 'on' });
  const url = `http://localhost:${port}`;
  expect(output).toContain('Rate limits apply as in production: LOOPBACK_RATE_LIMITS=on');
  expect([...(await askOften(url, 11))]).toEqual([202, 429]);
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
  await vi.waitUntil(async () => (await fetch(`http://localhost:${port}/healthz`).catch(() => undefined))?.ok, {
    timeout: 60_000,
    interval: 50,
  });

  dev.child.kill('SIGTERM');
  expect((await dev.ended).code).toBe(143);
  expect(readdirSync(join(project.folder, '.data')).filter((name) => name.endsWith('.json'))).toEqual([]);
  expect(await startCommand(project.folder, 'admin list').ended).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^SVC_ENCRYPTION_KEYS is missing/),
  });
});

test('belfry dev reports a port in use, and a PORT that is no port', { timeout: 240_000 }, async () => {
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
});

test('belfry dev reports a HOST that this machine does not have', { timeout: 240_000 }, async () => {
  const dev = startCommand(project.folder, 'dev', { HOST: '203.0.113.9', PORT: String(await freePort()) });
  const { code, output } = await dev.ended;
  expect([code, output]).toEqual([
    1,
    'HOST=203.0.113.9 is not an address of this machine. Try HOST=127.0.0.1, or HOST=0.0.0.0 for all addresses.',
  ]);
});
