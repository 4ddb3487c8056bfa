import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

/** The packages that are installed for this comparison only, each folder with a lock file of its own. */
export type PackageFolder = 'parse' | 'directus' | 'payload' | 'better-auth' | 'graphile-worker' | 'pg-boss';

/** Returns the address of a folder of packages. */
export const getPackageFolder = (folder: PackageFolder) => new URL(`packages/${folder}/`, import.meta.url);

/**
 * Loads a package of a peer. The project's own compiler never sees it, so the caller states the type of what it uses.
 *
 * @param name the package, or a file in it
 */
export async function importPackage<Exports>(folder: PackageFolder, name: string): Promise<Exports> {
  const file = createRequire(getPackageFolder(folder)).resolve(name);
  return (await import(pathToFileURL(file).href)) as Exports;
}

/** Returns the version of a package that package.json in a folder pins. */
export function getVersion(folder: URL, name: string): string {
  const text = readFileSync(new URL('package.json', folder), 'utf8');
  return (JSON.parse(text) as { dependencies: Record<string, string> }).dependencies[name]!;
}
