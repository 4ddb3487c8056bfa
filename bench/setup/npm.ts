import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

/** Runs npm in a folder. Packages that it installs do not run their scripts. */
export async function runNpm(folder: string, ...args: string[]): Promise<void> {
  const cli = process.env.npm_execpath;
  const [command, first] = cli && existsSync(cli) ? [process.execPath, [cli]] : ['npm', []];
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  await promisify(execFile)(command, [...first, ...args, ...options], { cwd: folder, maxBuffer: 2 ** 26 });
}
