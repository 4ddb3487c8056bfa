import { spawn } from 'node:child_process';
import { onTestFinished, vi } from 'vitest';

interface ShellOptions {
  /** The working directory. */
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** Opens a shell that runs one block of commands after another, as if typed. It is killed, with its commands, when the test ends. */
export function openShell({ cwd, env }: ShellOptions) {
  // In a group of its own, with the programs that it runs in the background.
  const shell = spawn('bash', [], { cwd, env, stdio: 'pipe', detached: true });
  onTestFinished(() => {
    try {
      process.kill(-shell.pid!, 'SIGKILL');
    } catch (error) {
      // The group has ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let blocks = 0;
  return {
    output: () => output,
    /** Returns the output of the block. */
    async run(block: string): Promise<string> {
      const mark = `done-with-block-${++blocks}`;
      const from = output.length;
      shell.stdin.write(`${block}\necho\necho ${mark}\n`);
      await vi.waitUntil(() => output.includes(`${mark}\n`, from), { timeout: 180_000, interval: 20 });
      return output.slice(from, output.indexOf(mark, from)).trim();
    },
    close: () => shell.stdin.end(),
  };
}
