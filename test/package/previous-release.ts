import { spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { findReleases } from '../../scripts/package/releases.ts';

/** A release of this repository, with its sources and its package. */
export interface Release {
  version: string;
  /** The folder with its sources. */
  folder: string;
  /** The path of its tarball. */
  tarball: string;
}

const CACHE = resolve('.data/releases');

/** Runs a program. @throws Error with its output if it fails */
function run(cwd: string, command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}${stderr}`);
  return stdout.trim();
}

/**
 * Returns the commit of the newest release in CHANGELOG.md, or of the one before it if nothing has changed since the newest.
 * `UPGRADE_FROM`, a commit, replaces it. Undefined if the history does not have the commit, as in a shallow clone.
 */
export function findPreviousRelease(): string | undefined {
  if (process.env.UPGRADE_FROM) return run('.', 'git', 'rev-parse', '--verify', `${process.env.UPGRADE_FROM}^{commit}`);
  const [newest, before] = findReleases('.', 2);
  if (newest === undefined) return undefined;
  const isUnchanged = newest === run('.', 'git', 'rev-parse', 'HEAD');
  return isUnchanged && before !== undefined ? before : newest;
}

/** The packages that compile the package or are part of it. The others only contribute types, which the result does not contain. */
const BUILD_PACKAGES = ['typescript', 'esbuild', '@noble/curves', '@noble/hashes'];

/** Returns the versions of the packages that determine what a build of the sources in a folder produces. */
function readBuildVersions(folder: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  return BUILD_PACKAGES.map((name) => packages[`node_modules/${name}`]?.version ?? 'none');
}

/** Gives a release the packages of this repository, and its own ones that are in its folder `packages`. */
function linkPackages(folder: string, modules: string): void {
  mkdirSync(modules);
  for (const name of readdirSync('node_modules'))
    if (name !== '@belfry') symlinkSync(resolve('node_modules', name), join(modules, name));
  for (const manifest of globSync('packages/*/package.json', { cwd: folder })) {
    const link = join(modules, JSON.parse(readFileSync(join(folder, manifest), 'utf8')).name);
    mkdirSync(dirname(link), { recursive: true });
    // Relative, because the folder moves when it is complete.
    symlinkSync(relative(dirname(link), join(folder, dirname(manifest))), link);
  }
}

/**
 * Packs the release in a folder with the packages of this repository if they give the same result, which saves half a minute, otherwise
 * with those of its own lock file.
 */
function buildRelease(folder: string): void {
  const pack = () => run(folder, process.execPath, 'scripts/package/pack.ts', '--to', 'packages');
  const modules = join(folder, 'node_modules');
  if (isDeepStrictEqual(readBuildVersions(folder), readBuildVersions('.'))) {
    linkPackages(folder, modules);
    try {
      pack();
      return;
    } catch {
      // The release does not compile with the types of newer packages.
      rmSync(modules, { recursive: true });
    }
  }
  run(folder, 'npm', 'ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund');
  pack();
}

/** Builds and packs a release from its commit. The result is kept for later runs. */
export function packRelease(commit: string): Release {
  const folder = join(CACHE, commit);
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    const building = mkdtempSync(join(CACHE, 'building-'));
    try {
      run('.', 'git', 'archive', '--output', join(building, 'tree.tar'), commit);
      run(building, 'tar', 'xf', 'tree.tar');
      rmSync(join(building, 'tree.tar'));
      buildRelease(building);
      renameSync(building, folder);
    } catch (error) {
      rmSync(building, { recursive: true, force: true });
      // Another process may have packed it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { version, folder, tarball: join(folder, 'packages', `belfry-${version}.tgz`) };
}
