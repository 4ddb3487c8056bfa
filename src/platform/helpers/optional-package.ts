import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}

/** Adds the oldest version that works to the name of a package that Belfry knows: an older npm would choose an older one for an older Node. */
function withVersion(name: string): string {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(findPackageJSON(import.meta.url)!, 'utf8'));
  const range: string | undefined = peerDependencies?.[name] ?? dependencies?.[name];
  return range === undefined ? name : `${name}@${range.replace('^', '')}`;
}

/**
 * Says which packages of a feature are not installed: those that only some apps need are not dependencies of Belfry. Call it at start, so that no
 * work is accepted that cannot be done.
 *
 * @param feature the subject of the message: `Web Push`
 * @param packages their names
 * @returns a configuration error; undefined if all are installed
 * @example findMissingPackage('FCM', ['firebase-admin']) // 'FCM needs the package firebase-admin. Run: npm install firebase-admin@14.5.1'
 */
export function findMissingPackage(feature: string, packages: readonly string[]): string | undefined {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const which = missing.length === 1 ? 'the package' : 'the packages';
  return `${feature} needs ${which} ${missing.join(', ')}. Run: npm install ${missing.map(withVersion).join(' ')}`;
}
