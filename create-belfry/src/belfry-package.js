import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Failure, USAGE_ERROR } from './failure.js';
import { describeError } from './folder.js';

/** Where an app keeps a packed Belfry, so that it can be moved, committed and deployed. */
const VENDOR = 'vendor';

/**
 * The Belfry that an app depends on.
 *
 * @typedef {object} BelfryPackage
 * @property {Record<string, string>} dependencies the packages in package.json, with their versions
 * @property {readonly string[]} tarballs the paths of a packed Belfry and of its packages beside it, which are copied into the app
 */

/**
 * Reads the value of `--belfry`: a version as in package.json, or the path of a tarball, with or without `file:`.
 *
 * @param {string} given
 * @returns {BelfryPackage}
 * @throws {Failure} if it names a file that is not a packed Belfry
 */
export function readBelfryPackage(given) {
  const isFile = given.startsWith('file:') || (given.endsWith('.tgz') && !/^\w{2,}:/.test(given));
  if (!isFile) return { dependencies: { belfry: given }, tarballs: [] };
  const tarball = resolve(given.replace(/^file:(\/\/)?/, ''));
  if (!tarball.endsWith('.tgz'))
    throw new Failure(`--belfry ${given}: name a packed Belfry, a file that ends with .tgz.`, USAGE_ERROR);
  try {
    // The first bytes of a gzip file.
    if (
      !readFileSync(tarball)
        .subarray(0, 2)
        .equals(Buffer.from([0x1f, 0x8b]))
    )
      throw new Error('it is not a .tgz file');
  } catch (error) {
    const missing = /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT';
    throw new Failure(
      `--belfry ${given}: ${missing ? `${tarball} does not exist` : `${tarball} cannot be used: ${describeError(error)}`}.`,
    );
  }
  const packed = { belfry: tarball, ...findPackagesBeside(tarball) };
  const entries = Object.entries(packed).map(([name, path]) => [name, `file:${VENDOR}/${basename(path)}`]);
  return { dependencies: Object.fromEntries(entries), tarballs: Object.values(packed) };
}

/**
 * Finds the packages of the same version that Belfry depends on: `belfry-client-1.0.0.tgz` beside `belfry-1.0.0.tgz`. npm finds those that are not
 * there in its registry.
 *
 * @param {string} tarball
 * @returns {Record<string, string>} their paths by name
 */
function findPackagesBeside(tarball) {
  const [, version] = /^belfry-(\d.*)\.tgz$/.exec(basename(tarball)) ?? [];
  const folder = dirname(tarball);
  const found = readdirSync(folder).flatMap((file) => {
    const [, name, its] = /^belfry-([a-z][a-z-]*)-(\d.*)\.tgz$/.exec(file) ?? [];
    return name !== undefined && its === version ? [[`@belfry/${name}`, join(folder, file)]] : [];
  });
  return Object.fromEntries(found.sort());
}

/**
 * Copies a packed Belfry and its packages into an app.
 *
 * @param {string} app the folder of the app
 * @param {readonly string[]} tarballs
 */
export function copyTarballs(app, tarballs) {
  mkdirSync(join(app, VENDOR));
  for (const tarball of tarballs) copyFileSync(tarball, join(app, VENDOR, basename(tarball)));
}
