// `npm run pack -- --to <folder>`: builds the package and writes belfry-<version>.tgz, as npm would publish it. Prints its path.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Packs a package of this repository.
 *
 * @param folder the folder of its package.json
 * @param to the folder for the tarball
 * @returns the path of the tarball
 * @throws Error with the output of npm
 */
export function pack(folder: string, to: string): string {
  mkdirSync(to, { recursive: true });
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', resolve(to)];
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm pack failed.\n${stdout}${stderr}`);
  const result = JSON.parse(stdout);
  const [{ filename }] = Array.isArray(result) ? result : (Object.values(result) as { filename: string }[]);
  return resolve(to, filename);
}

if (import.meta.main) {
  try {
    const { values } = parseArgs({ options: { to: { type: 'string', default: '.data/packages' } } });
    build();
    console.log(pack(root, values.to));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
