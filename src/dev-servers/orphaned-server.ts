import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns whether a process with this id exists. */
export function isRunning(pid: number): boolean {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns the command line of a process, or an empty text if it does not exist. */
export function readCommandLine(pid: number): string {
  const fromKernel = `/proc/${pid}/cmdline`;
  if (existsSync('/proc/self/cmdline')) return existsSync(fromKernel) ? readFileSync(fromKernel, 'utf8') : '';
  return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout ?? '';
}

/** Waits until the process is gone. Returns false if it still runs after `ms` milliseconds. */
async function waitForExit(pid: number, ms: number): Promise<boolean> {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) if (!isRunning(pid)) return true;
  return !isRunning(pid);
}

/**
 * Stops a server that still runs in this folder although the command that started it was killed. Usually its guard is already
 * stopping it, so this only waits. If the guard was killed too, this stops the server.
 */
export async function stopOrphanedServer(folder: string): Promise<void> {
  const file = join(folder, 'guard.pid');
  if (!existsSync(file)) return;
  const [guard = 0, server = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
  // Process ids are reused: never signal a process that is not the server.
  if (/guard\.[jt]s/.test(readCommandLine(guard))) await waitForExit(guard, 15_000);
  if (isRunning(server) && /postgres|redis|valkey|start.web/s.test(readCommandLine(server))) {
    process.kill(server, 'SIGINT');
    if (!(await waitForExit(server, 10_000))) process.kill(-server, 'SIGKILL');
    await waitForExit(server, 5_000);
  }
  rmSync(file, { force: true });
}
