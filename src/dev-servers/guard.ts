// Runs a command for as long as the process that started this one lives: `node guard.ts <settings as JSON>`.
// The lifeline is a pipe on file descriptor 3. However the other process dies, even by SIGKILL, the pipe closes. The command
// is then stopped with all of its child processes, and its temporary folder is removed.
import { type StdioOptions, spawn } from 'node:child_process';
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
  /** A folder that is removed once the command has been stopped. It is kept if the command exits by itself, since it contains the log. */
  throwAway?: string;
  /** A folder for `guard.pid`, which contains this process's id and the command's while the command runs. */
  pidIn?: string;
  /** Writes standard error to standard output, so that the lines stay in order. */
  joinsOutput?: boolean;
}

if (import.meta.main) {
  const settings: GuardedCommand = JSON.parse(process.argv[2] ?? '{}');
  const { command, args, stopSignal, graceMs, throwAway, pidIn, joinsOutput, ...options } = settings;
  const stdio: StdioOptions = ['ignore', 'inherit', joinsOutput ? 1 : 'inherit'];
  const child = spawn(command, args, { ...options, stdio, detached: true });
  let stopping = false;

  const killGroup = () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group no longer exists.
    }
  };
  const stop = () => {
    if (stopping) return;
    stopping = true;
    child.kill(stopSignal);
    setTimeout(killGroup, graceMs).unref();
  };
  const removeFilesAndExit = (code: number) => {
    killGroup();
    if (pidIn) rmSync(join(pidIn, 'guard.pid'), { force: true });
    if (throwAway && stopping) rmSync(throwAway, { recursive: true, force: true, maxRetries: 5 });
    process.exit(code);
  };

  if (pidIn) writeFileSync(join(pidIn, 'guard.pid'), `${process.pid} ${child.pid ?? 0}`);
  child.on('error', (error) => {
    console.error(`${command}: ${error.message}`);
    removeFilesAndExit(127);
  });
  child.on('exit', (code, signal) => removeFilesAndExit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  process.on('SIGQUIT', killGroup);
  const lifeline = new Socket({ fd: 3 });
  lifeline.on('error', stop).on('close', stop).resume();
}
