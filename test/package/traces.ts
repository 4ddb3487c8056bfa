import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Process {
  pid: number;
  parent: number;
  /** The command line. On Linux also the working directory and the environment. */
  description: string;
}

function readProcess(pid: number): Process[] {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8').replaceAll('\0', ' ');
  try {
    // The name in parentheses, before the state and the parent, may contain anything.
    const [state, parent] = read('stat')
      .replace(/^.*\) /s, '')
      .split(' ');
    if (state === 'Z') return [];
    const description = [read('cmdline'), readlinkSync(`/proc/${pid}/cwd`), read('environ')].join('\n');
    return [{ pid, parent: Number(parent), description }];
  } catch {
    // It has ended, or belongs to another user.
    return [];
  }
}

function listProcesses(): Process[] {
  if (existsSync('/proc/self/stat')) {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProcess(Number(name)));
  }
  const { stdout } = spawnSync('ps', ['-axwwo', 'pid=,ppid=,command='], { encoding: 'utf8' });
  return [...stdout.matchAll(/^ *(\d+) +(\d+) (.*)$/gm)].map(([, pid, parent, description]) => ({
    pid: Number(pid),
    parent: Number(parent),
    description: description!,
  }));
}

/** Returns the ids of the processes below a process, at any depth. */
export function listDescendants(pid: number): number[] {
  const processes = listProcesses();
  const found = [pid];
  // Grows while it is read.
  for (const parent of found) found.push(...processes.filter((one) => one.parent === parent).map((one) => one.pid));
  return found.slice(1);
}

/** Returns the command lines of the processes that run a program in a folder, work in it, or have it in their environment. */
export function findProcesses(folder: string): string[] {
  return listProcesses()
    .filter(({ description }) => description.includes(folder))
    .map(({ pid, description }) => `${pid}: ${description.split('\n')[0]}`);
}

/** Returns the paths of all files in a folder, relative to it. */
export function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory())
    .sort();
}

/** Returns the data folders of Postgres among the machine's temporary files that binaries in a folder made. */
export function findPostgresData(folder: string): string[] {
  return [...new Set(['/dev/shm', '/tmp', '/var/tmp', tmpdir()])]
    .flatMap((place) => globSync('belfry-*/data/postmaster.opts', { cwd: place }).map((name) => join(place, name)))
    .filter((file) => readFileSync(file, 'utf8').includes(folder));
}
