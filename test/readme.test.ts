import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../src/index.ts';
import { faultsOf } from './runtime/openapi/validators.ts';
import { startTestApp } from './support/app.ts';
import { createTestDatabase } from './support/database/test-database.ts';
import { type AppProcess, createRoleEnv, startBlog, startProcess } from './support/processes/app-process.ts';
import { openShell } from './support/processes/shell.ts';

const root = join(import.meta.dirname, '..');

/** The code blocks of a section of the README. */
function blocksOf(section: string, language: 'sh' | 'ts'): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const text = readme.split(`\n## ${section}\n`)[1]!.split('\n## ')[0]!;
  return [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)].flatMap(([, name, block]) => (name === language ? block! : []));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The files of the resources in a folder, with their content but without imports of the public API, whose paths differ. */
function resourcesIn(folder: string): Record<string, string> {
  const path = join(root, folder, 'resources');
  if (!existsSync(path)) return {};
  const text = (name: string) =>
    readFileSync(join(path, name), 'utf8').replaceAll(/ from '[./]+(src\/)?index\.ts';/g, '');
  return Object.fromEntries(
    readdirSync(path)
      .sort()
      .map((name) => [name, text(name)]),
  );
}

// Runs only with the original src/app: a team replaces its resources, and then the quick start no longer fits them.
const isSample = isDeepStrictEqual(resourcesIn('src/app'), resourcesIn('test/fixtures/blog'));

const ROLES = ['web', 'relay', 'webhook-worker', 'push-worker', 'job-worker'] as const;

/** Runs five processes with their own database until `use` ends, and returns their exit codes. */
async function withProcesses(
  start: (role: (typeof ROLES)[number], env: Record<string, string>) => AppProcess,
  use: (url: string) => Promise<void>,
): Promise<(number | string)[]> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const env = { ...createRoleEnv(database), LOG_LEVEL: 'info' };
  const web = start('web', env);
  // In development web creates the tables; the others need them.
  const url = await web.url();
  const processes = [web, ...ROLES.slice(1).map((role) => start(role, env))];
  const run = () => processes.every((one) => one.output().includes('with the roles'));
  await vi.waitUntil(run, { timeout: 60_000, interval: 50 });
  await use(url);
  for (const { child } of processes) child.kill('SIGTERM');
  return Promise.all(processes.map(({ ended }) => ended));
}

const startSrcApp = (role: (typeof ROLES)[number], env: Record<string, string>) =>
  startProcess(role === 'web' ? 'src/web.ts' : `workers/${role}.ts`, env);

const SUBSCRIBE = `
  SECRET=$(curl -s localhost:5001/api/webhooks -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
    -d '{"url":"http://localhost:4000/","events":["post.*"]}' | sed 's/.*"secret":"\\([^"]*\\)".*/\\1/')
  npm run receiver -- "$SECRET" &
  curl -s --retry 20 --retry-connrefused -o /dev/null localhost:4000`;
const PUBLISH = `
  POST=$(curl -s localhost:5001/api/posts -H "authorization: Bearer $TOKEN" | sed 's/{"data":\\[{"id":"\\([^"]*\\)".*/\\1/')
  curl -s -X POST localhost:5001/api/posts/$POST/publish -H "authorization: Bearer $TOKEN"`;

/** Runs the quick start of the README in a shell, for an app at an address. Then a receiver verifies a webhook of it. */
async function takeTour(url: string): Promise<void> {
  const port = await freePort();
  const shell = openShell({ cwd: root, env: { ...process.env, RECEIVER_PORT: String(port) } });
  const here = (block: string) =>
    block.replaceAll('localhost:5001', url.slice('http://'.length)).replaceAll('4000', String(port));
  const [start, runTests, createPost] = blocksOf('Quick start', 'sh').map(here);

  // The app at `url` runs instead. Its tests: test/package/lifecycle.test.ts.
  expect(start).toBe('npm run new -- ../my-app && cd ../my-app && npm run dev\n');
  expect(runTests).toBe('npm test\n');
  expect(await shell.run(createPost!)).toMatch(
    /\{"data":\{[^}]*"title":"Hello, world"[\s\S]*\{"data":\[\{[\s\S]*\{"data":\[\],"meta":\{"total":0/,
  );
  await shell.run(here(SUBSCRIBE));
  expect(await shell.run(here(PUBLISH))).toContain('"status":"published"');
  await vi.waitUntil(() => /verified msg_\S+: post.updated/.test(shell.output()), { timeout: 60_000, interval: 20 });
  await shell.run('kill %1');
  shell.close();
}

test('src/app runs as five processes and stops cleanly, its document is valid, and the commands of the README work as written', {
  timeout: 480_000,
}, async () => {
  const codes = await withProcesses(startSrcApp, async (url) => {
    const response = await fetch(`${url}/api/openapi.json`);
    // The app may have turned the document off.
    if (response.status !== 404) expect(await faultsOf((await response.json()) as Record<string, unknown>)).toEqual([]);
    if (isSample) await takeTour(url);
  });
  expect(codes).toEqual([0, 0, 0, 0, 0]);
  if (!isSample) expect(await withProcesses(startBlog, takeTour)).toEqual([0, 0, 0, 0, 0]);
});

test('the first resource of the README has the routes, queries and access rules that its table lists', async () => {
  const source = /export const task = ([\s\S]*)$/.exec(blocksOf('Declare a resource', 'ts')[0]!)![1]!;
  const declare = new Function('defineResource', 'f', `return ${source}`);
  const task = declare(defineResource, f) as ReturnType<typeof defineResource>;
  const { call, person } = await startTestApp({ resources: [defineUser(), task] }, { roles: 'all' });
  const [owner, other, admin] = [await person('Ann'), await person('Ben'), await person('Cay', ['user', 'admin'])];

  const created = await owner.call('POST', '/api/tasks', { title: 'text', due: '2029-01-01', notes: 'private' });
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  const query = '/api/tasks?done=false&due[lt]=2030-01-01&sort=-due&q=text&limit=50';
  const listed = async ({ call }: typeof owner) => (await call('GET', query)).body.data;
  expect(await listed(owner)).toMatchObject([{ id, notes: 'private' }]);
  expect(await listed(other)).toEqual([]);
  expect(await listed(admin)).toMatchObject([{ id }]);
  expect((await listed(admin))[0]).not.toHaveProperty('notes');

  expect((await call('GET', `/api/tasks/${id}`)).status).toBe(401);
  expect((await other.call('PATCH', `/api/tasks/${id}`, { done: true })).status).toBe(404);
  expect((await admin.call('PATCH', `/api/tasks/${id}`, { done: true })).status).toBe(200);
  expect((await owner.call('DELETE', `/api/tasks/${id}`)).status).toBe(204);
});
