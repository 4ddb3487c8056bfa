import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { commandOf, isRunning } from '../services/orphaned-server.ts';

/** A running `npm run dev`. */
export interface Instance {
  pid: number;
  url: string;
}

function read(file: string): Instance | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Claims a lock file for this process. Returns the running instance that holds it, or undefined if this process now holds it.
 * The lock of a dead process is taken over.
 */
export function claim(file: string, instance: Instance): Instance | undefined {
  for (;;) {
    try {
      writeFileSync(file, JSON.stringify(instance), { flag: 'wx' });
      return undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = read(file);
    // The id may belong to another program by now.
    if (holder && isRunning(holder.pid) && commandOf(holder.pid).includes('dev.ts')) return holder;
    rmSync(file, { force: true });
  }
}
