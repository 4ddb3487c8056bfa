import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Failure, USAGE_ERROR } from './failure.js';
import { describeError } from './folder.js';

/** Where an app keeps a packed Belfry, so that it can be moved, committed and deployed. */
const VENDOR = 'vendor';

/**
 * The Belfry that an app depends on.
 *
 * @typedef {object} BelfryPackage
 * @property {string} version the version in package.json
 * @property {string} [tarball] the path of a packed Belfry, which is copied into the app
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
  if (!isFile) return { version: given };
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
  return { version: `file:${VENDOR}/${basename(tarball)}`, tarball };
}

/**
 * Copies a packed Belfry into an app.
 *
 * @param {string} app the folder of the app
 * @param {string} tarball
 */
export function copyTarball(app, tarball) {
  mkdirSync(join(app, VENDOR));
  copyFileSync(tarball, join(app, VENDOR, basename(tarball)));
}
