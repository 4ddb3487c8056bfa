import { expect, test, vi } from 'vitest';
import { startNode } from '../testing/run-tests.ts';

vi.setConfig({ testTimeout: 240_000 });

const NO_SERVERS = { TEST_DATABASE_URL: undefined, TEST_REDIS_URL: undefined };
const start = (...words: string[]) => startNode(['src/cli/belfry.ts', 'test', ...words], NO_SERVERS);

test('the command gets both servers and the commands of packages, and its exit code is that of belfry test', async () => {
  const script = 'echo $TEST_DATABASE_URL $TEST_REDIS_URL; vitest --version; exit 7';
  const { code, output } = await start('sh', '-c', script).ended;
  expect(output).toMatch(/^postgres:\/\/\S+ redis:\/\/\S+$/m);
  expect(output).toMatch(/^vitest\/\d/m);
  expect(code).toBe(7);
});

test('options after the command are passed on to it, also those that belfry has itself', async () => {
  const script = 'console.log(process.argv.slice(1))';
  const { code, output } = await start('node', '--eval', script, 'a', '--version', '--help', '--app').ended;
  expect(output).toMatch(/^\[ 'a', '--version', '--help', '--app' \]$/m);
  expect(code).toBe(0);
});

test('an unknown command is an error that says how to install it', async () => {
  const { code, output } = await start('no-such-runner').ended;
  expect(output).toContain(
    'no-such-runner: command not found. If it is a package, run: npm install --save-dev no-such-runner',
  );
  expect(code).toBe(127);
});

test('a signal ends the command, then the servers', async () => {
  const script = "trap 'echo stopped; exit 0' TERM; echo $$ $TEST_DATABASE_URL; while :; do sleep 0.1; done";
  const { child, ended, output } = start('sh', '-c', script);
  const [, url] = await vi.waitUntil(() => /^\d+ (postgres:\S+)$/m.exec(output()), { timeout: 120_000 });
  child.kill('SIGTERM');
  const { code } = await ended;
  expect(output()).toContain('stopped');
  expect([0, 143]).toContain(code);
  await vi.waitFor(() => expect(fetch(`http://${new URL(url!).host}`)).rejects.toThrow('fetch failed'));
});
