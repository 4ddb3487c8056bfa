import { vi } from 'vitest';

/**
 * Runs the work of a script in this process and returns its output.
 *
 * @param work returns whether all of it succeeded; an error that it throws is printed, as in a script
 */
export async function runInProcess(
  work: () => Promise<boolean>,
): Promise<{ code: number; output: string; errorOutput: string }> {
  const [output, errorOutput]: [string[], string[]] = [[], []];
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((line) => void output.push(line)),
    vi.spyOn(console, 'error').mockImplementation((line) => void errorOutput.push(line)),
  ];
  let isDone = false;
  try {
    isDone = await work();
  } catch (error) {
    errorOutput.push((error as Error).message);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return { code: isDone ? 0 : 1, output: output.join('\n').trim(), errorOutput: errorOutput.join('\n').trim() };
}
