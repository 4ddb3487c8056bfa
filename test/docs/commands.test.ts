import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineUser, type Resource } from '../../src/index.ts';
import { blog } from '../fixtures/blog/app.ts';
import { startTestApp } from '../support/app.ts';
import { createTestDatabase } from '../support/database/test-database.ts';
import { BLOG, createAppProject } from '../support/processes/app-project.ts';
import { startCommand } from '../support/processes/command.ts';

// A test starts several processes, which takes long on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const root = join(import.meta.dirname, '..', '..');
const { person, url } = await startTestApp(blog, { roles: 'all' });

const textOf = (page: string) => readFileSync(join(root, 'docs', page), 'utf8');

/** Runs the shell commands of a page, or of a part of it, for an app at an address. */
async function runCommands(
  page: string,
  url: string,
  variables: Record<string, string>,
  text = textOf(page),
): Promise<string> {
  const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!).join('\n');
  const script = commands.replaceAll('localhost:5001', url.replace('http://', ''));
  const env = { PATH: process.env.PATH, ...variables };
  return (await promisify(execFile)('bash', ['-e', '-c', script], { env })).stdout;
}

test('the commands in docs/build/http.md return what the page says', async () => {
  const ada = await person('Ada');
  const made = await ada.call('POST', '/api/posts', { title: 'Hello' });
  const stdout = await runCommands('build/http.md', url, { TOKEN: ada.token, POST: made.body.data.id });
  expect([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual([
    ...['200', '200', '200', '204'],
    '304',
    '200',
    '412',
    '201',
    '201',
  ]);
  expect(stdout.match(/^idempotency-replayed: true/gim)).toHaveLength(1);
});

test('the first webhook of docs/send/webhooks.md arrives at the receiver of the page', async () => {
  const section = textOf('send/webhooks.md').split('## Send your first webhook')[1]!.split('\n## ')[0]!;
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // The server of the test, because the secret, which the receiver needs at its start, is only known once the endpoint has a URL.
  let onWebhook: RequestListener = (_, res) => void res.writeHead(503).end();
  const server = createServer((req, res) => onWebhook(req, res)).listen(0);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [create, send] = section.match(/```sh\n[\s\S]*?```/g)!;
  const { token } = await person('Ada');
  const printSecret = create!.replace('4000', String(port)).replace(/```$/, 'printenv WEBHOOK_SECRET\n```');
  const secret = await runCommands('send/webhooks.md', url, { TOKEN: token }, printSecret);
  vi.stubEnv('WEBHOOK_SECRET', secret.trim());
  onTestFinished(() => void vi.unstubAllEnvs());

  const receiver = section
    .match(/```ts\n([\s\S]*?)```/)![1]!
    .replace('createServer(onWebhook).listen(4000);', 'export { onWebhook };');
  writeFileSync(join(folder, 'receiver.ts'), receiver);
  const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
  onTestFinished(() => log.mockRestore());
  ({ onWebhook } = (await import(join(folder, 'receiver.ts'))) as { onWebhook: RequestListener });
  await runCommands('send/webhooks.md', url, { TOKEN: token }, send!.replace('node receiver.ts &\n', ''));
  await expect
    .poll(() => log.mock.calls, { timeout: 60_000 })
    .toContainEqual(['post.created', expect.objectContaining({ title: 'Hello' })]);
});

/** Imports the TypeScript blocks of a text, in order. */
async function importExamples(text: string): Promise<Record<string, Resource>[]> {
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1]!);
  return Promise.all(
    examples.map((example, i) => {
      writeFileSync(join(folder, `${i}.ts`), example.replace("'belfry'", "'../../src/index.ts'"));
      return import(join(folder, `${i}.ts`));
    }),
  );
}

test('the custom routes in docs/build/resources.md return what the page says', async () => {
  const [{ ticket }] = (await importExamples(textOf('build/resources.md').split('## Routes of your own')[1]!)) as [
    { ticket: Resource },
  ];
  const { person, url } = await startTestApp({ resources: [defineUser(), ticket] }, { roles: 'all' });
  const ada = await person('Ada');
  const stdout = await runCommands('build/resources.md', url, { TOKEN: ada.token });
  expect([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '204']);
  expect(stdout).toContain('"state":"closed"');
  expect((await ada.call('GET', '/api/tickets')).body.data).toEqual([]);
});

test('the deprecated routes and fields in docs/operate/upgrading.md announce what the page says', async () => {
  const section = textOf('operate/upgrading.md').split('## Deprecate your own routes and fields')[1]!;
  const [{ article }, { ticket }] = (await importExamples(section)) as [{ article: Resource }, { ticket: Resource }];
  const { person, url } = await startTestApp({ resources: [defineUser(), article, ticket] }, { roles: 'all' });
  const ada = await person('Ada');
  const stdout = await runCommands('operate/upgrading.md', url, { TOKEN: ada.token }, section);
  const responses = stdout.split(/(?=HTTP\/1\.1 )/);
  const announced = responses.map((response) => response.match(/^(deprecation|sunset|link): .*$/gim) ?? []);
  const since = 'Deprecation: @1793491200';
  expect(section).toContain(`The first two responses have \`${since}\``);
  expect(responses.map((response) => response.split(' ')[1])).toEqual(['201', '200', '200', '200']);
  expect(announced.slice(0, 3)).toEqual([[since], [since], []]);
  const documented = /```http\n([\s\S]*?)\n```/.exec(section)![1]!.split('\n');
  const withoutId = (line: string) => line.replace(/(?<=tickets\/)[^>]+/, '…');
  expect(announced[3]!.map(withoutId)).toEqual(documented.map(withoutId));
  const metrics = new Set(section.match(/belfry_[a-z_]+/g));
  expect([...metrics]).toEqual(['belfry_deprecated_requests_total']);
});

test('the commands of an upgrade in docs/operate/upgrading.md succeed, in their order', async () => {
  const section = textOf('operate/upgrading.md').split('## Upgrade to a new version')[1]!.split('\n## ')[0]!;
  const [block] = /(?<=```sh\n)[\s\S]*?(?=```)/.exec(section)!;
  const [install, ...commands] = block.trim().split('\n');
  expect(install).toBe('npm install belfry@latest');
  const database = await createTestDatabase();
  const project = createAppProject();
  onTestFinished(async () => {
    project.remove();
    await database.drop();
  });
  project.writeApp(BLOG);
  const variables = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: database.redisUrl };
  const run = (command: string) => startCommand(project.folder, command, variables).ended;
  expect((await run('migration generate init')).code).toBe(0);
  const outputs: string[] = [];
  for (const command of commands) {
    const { code, output } = await run(command.replace(/^npx belfry /, ''));
    expect([command, code, code === 0 ? '' : output]).toEqual([command, 0, '']);
    outputs.push(output);
  }
  expect(outputs[0]).toMatch(/create table/i);
  expect(outputs[1]).toMatch(/belfry\/0\d+_\w+ applied/);
  expect(outputs[2]).toMatch(/^ok\s+Belfry \d/);
});
