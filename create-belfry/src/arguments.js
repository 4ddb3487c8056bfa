import { parseArgs } from 'node:util';
import { Failure, USAGE_ERROR } from './failure.js';

/** The content that an app can start with, and how prompts describe it. */
export const EXAMPLES = { blog: 'posts with drafts, and a test', empty: 'accounts only' };

/** @typedef {keyof typeof EXAMPLES} Example */

/**
 * The parsed command line. What is undefined was not given.
 *
 * @typedef {object} Arguments
 * @property {string | undefined} folder the folder of the app
 * @property {Example | undefined} example the content of the app
 * @property {string | undefined} belfry the version of Belfry, as in package.json, or the path of a packed one
 * @property {boolean} install installs the packages
 * @property {boolean} git creates a git repository
 * @property {boolean} yes asks nothing
 * @property {boolean} help prints the help only
 * @property {boolean} version prints the version only
 */

const OPTIONS = /** @type {const} */ ({
  example: { type: 'string' },
  belfry: { type: 'string' },
  'no-install': { type: 'boolean' },
  'no-git': { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
});

/** A name with more differences is not suggested: `--install` must not suggest `--no-install`. */
const MAX_EDITS = 2;

export const HELP = `Usage: create-belfry [folder] [options]

Creates a Belfry app in a new folder. At a terminal, it asks for what is not given.

Options:
  --example <name>   What the app starts with: ${describeExamples()}. Default: blog
  --belfry <version> The version of Belfry, as in package.json, or the path of a packed Belfry (.tgz)
  --no-install       Do not install the packages
  --no-git           Do not create a git repository
  -y, --yes          Ask nothing
  -h, --help         Print this help
  -v, --version      Print the version`;

function describeExamples() {
  return Object.entries(EXAMPLES)
    .map(([name, content]) => `${name} (${content})`)
    .join(' or ');
}

/**
 * Counts the characters to insert, remove or replace to get from one word to another.
 *
 * @param {string} from
 * @param {string} to
 */
function countEdits(from, to) {
  let previous = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = /** @type {number} */ (previous[j - 1]) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, /** @type {number} */ (previous[j]) + 1, /** @type {number} */ (row[j - 1]) + 1));
    }
    previous = row;
  }
  return previous[to.length] ?? 0;
}

/**
 * Returns ` Did you mean "…"?` with the most similar name, or an empty string if none is similar.
 *
 * @param {string} given
 * @param {string[]} names
 */
function suggest(given, names) {
  const [nearest] = names
    .map((name) => ({ name, edits: countEdits(given, name) }))
    .filter(({ edits }) => edits <= MAX_EDITS && edits < given.length)
    .sort((a, b) => a.edits - b.edits);
  return nearest ? ` Did you mean ${nearest.name}?` : '';
}

/** @param {string} message */
function usageError(message) {
  return new Failure(`${message}\nFor all options: create-belfry --help`, USAGE_ERROR);
}

/**
 * Parses the words after `create-belfry`.
 *
 * @param {string[]} words
 * @returns {Arguments}
 * @throws {Failure} if they are malformed
 */
export function parseArguments(words) {
  const { tokens } = parseArgs({ args: words, options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  /** @type {Map<string, string>} */
  const values = new Map();
  /** @type {string[]} */
  const folders = [];
  for (const token of tokens) {
    if (token.kind === 'positional') folders.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(OPTIONS, token.name)
      ? OPTIONS[/** @type {keyof typeof OPTIONS} */ (token.name)]
      : undefined;
    if (!option) {
      const names = Object.keys(OPTIONS).map((name) => `--${name}`);
      throw usageError(`Unknown option ${token.rawName}.${suggest(token.rawName, names)}`);
    }
    const { value, inlineValue } = token;
    if (option.type === 'boolean' && value !== undefined) throw usageError(`${token.rawName} takes no value.`);
    if (option.type === 'string' && (!value || (!inlineValue && value.startsWith('-'))))
      throw usageError(`${token.rawName} needs a value.`);
    values.set(token.name, value ?? '');
  }
  if (folders.length > 1)
    throw usageError(`Only one folder can be given, not ${folders.length}: ${folders.join(', ')}`);
  if (folders[0] === '') throw usageError('The name of the folder is empty.');
  return {
    folder: folders[0],
    example: readExample(values.get('example')),
    belfry: values.get('belfry'),
    install: !values.has('no-install'),
    git: !values.has('no-git'),
    yes: values.has('yes'),
    help: values.has('help'),
    version: values.has('version'),
  };
}

/**
 * @param {string | undefined} given
 * @returns {Example | undefined}
 */
function readExample(given) {
  if (given === undefined) return undefined;
  const names = Object.keys(EXAMPLES);
  if (names.includes(given)) return /** @type {Example} */ (given);
  throw usageError(`Unknown example "${given}". Choose ${names.join(' or ')}.`);
}
