import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { readReceiverArguments } from '../../scripts/receiver.ts';
import { startNode } from '../support/processes/command.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

/** Runs a script of the repository in a process. */
const startScript = (command: string, env?: Record<string, string>) =>
  startNode('.', `scripts/${command}`.split(' '), env);

test.each([
  ['demo/demo.ts fast', 'Unknown argument fast. npm run demo takes no arguments.'],
  ['receiver.ts', 'The secret of the endpoint is missing. Usage: npm run receiver -- whsec_…'],
])('%s is refused with one line', async (command, line) => {
  expect(await startScript(command).ended).toEqual({ code: 1, output: line });
});

test.each<[string[], string | undefined, string]>([
  [[SECRET, '4001'], undefined, 'Unknown argument 4001. Usage: npm run receiver -- whsec_…'],
  [['whsec_!'], undefined, 'Invalid secret: it must be whsec_ followed by base64.'],
  [[SECRET.slice(6)], undefined, 'Invalid secret: it must be whsec_ followed by base64.'],
  ...['x', '70000', '-1', '80.5'].map((port): [string[], string, string] => [
    [SECRET],
    port,
    `RECEIVER_PORT must be a number from 0 to 65535, not ${port}.`,
  ]),
])('the receiver refuses %j with RECEIVER_PORT=%s', (given, port, line) => {
  expect(() => readReceiverArguments(given, port)).toThrow(new Error(line));
});

test('the receiver reports a port in use, and does not use the port of web', async () => {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const { ended } = startScript(`receiver.ts ${SECRET}`, { RECEIVER_PORT: String(port), PORT: '0' });
  expect(await ended).toEqual({ code: 1, output: `Port ${port} is in use. Choose another with RECEIVER_PORT.` });
  server.close();
});

test('the receiver responds to a GET without printing it; it prints that it refuses a POST without a signature', async () => {
  const { out } = startScript(`receiver.ts ${SECRET}`, { RECEIVER_PORT: '0' });
  const url = await vi.waitUntil(() => /http:\S+/.exec(out.output)?.[0], { timeout: 60_000 });
  expect((await fetch(url)).status).toBe(200);
  expect(out.output).not.toContain('refused');
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  await vi.waitUntil(() => out.output.includes('refused: The header webhook-id is missing'), { timeout: 60_000 });
});
