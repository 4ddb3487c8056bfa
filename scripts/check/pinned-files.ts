// Checks files that must not change unnoticed: every package in the lock files has the hash of an allowed package, and every
// published migration is unchanged.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { readPublishedMigrations } from '../../src/runtime/migrations/framework.ts';

interface LockFile {
  packages: Record<string, { version?: string; integrity?: string; resolved?: string; link?: boolean }>;
}

const LOCK_FILES = [
  'package-lock.json',
  'scripts/docs/site/package-lock.json',
  'scripts/node/package-lock.json',
  ...globSync('bench/peers/packages/*/package-lock.json').sort(),
];

/** Returns packages that npm would install without verifying a hash, or from an address in the lock file. */
function findUnpinnedPackages(file: string): string[] {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as LockFile;
  return Object.entries(packages).flatMap(([path, entry]) => {
    // The packages of this repository are linked, not installed.
    if (entry.link || !path.includes('node_modules/')) return [];
    if (entry.integrity === undefined)
      return `${file}: ${path} has no integrity. Delete the lock file, then run: npm install --package-lock-only`;
    if (entry.resolved !== undefined)
      return `${file}: ${path} has a "resolved" address. Generate the lock file with the .npmrc of this project, which omits addresses`;
    return [];
  });
}

/** Returns published migrations that are missing or changed, and migrations of Belfry's own that are not in the list. */
function findChangedMigrations(): string[] {
  const { hashes } = readPublishedMigrations('migrations/belfry');
  const names = globSync('migrations/belfry/*.sql').map((file) => relative('migrations', file).replace(/\.sql$/, ''));
  const changed = Object.entries(hashes).flatMap(([name, hash]) => {
    const file = `migrations/${name}.sql`;
    let text: string;
    try {
      text = readFileSync(file, 'utf8').replaceAll('\r\n', '\n');
    } catch {
      return `${file} is published but missing: restore it from version control`;
    }
    if (createHash('sha256').update(text).digest('hex') === hash) return [];
    return `${file} is published but was changed: restore it, and put the change into a new migration`;
  });
  const unlisted = names.filter((name) => hashes[name] === undefined);
  return [
    ...changed,
    ...unlisted.map((name) => `migrations/${name}.sql is not listed in migrations/belfry/published.json`),
  ];
}

const errors = [...LOCK_FILES.flatMap(findUnpinnedPackages), ...findChangedMigrations()];
for (const line of errors) console.error(line);
if (errors.length > 0) process.exit(1);
