import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { defineUser, type Resource } from '../../src/index.ts';
import { blog } from '../fixtures/blog/app.ts';
import { startTestApp } from '../support/app.ts';

const root = join(import.meta.dirname, '..', '..');
const { person, url } = await startTestApp(blog);

/** Runs the shell commands of a page, for an app at an address. */
async function runCommands(page: string, url: string, variables: Record<string, string>): Promise<string> {
  const text = readFileSync(join(root, 'docs', page), 'utf8');
  const commands = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!).join('\n');
  const script = commands.replaceAll('localhost:5001', url.replace('http://', ''));
  const env = { PATH: process.env.PATH, ...variables };
  return (await promisify(execFile)('bash', ['-e', '-c', script], { env })).stdout;
}

test('the commands in docs/http.md return what the page says', async () => {
  const ada = await person('Ada');
  const made = await ada.call('POST', '/api/posts', { title: 'Hello' });
  const stdout = await runCommands('http.md', url, { TOKEN: ada.token, POST: made.body.data.id });
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

test('the custom routes in docs/resources.md return what the page says', async () => {
  const page = readFileSync(join(root, 'docs', 'resources.md'), 'utf8').split('## Routes of your own')[1]!;
  const example = /```ts\n([\s\S]*?)```/.exec(page)![1]!;
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'ticket.ts'), example.replace("'belfry'", "'../../src/index.ts'"));
  const { ticket } = (await import(join(folder, 'ticket.ts'))) as { ticket: Resource };
  const { person, url } = await startTestApp({ resources: [defineUser(), ticket] });
  const ada = await person('Ada');
  const stdout = await runCommands('resources.md', url, { TOKEN: ada.token });
  expect([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(['200', '204']);
  expect(stdout).toContain('"state":"closed"');
  expect((await ada.call('GET', '/api/tickets')).body.data).toEqual([]);
});
