import { expect, test } from 'vitest';
import { runGuarded } from '../../src/dev-servers/run-guarded.ts';

const run = (script: string, graceMs = 60_000) =>
  runGuarded(
    { command: process.execPath, args: ['-e', script], stopSignal: 'SIGTERM', graceMs },
    { PATH: process.env.PATH },
    'pipe',
  );

// A hundred lines fit into the buffer of the socket. Beyond it, Node keeps what is left of each stream apart.
test('what a command prints on both streams arrives in order, and before its end', async () => {
  const script = 'for (let i = 0; i < 100; i++) console[i % 2 ? "error" : "log"]("line " + i); process.exitCode = 4';
  const { output, exited } = run(script);
  let printed = '';
  output!.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  expect(await exited).toBe(4);
  expect(printed).toBe(Array.from({ length: 100 }, (_, i) => `line ${i}\n`).join(''));
});

test('a command that keeps working when it is told to stop can be killed', async () => {
  const { output, exited, stop, kill } = run(
    'process.on("SIGTERM", () => console.log("working")); setInterval(() => {}, 1000); console.log("ready")',
  );
  const waitFor = (text: string) =>
    new Promise<void>((done) => output!.on('data', (data) => String(data).includes(text) && done()));
  await waitFor('ready');
  const stopped = stop();
  await waitFor('working');
  kill();
  await stopped;
  expect(await exited).toBe(137);
});
