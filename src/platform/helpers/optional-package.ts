import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import semver from 'semver';

/** Returns the package.json of the package that a file belongs to. */
function findManifest(file: string, name: string): { version?: string } | undefined {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'package.json');
    const manifest = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
    if (manifest?.name === name) return manifest;
  }
  return undefined;
}

/** Returns the version of a package that an import would find, wherever a package manager keeps it; undefined if there is none. */
function findVersion(name: string, from: string): string | undefined {
  try {
    return findManifest(createRequire(from).resolve(name), name)?.version;
  } catch {
    return undefined;
  }
}

/**
 * Says which packages of a feature are not installed, or too old: those that only some apps need are not dependencies of Belfry. Call it at start, so
 * that no work is accepted that cannot be done.
 *
 * @param feature the subject of the message: `Web Push`
 * @param packages the oldest versions that work, by name
 * @param from the URL of the module that imports them. Default: Belfry itself
 * @returns a configuration error; undefined if all are installed
 * @example findMissingPackage('FCM', { 'firebase-admin': '14' }) // 'FCM needs firebase-admin 14 or newer. Run: npm install firebase-admin@14'
 */
export function findMissingPackage(
  feature: string,
  packages: Readonly<Record<string, string>>,
  from = import.meta.url,
): string | undefined {
  const found = Object.entries(packages).map(([name, oldest]) => ({ name, oldest, version: findVersion(name, from) }));
  const missing = found.filter(
    ({ version, oldest }) => version === undefined || semver.lt(version, semver.coerce(oldest)!),
  );
  if (missing.length === 0) return undefined;
  const described = missing.map(
    ({ name, oldest, version }) =>
      `${name} ${oldest} or newer${version === undefined ? '' : ` (installed: ${version})`}`,
  );
  const install = missing.map(({ name, oldest }) => `${name}@${oldest}`).join(' ');
  return `${feature} needs ${described.join(', ')}. Run: npm install ${install}`;
}
