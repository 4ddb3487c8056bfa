import { spawnSync } from 'node:child_process';
import { basename } from 'node:path';

/**
 * Installs the packages of an app. npm prints its progress and its errors to the terminal.
 *
 * @param {string} folder
 * @returns {boolean} whether it succeeded
 */
export function installPackages(folder) {
  const cli = process.env.npm_execpath;
  // The npm that runs this command; another package manager does not accept the same options.
  const [command, ...first] =
    cli && /^npm(-cli)?\.[cm]?js$/.test(basename(cli)) ? [process.execPath, cli] : [/** @type {string} */ ('npm')];
  const args = [...first, 'install', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync(/** @type {string} */ (command), args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: command === 'npm' && process.platform === 'win32',
  });
  return status === 0;
}

/**
 * Creates a git repository, unless the folder is part of one or git is not installed. Creates no commit, because that could ask for a
 * name or a password.
 *
 * @param {string} folder
 */
export function createRepository(folder) {
  const git = (/** @type {string[]} */ ...args) =>
    spawnSync('git', args, { cwd: folder, stdio: 'ignore' }).status === 0;
  if (!git('rev-parse', '--is-inside-work-tree')) git('init', '--quiet', '--initial-branch=main');
}
