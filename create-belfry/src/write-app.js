import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyTarballs } from './belfry-package.js';
import { Failure } from './failure.js';
import { describeError } from './folder.js';

const TEMPLATE = fileURLToPath(new URL('../template', import.meta.url));

/** Files whose names in the template differ, because npm leaves these out of every package. */
const RENAMED = new Map([['gitignore', '.gitignore']]);

/** The part of README.md about an example. */
const README_PART = 'example.md';

/**
 * Everything that decides the content of an app.
 *
 * @typedef {object} Choices
 * @property {string} name
 * @property {import('./arguments.js').Example} example
 * @property {import('./belfry-package.js').BelfryPackage} belfry
 * @property {string | undefined} node the version of the npm package `node`, if the app needs one
 */

/**
 * @typedef {object} PackageJson
 * @property {string} name
 * @property {Record<string, string>} dependencies
 * @property {Record<string, string>} devDependencies
 * @property {Record<string, boolean>} allowScripts
 */

/** Returns the names of all packages that an app uses. */
export function listPackages() {
  const { dependencies, devDependencies } = parsePackageJson(readTemplate('base/package.json'));
  return [...Object.keys({ ...dependencies, ...devDependencies }), 'node'].sort();
}

/** @param {string} name */
function readTemplate(name) {
  return readFileSync(join(TEMPLATE, name), 'utf8');
}

/**
 * @param {string} text
 * @returns {PackageJson}
 */
function parsePackageJson(text) {
  return JSON.parse(text);
}

/**
 * @param {string} text the package.json of the template
 * @param {Choices} choices
 */
function completePackageJson(text, { name, belfry, node }) {
  const content = parsePackageJson(text);
  content.name = name;
  content.dependencies = sortKeys({ ...content.dependencies, ...belfry.dependencies });
  if (node !== undefined) {
    content.devDependencies = sortKeys({ ...content.devDependencies, node });
    // Its install script fetches the Node for this system.
    content.allowScripts = sortKeys({ ...content.allowScripts, node: true });
  }
  return `${JSON.stringify(content, null, 2)}\n`;
}

/**
 * @template T
 * @param {Record<string, T>} object
 * @returns {Record<string, T>}
 */
function sortKeys(object) {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Changes a file of the template to that of the app.
 *
 * @param {string} path relative to the app, with `/`
 * @param {string} text
 * @param {Choices} choices
 */
function completeFile(path, text, choices) {
  if (path === 'package.json') return completePackageJson(text, choices);
  const { name, example, belfry } = choices;
  if (path === 'Dockerfile' && belfry.tarballs.length > 0) {
    const packages = 'COPY package.json package-lock.json ./\n';
    return text.replace(packages, `${packages}COPY vendor ./vendor\n`);
  }
  return (
    text
      .replace('{{example}}\n', () => readTemplate(`${example}/${README_PART}`))
      .replaceAll('{{name}}', name)
      // Docker allows fewer characters than npm.
      .replaceAll('{{container}}', name.replaceAll(/[^a-z0-9]+/g, '-').replace(/-$/, ''))
  );
}

/**
 * Returns the paths of all files in a folder, relative to it, with `/`.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function listFiles(folder) {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      if (!statSync(join(folder, name)).isDirectory()) return name;
      return listFiles(join(folder, name)).map((path) => `${name}/${path}`);
    });
}

/**
 * Writes the files of an app.
 *
 * @param {string} folder an existing folder
 * @param {Choices} choices
 * @throws {Failure}
 */
export function writeApp(folder, choices) {
  try {
    for (const part of ['base', choices.example]) {
      for (const path of listFiles(join(TEMPLATE, part))) {
        if (path === README_PART) continue;
        const target = join(folder, RENAMED.get(path) ?? path);
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, completeFile(path, readTemplate(`${part}/${path}`), choices));
      }
    }
    if (choices.belfry.tarballs.length > 0) copyTarballs(folder, choices.belfry.tarballs);
  } catch (error) {
    throw new Failure(`The files of the app could not be written to ${folder}: ${describeError(error)}.`);
  }
}
