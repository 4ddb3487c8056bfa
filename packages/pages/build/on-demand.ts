// In this repository, the pages are built when a process needs them, unless the same sources have been built before.
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const CACHE = fileURLToPath(new URL('../../../.data/pages/', import.meta.url));

/** Identifies the sources by their names, sizes and times, and the packages in the bundles by the lock file. */
function fingerprint(): string {
  const hash = createHash('sha256');
  for (const path of ['../../package-lock.json', ...globSync('{src,build}/**/*.*', { cwd: root }).sort()]) {
    const { size, mtimeMs } = statSync(join(root, path));
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * Returns an error of the compiler with files relative to the repository, and columns that count from 1, as editors do. It has no stack, which would be
 * within the compiler.
 */
function locateError(error: unknown): unknown {
  if (!(error instanceof Error) || !('errors' in error)) return error;
  const message = error.message.replaceAll(
    /^(\S+:\d+):(\d+)(?=: ERROR: )/gm,
    (_, line, column) => `packages/pages/src/${line}:${Number(column) + 1}`,
  );
  return Object.assign(new Error(message), { stack: `Error: ${message}` });
}

async function build(): Promise<string> {
  const folder = join(CACHE, fingerprint());
  if (existsSync(folder)) return folder;
  const { buildPages } = await import('./build.ts');
  mkdirSync(CACHE, { recursive: true });
  const building = mkdtempSync(join(CACHE, 'building-'));
  try {
    buildPages(building);
    // Temporary folders are for their owner alone.
    chmodSync(building, 0o755);
    renameSync(building, folder);
  } catch (error) {
    rmSync(building, { recursive: true, force: true });
    // Another process may have built the same meanwhile.
    if (!existsSync(folder)) throw locateError(error);
  }
  return folder;
}

/** The folder with the built files and `manifest.json`. */
export const folder: URL = pathToFileURL(`${await build()}/`);
