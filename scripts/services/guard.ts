// Runs one command for as long as the process that started this one lives: `node guard.ts <settings as JSON>`.
// The lifeline is a pipe on file descriptor 3. However its other end dies, SIGKILL included, the pipe closes; the
// command is then stopped with all that it started, and its throw-away folder removed.
import { spawn } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';

export interface GuardedCommand {
  command: string;
  args: string[];
  cwd?: string;
  argv0?: string;
  uid?: number;
  gid?: number;
  stopSignal: NodeJS.Signals;
  /** How long the command may take to stop before it is killed, in milliseconds. */
  graceMs: number;
  /** A folder that is removed once the command has been stopped (not when it ends by itself: its log is in there). */
  throwAway?: string;
  /** A folder in which `guard.pid` is kept while the command runs: this process's id and the command's. */
  pidIn?: string;
}

if (import.meta.main) {
  const settings: GuardedCommand = JSON.parse(process.argv[2] ?? '{}');
  const { command, args, stopSignal, graceMs, throwAway, pidIn, ...options } = settings;
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'], detached: true });
  let stopping = false;

  const killGroup = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group is gone already.
    }
  };
  const stop = () => {
    if (stopping) return;
    stopping = true;
    child.kill(stopSignal);
    setTimeout(killGroup, graceMs).unref();
  };
  const end = (code: number) => {
    killGroup();
    if (pidIn) rmSync(join(pidIn, 'guard.pid'), { force: true });
    if (throwAway && stopping) rmSync(throwAway, { recursive: true, force: true, maxRetries: 5 });
    process.exit(code);
  };

  if (pidIn) writeFileSync(join(pidIn, 'guard.pid'), `${process.pid} ${child.pid ?? 0}`);
  child.on('error', (error) => {
    console.error(`${command}: ${error.message}`);
    end(127);
  });
  child.on('exit', (code, signal) => end(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  const lifeline = new Socket({ fd: 3 });
  lifeline.on('error', stop).on('close', stop).resume();
}
