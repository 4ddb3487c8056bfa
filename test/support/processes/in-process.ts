import { vi } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { AppOpener, OpenedApp } from '../../../src/cli/project/project.ts';

/**
 * Runs a command of `belfry` in this process and returns its output.
 *
 * @param given the words after `belfry`, separated by spaces or as a list
 * @param app the app that the command works on, which stays open, or a function that opens one; default: none, as in an empty folder
 */
export async function runCommand(
  given: string | readonly string[],
  app?: unknown,
): Promise<{ code: number; output: string; errorOutput: string }> {
  const [output, errorOutput]: [string[], string[]] = [[], []];
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((line) => void output.push(line)),
    vi.spyOn(console, 'error').mockImplementation((line) => void errorOutput.push(line)),
  ];
  const open: AppOpener = async () => {
    if (app === undefined) throw new Error('This test has no app.');
    const opened = typeof app === 'function' ? await app() : app;
    return { ...opened, [Symbol.asyncDispose]: async () => {} } as OpenedApp;
  };
  try {
    const words = typeof given === 'string' ? given.split(' ').filter(Boolean) : given;
    const code = await runCommandLine(words, open);
    return { code, output: output.join('\n').trim(), errorOutput: errorOutput.join('\n').trim() };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
