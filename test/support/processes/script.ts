import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BARE_ENV } from './app-process.ts';

/**
 * Runs a script as its npm command does, with only this environment. It is killed when the test ends.
 *
 * @param root the root folder of the project
 * @param command for example `keys.ts rotate`
 */
export function startScript(root: string, command: string, env: Record<string, string> = {}) {
  const [script, ...args] = command.split(' ');
  const child = spawn(process.execPath, [join(root, 'scripts', script!), ...args], { env: { ...BARE_ENV, ...env } });
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

/** Runs a script to its end, with standard output and standard error separate. */
export async function runScript(root: string, command: string, env: Record<string, string> = {}) {
  const { child, ended } = startScript(root, command, env);
  const streams = { output: '', errorOutput: '' };
  child.stdout.on('data', (text: string) => (streams.output += text));
  child.stderr.on('data', (text: string) => (streams.errorOutput += text));
  const { code } = await ended;
  return { code, output: streams.output.trim(), errorOutput: streams.errorOutput.trim() };
}
