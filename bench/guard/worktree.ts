import { execFile } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createTemporaryFolder } from '../../src/dev-servers/temporary-folder.ts';
import { failWithUsage } from '../command-line.ts';
import type { Session } from '../session.ts';
import { runNpm } from '../setup/npm.ts';

const run = promisify(execFile);

/** The working tree of this process. */
export const WORKING_TREE = new URL('../../', import.meta.url);
const root = fileURLToPath(WORKING_TREE);

/** Returns the full id of a commit. If there is none, ends this process with a message. */
export async function resolveCommit(name: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], {
      cwd: root,
    });
    return stdout.trim();
  } catch {
    return failWithUsage(`There is no commit "${name}" in this clone.`);
  }
}

/** Installs the packages of a folder as its lock file says. */
async function installPackages(folder: string): Promise<void> {
  // `npm ci` refuses a lock file that lacks optional packages of other systems, as those of some commits do.
  await runNpm(folder, 'ci').catch(() => runNpm(folder, 'install', '--no-save'));
}

/** Checks a commit out into a temporary folder with its packages. The folder is removed at the end of the run. */
export async function checkOut({ addCleanup, logProgress }: Session, commit: string): Promise<URL> {
  const folder = createTemporaryFolder('guard');
  const tree = join(folder, 'tree');
  addCleanup(async () => {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    await run('git', ['worktree', 'prune'], { cwd: root });
  });
  await run('git', ['worktree', 'add', '--detach', '--quiet', tree, commit], { cwd: root });
  const readLock = (of: string) => readFileSync(join(of, 'package-lock.json'), 'utf8');
  if (readLock(tree) === readLock(root)) symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'dir');
  else {
    logProgress('Installing the packages of the other commit, which differ from those of the working tree …');
    await installPackages(tree);
  }
  return pathToFileURL(`${tree}/`);
}
