import { findPackageJSON } from 'node:module';

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Says which packages of a feature are not installed: those that only some apps need are not dependencies of Belfry. Call it at start, so that no
 * work is accepted that cannot be done.
 *
 * @param feature the subject of the message: `Web Push`
 * @param packages their names
 * @returns a configuration error; undefined if all are installed
 * @example findMissingPackage('FCM', ['firebase-admin']) // 'FCM needs the package firebase-admin. Run: npm install firebase-admin'
 */
export function findMissingPackage(feature: string, packages: readonly string[]): string | undefined {
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  const which = missing.length === 1 ? 'the package' : 'the packages';
  return `${feature} needs ${which} ${missing.join(', ')}. Run: npm install ${missing.join(' ')}`;
}
