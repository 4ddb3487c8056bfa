// `npm run new -- <folder> [options]`: packs Belfry from this clone, and creates an app that depends on the result.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './package/build.ts';
import { packAll } from './package/pack.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const createBelfry = join(root, 'create-belfry/bin/create-belfry.js');

/** Returns the Node and the PATH of the terminal, without the packaged Node of this clone: the app must work in the same terminal. */
function findTerminalNode(): { node: string; path: string } {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== dirname(process.execPath));
  return { node: process.env.npm_node_execpath || process.execPath, path: path.join(delimiter) };
}

const folder = mkdtempSync(join(tmpdir(), 'belfry-new-'));
try {
  build();
  const [belfry] = packAll(folder);
  const { node, path } = findTerminalNode();
  const args = [createBelfry, ...process.argv.slice(2), '--belfry', belfry!];
  // Relative folders are those of the terminal.
  const cwd = process.env.INIT_CWD || root;
  const { status } = spawnSync(node, args, { cwd, env: { ...process.env, PATH: path }, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
