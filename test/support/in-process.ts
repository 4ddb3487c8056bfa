import { vi } from 'vitest';

/**
 * Runs the work of a script in this process and returns its output.
 *
 * @param work returns whether all of it succeeded; an error that it throws is printed, as in a script
 */
export async function inProcess(work: () => Promise<boolean>): Promise<{ code: number; said: string; wrong: string }> {
  const [said, wrong]: [string[], string[]] = [[], []];
  const spies = [
    vi.spyOn(console, 'log').mockImplementation((line) => void said.push(line)),
    vi.spyOn(console, 'error').mockImplementation((line) => void wrong.push(line)),
  ];
  let isDone = false;
  try {
    isDone = await work();
  } catch (error) {
    wrong.push((error as Error).message);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return { code: isDone ? 0 : 1, said: said.join('\n').trim(), wrong: wrong.join('\n').trim() };
}
