import { vi } from 'vitest';

/**
 * Does in this process what a script does, and gives what it printed.
 *
 * @param work gives whether all was done; what it throws is printed, as a script does
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
