import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

/** A clone whose packages are not installed, with an npm that runs this script of a shell. */
function createClone(npm: string) {
  const root = mkdtempSync(join(tmpdir(), 'belfry-bootstrap-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  cpSync('scripts/bootstrap.mjs', join(root, 'scripts/bootstrap.mjs'));
  writeFileSync(join(root, 'package-lock.json'), '{"packages":{}}');
  writeFileSync(join(root, 'script.mjs'), 'console.log("ran");');
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(root, 'bin/npm'), `#!/bin/sh\n${npm}\n`);
  chmodSync(join(root, 'bin/npm'), 0o755);
  const path = [join(root, 'bin'), process.env.PATH].join(delimiter);
  const child = spawn(process.execPath, [join(root, 'scripts/bootstrap.mjs'), 'script.mjs'], { env: { PATH: path } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const streams = { output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (streams.output += text));
  const ended = once(child, 'close').then(([code]) => code);
  return { root, child, streams, ended };
}

test('what is missing is installed first, then the script runs', async () => {
  const { root, streams, ended } = createClone('mkdir node_modules; echo "$*" > called');
  expect([await ended, streams.output]).toEqual([0, 'Installing packages: once, about half a minute ...\nran\n']);
  expect(existsSync(join(root, 'called'))).toBe(true);
});

test('a failed installation is reported with the output of npm, and the script does not run', async () => {
  const { streams, ended } = createClone('echo no network >&2; exit 7');
  expect(await ended).toBe(7);
  expect(streams.output).toMatch(/no network\n\nnpm ci failed\. Fix the problem, then run the command again\.\n$/);
});

// npm may end in time without an error.
test.each([
  ['SIGINT', 130, 'exit 1'],
  ['SIGTERM', 143, 'exit 0'],
] as const)('%s during the installation ends npm, and leaves nothing behind', async (signal, code, end) => {
  const wait = 'echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done';
  const { root, child, streams, ended } = createClone(`mkdir node_modules; trap "${end}" INT TERM; ${wait}`);
  await vi.waitUntil(() => existsSync(join(root, 'pid')), { timeout: 60_000 });
  child.kill(signal);
  expect(await ended).toBe(code);
  expect(streams.output).not.toContain('ran');
  expect(() => process.kill(Number(readFileSync(join(root, 'pid'), 'utf8')), 0)).toThrow('ESRCH');
  expect(existsSync(join(root, '.data/installing.pid'))).toBe(false);
});
