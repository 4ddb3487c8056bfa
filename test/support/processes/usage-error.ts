import { expect } from 'vitest';
import { runCommand } from './in-process.ts';

/**
 * Runs a command that must refuse its arguments, before it opens the app, with exit code 2 and two lines: the error and how to get
 * help. Returns the error.
 */
export async function getUsageError(given: string | readonly string[]): Promise<string> {
  const { code, output, errorOutput } = await runCommand(given);
  const [error, ...rest] = errorOutput.split('\n');
  expect({ code, output, rest }).toEqual({ code: 2, output: '', rest: ['For all commands and options, add --help.'] });
  return error!;
}
