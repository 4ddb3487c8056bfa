import { type StdioOptions, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { GuardedCommand } from './guard.ts';

/** The guard is TypeScript in a clone of the repository, and JavaScript in the package. */
const GUARD = fileURLToPath(new URL(`guard${extname(import.meta.filename)}`, import.meta.url));

export interface GuardedProcess {
  /** Resolves with the command's exit code when it has ended, for any reason. */
  exited: Promise<number>;
  /** Stops the command and resolves when it is gone. */
  stop(): Promise<void>;
}

/** A guarded process that this process may leave running until its own end. */
interface UnrefableProcess extends GuardedProcess {
  /** Lets this process end while the command runs. The command then stops with this process. */
  unref(): void;
}

/**
 * Starts a command under a guard, so that it never outlives this process. `env` is the command's environment; `output`
 * is a file descriptor for its output, or 'inherit'.
 */
export function runGuarded(
  settings: GuardedCommand,
  env: NodeJS.ProcessEnv,
  output: number | 'inherit',
): UnrefableProcess {
  const stdio: StdioOptions = ['ignore', output, output, 'pipe'];
  const guard = spawn(process.execPath, [GUARD, JSON.stringify(settings)], {
    env,
    stdio,
    // The guard needs a session of its own: Ctrl-C in a terminal must reach this process, which then stops everything in order.
    detached: true,
  });
  const exited = new Promise<number>((resolve, reject) => {
    guard.on('error', reject);
    guard.on('exit', (code) => resolve(code ?? 1));
  });
  const lifeline = guard.stdio[3];
  lifeline?.on('error', () => {});
  return {
    exited,
    async stop() {
      guard.ref();
      lifeline?.destroy();
      await exited;
    },
    unref() {
      guard.unref();
      (lifeline as Socket | null | undefined)?.unref();
    },
  };
}
