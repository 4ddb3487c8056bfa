import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { HELP, parseArguments } from './arguments.js';
import { readBelfryPackage } from './belfry-package.js';
import { Failure, INTERRUPTED, messageOf, USAGE_ERROR } from './failure.js';
import { assertIsFree, createFolder, readTarget } from './folder.js';
import { createRepository, installPackages } from './install.js';
import { chooseNodePackage } from './node-package.js';
import { Prompts } from './prompts.js';
import { listPackages, writeApp } from './write-app.js';

/** @returns {string} */
function readVersion() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

/** @param {string} folder as given */
function readFreeTarget(folder) {
  const target = readTarget(folder, listPackages());
  assertIsFree(target);
  return target;
}

/**
 * Completes the choices that the command line lacks, with questions or defaults.
 *
 * @param {import('./arguments.js').Arguments} given
 */
async function choose({ folder, example, yes }) {
  const interactive = process.stdin.isTTY && process.stdout.isTTY && !yes;
  if (folder === undefined && !interactive)
    throw new Failure('Name the folder of the app: npm create belfry@latest my-app', USAGE_ERROR);
  const given = folder === undefined ? undefined : readFreeTarget(folder);
  if (given && example) return { target: given, example };
  if (!interactive) return { target: /** @type {NonNullable<typeof given>} */ (given), example: example ?? 'blog' };
  const prompts = new Prompts();
  try {
    return {
      target: given ?? (await prompts.askFolder(readFreeTarget)),
      example: example ?? (await prompts.askExample()),
    };
  } finally {
    prompts.close();
  }
}

/**
 * Returns how to enter a folder, as a line of a shell; empty if it is the working directory.
 *
 * @param {string} path
 */
function changeFolderLine(path) {
  const shorter = relative('', path);
  if (shorter === '') return '';
  const shown = shorter.startsWith('../..') ? path : shorter;
  return `  cd ${/^[\w./@+-]+$/.test(shown) ? shown : JSON.stringify(shown)}\n`;
}

/**
 * Creates an app as the arguments say.
 *
 * @param {import('./arguments.js').Arguments} given
 */
async function create(given) {
  const node = chooseNodePackage();
  const belfry = readBelfryPackage(given.belfry ?? `^${readVersion()}`);
  const { target, example } = await choose(given);
  createFolder(target);
  writeApp(target.path, { name: target.name, example, belfry, node });
  if (given.git) createRepository(target.path);
  console.log(`Created ${target.name} in ${target.path}`);
  if (node !== undefined)
    console.log(`Node ${process.versions.node} is too old for Belfry, so the app has a Node 24 of its own, from npm.`);
  const enter = changeFolderLine(target.path);
  if (given.install) {
    console.log('Installing its packages ...');
    const result = await installPackages(target.path);
    const next = `${enter}  npm install\n  npm run dev`;
    if (result === 'stopped')
      throw new Failure(`\nStopped. The app's files are complete. To go on, run:\n\n${next}`, INTERRUPTED);
    if (result === 'failed')
      throw new Failure(
        `The packages could not be installed. The app's files are complete. Fix the problem, then run:\n\n${next}`,
      );
  }
  console.log(`\nNext:\n\n${enter}${given.install ? '' : '  npm install\n'}  npm run dev\n`);
}

/**
 * Runs the command.
 *
 * @param {string[]} words the arguments after `create-belfry`
 * @returns {Promise<number>} the exit code: 0, 1 if the app could not be created, 2 if the arguments are malformed
 */
export async function run(words) {
  try {
    const given = parseArguments(words);
    if (given.help) console.log(HELP);
    else if (given.version) console.log(readVersion());
    else await create(given);
    return 0;
  } catch (error) {
    console.error(messageOf(error));
    return error instanceof Failure ? error.exitCode : 1;
  }
}
