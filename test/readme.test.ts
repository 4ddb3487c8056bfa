import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { faultsOf } from './runtime/openapi/validators.ts';
import { createTestDatabase } from './support/database.ts';
import { envOfOneRole, startProcess } from './support/processes.ts';

const root = join(import.meta.dirname, '..');

/** The commands of a chapter of the README, a string per block. */
function commandsOf(chapter: string): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const text = readme.split(`\n## ${chapter}\n`)[1]!.split('\n## ')[0]!;
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!);
}

/** A shell that takes one block of commands after another, as a person types them. */
function openShell(env: Record<string, string>) {
  const shell = spawn('bash', [], { cwd: root, env: { ...process.env, ...env }, stdio: 'pipe' });
  let said = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  let blocks = 0;
  return {
    said: () => said,
    /** Gives what the block printed. */
    async run(block: string): Promise<string> {
      const mark = `done-with-block-${++blocks}`;
      const from = said.length;
      shell.stdin.write(`${block}\necho\necho ${mark}\n`);
      await vi.waitUntil(() => said.includes(`${mark}\n`, from), { timeout: 15_000, interval: 20 });
      return said.slice(from, said.indexOf(mark, from)).trim();
    },
    close: () => shell.stdin.end(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const database = await createTestDatabase();
afterAll(() => database.drop());
const env = { ...envOfOneRole(database), LOG_LEVEL: 'warn' };

// The one test of src/app as it is shipped; whatever a team adds to it does no harm here.
test('src/app runs in its four processes, its document is valid, and the tour works as it is written', {
  timeout: 120_000,
}, async () => {
  const web = startProcess('src/web.ts', env);
  const url = await web.url();
  const workers = ['relay', 'webhook-worker', 'push-worker'].map((name) => startProcess(`workers/${name}.ts`, env));
  const document = await (await fetch(`${url}/api/openapi.json`)).json();
  expect(await faultsOf(document as Record<string, unknown>)).toEqual([]);

  const port = await freePort();
  const shell = openShell({ RECEIVER_PORT: String(port) });
  const here = (block: string) =>
    block.replaceAll('localhost:5001', url.slice('http://'.length)).replaceAll('4000', String(port));
  const [register, login, create, refuse, subscribe, publish, log] = commandsOf('A tour of five minutes').map(here);

  await shell.run(register!);
  expect(await shell.run(login!)).toContain('"email":"ada@example.com"');
  expect(await shell.run(create!)).toMatch(/"title":"Hello, world"[\s\S]*\{"data":\[\],"meta":\{"total":0/);
  const refusals = await shell.run(refuse!);
  expect(refusals).toContain('"titel":"Unknown field"');
  expect(refusals).toContain('Unknown query parameter \\"colour\\"');
  await shell.run(subscribe!);
  expect(await shell.run(publish!)).toContain('"status":"published"');
  await vi.waitUntil(() => /verified msg_\S+: post.updated/.test(shell.said()), { timeout: 15_000, interval: 20 });
  expect(await shell.run(log!)).toContain('"status":"succeeded"');
  shell.close();

  for (const { child } of [web, ...workers]) child.kill('SIGTERM');
  expect(await Promise.all([web, ...workers].map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
});
