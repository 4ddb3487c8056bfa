import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { BARE_ENV } from './app-process.ts';

const COMMAND_LINE = resolve('src/cli/belfry.ts');

/**
 * Runs a command of `belfry` in a process, with only this environment. It is killed when the test ends.
 *
 * @param root the folder of the project
 * @param command for example `keys rotate`
 */
export function startCommand(root: string, command: string, env: Record<string, string> = {}) {
  return startNode(root, [COMMAND_LINE, ...command.split(' ').filter(Boolean)], env);
}

/** Runs a program of Node like `startCommand`. @param args the arguments of `node` */
export function startNode(root: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...BARE_ENV, ...env } });
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

/** Runs a command to its end, with standard output and standard error separate. @param input its standard input */
export async function runCommandProcess(root: string, command: string, env: Record<string, string> = {}, input = '') {
  const { child, ended } = startCommand(root, command, env);
  const streams = { output: '', errorOutput: '' };
  child.stdout.on('data', (text: string) => (streams.output += text));
  child.stderr.on('data', (text: string) => (streams.errorOutput += text));
  child.stdin.end(input);
  const { code } = await ended;
  return { code, output: streams.output.trim(), errorOutput: streams.errorOutput.trim() };
}

/** A command, the folder in which it runs, and its environment. */
interface CommandRun {
  folder: string;
  command: string;
  env?: Record<string, string>;
}

/**
 * Runs commands one after the other in one process, which loads Belfry once. Only for commands that end by themselves and print with
 * `console`: not for `start`, `dev` and `test`.
 */
export async function runCommandsInOneProcess(
  runs: readonly CommandRun[],
): Promise<{ code: number; output: string }[]> {
  const list = runs.map(({ folder, command, env = {} }) => ({ folder, words: command.split(' '), env }));
  const { output } = await startNode('.', [resolve('test/support/processes/command-lines.ts'), JSON.stringify(list)])
    .ended;
  return JSON.parse(output);
}
