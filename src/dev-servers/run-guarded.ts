import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep, setImmediate as yieldToReads } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { GuardedCommand } from './guard.ts';

/** The guard is TypeScript in a clone of the repository, and JavaScript in the package. */
const GUARD = fileURLToPath(new URL(`guard${extname(import.meta.filename)}`, import.meta.url));

export interface GuardedProcess {
  /** Resolves with the command's exit code when it has ended, for any reason. */
  exited: Promise<number>;
  /** Stops the command and resolves when it is gone. */
  stop(): Promise<void>;
  /** Kills the command with all of its child processes, also if it is stopping. */
  kill(): void;
}

/** What the last output of an ended command may need to arrive; its child processes can keep it open. */
const LAST_OUTPUT_MS = 200;

/** A guarded process that this process may leave running until its own end. */
interface StartedProcess extends GuardedProcess {
  /** Standard output and standard error together; undefined unless `output` is 'pipe'. */
  output: Readable | undefined;
  /** Lets this process end while the command runs. The command then stops with this process. */
  unref(): void;
}

/**
 * Starts a command under a guard, so that it never outlives this process. `env` is the command's environment; `output`
 * is a file descriptor for its output, 'inherit', or 'pipe'.
 */
export function runGuarded(
  settings: GuardedCommand,
  env: NodeJS.ProcessEnv,
  output: number | 'inherit' | 'pipe',
): StartedProcess {
  const isPiped = output === 'pipe';
  const stdio: StdioOptions = ['ignore', output, isPiped ? 'inherit' : output, 'pipe'];
  const guard = spawn(process.execPath, [GUARD, JSON.stringify({ ...settings, joinsOutput: isPiped })], {
    env,
    stdio,
    // The guard needs a session of its own: Ctrl-C in a terminal must reach this process, which then stops everything in order.
    detached: true,
  });
  const exited = new Promise<number>((resolve, reject) => {
    guard.on('error', reject);
    guard.on('exit', async (code) => {
      if (guard.stdout?.closed === false) await Promise.race([once(guard.stdout, 'close'), sleep(LAST_OUTPUT_MS)]);
      // After a pause of this process, the time is over before it has read what has arrived.
      await yieldToReads();
      resolve(code ?? 1);
    });
  });
  const lifeline = guard.stdio[3];
  lifeline?.on('error', () => {});
  return {
    exited,
    output: guard.stdout ?? undefined,
    async stop() {
      guard.ref();
      lifeline?.destroy();
      await exited;
    },
    kill() {
      guard.kill('SIGQUIT');
    },
    unref() {
      guard.unref();
      (lifeline as Socket | null | undefined)?.unref();
    },
  };
}
