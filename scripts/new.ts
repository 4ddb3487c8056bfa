// `npm run new -- <folder> [options]`: packs Belfry from this clone, and creates an app that depends on the result.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packOnce } from './package/packed.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const createBelfry = join(root, 'create-belfry/bin/create-belfry.js');

/** Returns the Node and the PATH of the terminal, without the packaged Node of this clone: the app must work in the same terminal. */
function findTerminalNode(): { node: string; path: string } {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== dirname(process.execPath));
  return { node: process.env.npm_node_execpath || process.execPath, path: path.join(delimiter) };
}

/** Does a step, and says so with its seconds. */
function step<T>(name: string, work: () => T): T {
  process.stdout.write(`${name} ... `);
  const begin = performance.now();
  const result = work();
  console.log(`${((performance.now() - begin) / 1000).toFixed(1)} s`);
  return result;
}

/** Creates the app. Returns the exit code. */
async function create(belfry: string): Promise<number> {
  const { node, path } = findTerminalNode();
  const args = [createBelfry, ...process.argv.slice(2), '--belfry', belfry];
  // Relative folders are those of the terminal.
  const cwd = process.env.INIT_CWD || root;
  const child = spawn(node, args, { cwd, env: { ...process.env, PATH: path }, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  await once(child, 'exit');
  return child.exitCode ?? 128 + constants.signals[child.signalCode!];
}

try {
  process.exitCode = await create(packOnce(step));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
