import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BARE_ENV } from './app-process.ts';

/**
 * Runs a command of `belfry` in a process, with only this environment. It is killed when the test ends.
 *
 * @param root the root folder of the project
 * @param command for example `keys rotate`
 */
export function startCommand(root: string, command: string, env: Record<string, string> = {}) {
  const args = command.split(' ').filter(Boolean);
  const child = spawn(process.execPath, [join(root, 'src/cli/belfry.ts'), ...args], {
    cwd: root,
    env: { ...BARE_ENV, ...env },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const streams = { output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (streams.output += text));
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code ?? signal,
    output: streams.output.trim(),
  }));
  return { child, out: streams, ended };
}

/** Runs a command to its end, with standard output and standard error separate. */
export async function runCommandProcess(root: string, command: string, env: Record<string, string> = {}) {
  const { child, ended } = startCommand(root, command, env);
  const streams = { output: '', errorOutput: '' };
  child.stdout.on('data', (text: string) => (streams.output += text));
  child.stderr.on('data', (text: string) => (streams.errorOutput += text));
  const { code } = await ended;
  return { code, output: streams.output.trim(), errorOutput: streams.errorOutput.trim() };
}
