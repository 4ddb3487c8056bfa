import { spawn, spawnSync } from 'node:child_process';
import { basename } from 'node:path';

/** The signals that ask a program to end. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Installs the packages of an app. npm prints its progress and its errors to the terminal. It ends if this command is asked to end.
 *
 * @param {string} folder
 * @returns {Promise<'installed' | 'failed' | 'stopped'>}
 */
export async function installPackages(folder) {
  const cli = process.env.npm_execpath;
  // The npm that runs this command; another package manager does not accept the same options.
  const [command, ...first] =
    cli && /^npm(-cli)?\.[cm]?js$/.test(basename(cli)) ? [process.execPath, cli] : [/** @type {string} */ ('npm')];
  const args = [...first, 'install', '--no-audit', '--no-fund', '--loglevel=error'];
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  let stopped = false;
  /** @param {NodeJS.Signals} signal */
  const stop = (signal) => {
    stopped = true;
    child?.kill(signal);
  };
  // Before the start: a signal must find a handler as soon as npm runs.
  for (const signal of SIGNALS) process.on(signal, stop);
  const npm = spawn(/** @type {string} */ (command), args, {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: command === 'npm' && process.platform === 'win32',
  });
  child = npm;
  const code = await new Promise((done) => npm.on('error', done).on('close', done));
  for (const signal of SIGNALS) process.off(signal, stop);
  if (stopped) return 'stopped';
  return code === 0 ? 'installed' : 'failed';
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
