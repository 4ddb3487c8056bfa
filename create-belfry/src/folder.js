import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { Failure, messageOf, USAGE_ERROR } from './failure.js';

/** Files of editors, systems and git that may be in the folder already. */
const HARMLESS = new Set(['.git', '.DS_Store', '.idea', '.vscode']);
const MAX_NAME_LENGTH = 214;
const MAX_NAMED_FILES = 3;

/**
 * Where an app is created.
 *
 * @typedef {object} Target
 * @property {string} path the absolute path of the folder
 * @property {string} name the name of the app and of its npm package: the last part of the path
 */

/**
 * Returns the nearest valid name; an empty string if there is none.
 *
 * @param {string} name
 */
function toValidName(name) {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, MAX_NAME_LENGTH);
}

/**
 * @param {string} folder as given, relative to the working directory
 * @param {string[]} taken names of packages that the app uses
 * @returns {Target}
 * @throws {Failure} if the folder's name cannot be the name of a package
 */
export function readTarget(folder, taken) {
  const path = resolve(folder);
  const name = basename(path);
  if (taken.includes(name) || name === 'node_modules' || name === 'favicon.ico')
    throw new Failure(`"${name}" cannot be the name of an app: it is reserved. Choose another folder.`, USAGE_ERROR);
  if (/^[a-z0-9][a-z0-9._-]*$/.test(name) && name.length <= MAX_NAME_LENGTH) return { path, name };
  const valid = toValidName(name);
  const rule =
    name.length > MAX_NAME_LENGTH
      ? `use at most ${MAX_NAME_LENGTH} characters`
      : 'use a-z, 0-9, ".", "_" and "-", and start with a letter or a digit';
  throw new Failure(
    `"${name}" cannot be the name of an app: ${rule}.${valid && name.length <= MAX_NAME_LENGTH ? ` For example: ${valid}` : ''}`,
    USAGE_ERROR,
  );
}

/**
 * Checks that an app can be created in a folder.
 *
 * @param {Target} target
 * @throws {Failure} that names what is in the way
 */
export function assertIsFree({ path }) {
  /** @type {string[]} */
  let names;
  try {
    if (!statSync(path).isDirectory()) throw new Failure(`${path} is a file. Choose another folder.`);
    names = readdirSync(path).filter((name) => !HARMLESS.has(name));
  } catch (error) {
    if (error instanceof Failure) throw error;
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return;
    throw new Failure(`${path} cannot be read: ${describeError(error)}.`);
  }
  if (names.length === 0) return;
  const others = names.length - MAX_NAMED_FILES;
  const listed = names.slice(0, MAX_NAMED_FILES).join(', ') + (others > 0 ? ` and ${others} more` : '');
  throw new Failure(`${path} is not empty. It contains ${listed}. Choose another folder, or empty this one.`);
}

/**
 * Creates the folder, and its parents, if they do not exist.
 *
 * @param {Target} target
 * @throws {Failure}
 */
export function createFolder({ path }) {
  try {
    createPath(path);
  } catch (error) {
    throw new Failure(`${path} cannot be created: ${describeError(error)}.`);
  }
}

/**
 * Like `mkdirSync` with `recursive`, which never returns for some paths in which nothing can be created, such as /proc/app.
 *
 * @param {string} path
 */
function createPath(path) {
  if (existsSync(path)) return;
  createPath(dirname(path));
  mkdirSync(path);
}

/**
 * Describes an error of the file system without its code and its stack.
 *
 * @param {unknown} error
 */
export function describeError(error) {
  const { code } = /** @type {NodeJS.ErrnoException} */ (error);
  if (code === 'EACCES' || code === 'EPERM') return 'permission denied';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOSPC') return 'the disk is full';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a part of the path is a file';
  if (code === 'ENOENT') return 'a part of the path does not exist';
  if (code === 'ENAMETOOLONG') return 'the path is too long';
  return messageOf(error);
}
