import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process with this id exists. */
export function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The command line of a process, empty when there is none. */
export function commandOf(pid: number): string {
  const fromKernel = `/proc/${pid}/cmdline`;
  if (existsSync('/proc/self/cmdline')) return existsSync(fromKernel) ? readFileSync(fromKernel, 'utf8') : '';
  return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout ?? '';
}

/** Waits until the process is gone; false when it still runs after `ms` milliseconds. */
async function gone(pid: number, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) if (!isRunning(pid)) return true;
  return !isRunning(pid);
}

/**
 * Stops a server that still runs in this folder although the command that started it was killed. Usually its guard is
 * just doing so, and this only waits for it; when the guard was killed too, it stops the server itself.
 */
export async function stopOrphanedServer(folder: string): Promise<void> {
  const file = join(folder, 'guard.pid');
  if (!existsSync(file)) return;
  const [guard = 0, server = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
  // Process ids are used again: never signal one that has become something else.
  if (commandOf(guard).includes('guard.ts')) await gone(guard, 15_000);
  if (isRunning(server) && /postgres|redis|valkey|web\.ts/.test(commandOf(server))) {
    process.kill(server, 'SIGINT');
    if (!(await gone(server, 10_000))) process.kill(-server, 'SIGKILL');
    await gone(server, 5_000);
  }
  rmSync(file, { force: true });
}
