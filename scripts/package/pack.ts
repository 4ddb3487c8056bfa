// `npm run pack -- --to <folder>`: builds the packages and writes them as npm would publish them: belfry-<version>.tgz, belfry-client-<version>.tgz
// and so on. Prints their paths, that of `belfry` first. `--workspaces <folder>` writes only the folders of those below `packages/`, for the image.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.ts';
import { PACKAGES, publishedManifest, WORKSPACES } from './manifest.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What npm publishes of every package, besides what its manifest names. */
const ALWAYS = ['README.md', 'LICENSE'];

/** What never belongs to a package, whatever is in the folders of its files. */
const NEVER = new Set(['.env', '.data', 'node_modules', '.DS_Store']);

/** Copies what npm publishes of a package into a folder. */
function stage(folder: string, stageFolder: string): void {
  mkdirSync(stageFolder, { recursive: true });
  const manifest = publishedManifest(folder);
  writeFileSync(join(stageFolder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const cwd = join(root, folder);
  const named = [...ALWAYS, ...(manifest.files ?? [])].filter((pattern) => !pattern.startsWith('!'));
  for (const path of globSync(named, { cwd }))
    if (existsSync(join(cwd, path)))
      cpSync(join(cwd, path), join(stageFolder, path), {
        recursive: true,
        filter: (source) => !NEVER.has(basename(source)),
      });
  // Pictures are not published, and npm finds them nowhere else: the packages name no repository.
  const readme = join(stageFolder, 'README.md');
  if (existsSync(readme))
    writeFileSync(readme, readFileSync(readme, 'utf8').replace(/<picture>[\s\S]*?<\/picture>\n+/, ''));
}

/**
 * Packs a package of this repository, which is built.
 *
 * @param folder the folder of its package.json, relative to the repository
 * @param to the folder for the tarball
 * @returns the path of the tarball
 * @throws Error with the output of npm
 */
export function pack(folder: string, to: string): string {
  mkdirSync(to, { recursive: true });
  const staged = mkdtempSync(join(tmpdir(), 'belfry-pack-'));
  try {
    stage(folder, staged);
    const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', resolve(to)];
    const { status, stdout, stderr } = spawnSync('npm', args, {
      cwd: staged,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    });
    if (status !== 0) throw new Error(`npm pack failed.\n${stdout}${stderr}`);
    const result = JSON.parse(stdout);
    const [{ filename }] = Array.isArray(result) ? result : (Object.values(result) as { filename: string }[]);
    // npm names the file of a scoped package `@belfry/client-…` in its output, and `belfry-client-…` on the disk.
    return resolve(to, filename.replace(/^@/, '').replace('/', '-'));
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Packs all packages, which are built, and returns their paths: that of `belfry` first. */
export const packAll = (to: string): string[] => PACKAGES.map((folder) => pack(folder, to));

if (import.meta.main) {
  try {
    const options = { to: { type: 'string', default: '.data/packages' }, workspaces: { type: 'string' } } as const;
    const { to, workspaces } = parseArgs({ options }).values;
    build();
    if (workspaces === undefined) for (const path of packAll(to)) console.log(path);
    else for (const folder of WORKSPACES) stage(folder, join(workspaces, basename(folder)));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}
