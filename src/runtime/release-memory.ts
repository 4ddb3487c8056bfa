import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Gives memory back to the system. Loading modules and compiling declarations leaves some 100 MB of garbage, and V8 keeps the
 * room for it as long as a process has nothing to do; takes about 100 ms, so it is for the end of a start.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  // Only a new context gets the function that the flag exposes; `last-resort` frees the room too, not only the garbage.
  const collect = runInNewContext('gc') as (options: { type: string; flavor: string }) => void;
  collect({ type: 'major', flavor: 'last-resort' });
  setFlagsFromString('--no-expose-gc');
}
