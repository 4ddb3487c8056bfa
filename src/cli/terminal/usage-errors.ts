import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';

/** Errors of commander, without its prefix, and the sentences for them. */
const SENTENCES: readonly [error: RegExp, sentence: string][] = [
  [/^unknown (command|option) '(.+)'$/, 'Unknown $1 $2.'],
  [/^unknown (command|option) '(.+)'\n\((.+)\)$/, 'Unknown $1 $2. $3'],
  [/^required option '(--\S+).*' not specified$/, '$1 is missing.'],
  [/^option '(--\S+) (.+?)' argument (?:missing|'' is invalid\..*)$/s, '$1 needs a value: $2.'],
  [/^option '(--\S+) .+?' argument '(.+)' is invalid\. (.+)$/s, '$1 $2 is invalid. $3'],
  [/^missing required argument '(.+)'$/, 'The argument <$1> is missing.'],
  [
    /^command-argument value '(.*)' is invalid for argument '(.+)'\. Allowed choices are (.+)\.$/s,
    'Unknown $2 $1. Choose from $3.',
  ],
  [
    /^too many arguments for '(.+)'\. Expected 0 arguments but got \d+: (.+)\.$/s,
    '$1 takes no arguments, but got: $2.',
  ],
  [/^too many arguments for '(.+)'\. Expected 1 argument but got \d+: (.+)\.$/s, '$1 takes one argument, but got: $2.'],
];

/** Returns the option without a value that a command was given with one: `--json` for `--json=yes`; undefined for other errors. */
function findOptionWithoutValue(error: string, { options }: Command): string | undefined {
  const [, flag] = /^unknown option '(--[^=]+)=/.exec(error) ?? [];
  return (
    [...options.map(({ long }) => long), '--help'].find((long) => flag !== undefined && long === flag) ?? undefined
  );
}

/** Turns an error of commander about a command (`error: unknown option '--x'`) into a sentence. */
export function formatUsageError(text: string, command: Command): string {
  const error = text.replace(/^error: /, '').trim();
  const flag = findOptionWithoutValue(error, command);
  if (flag !== undefined) return `${flag} takes no value.\n`;
  const known = SENTENCES.find(([pattern]) => pattern.test(error));
  return `${known === undefined ? error : error.replace(...known)}\n`;
}

/**
 * Returns the line above the help of a command that was called without one of its subcommands, or with an unknown one: `admin`,
 * `help x`. Without such an error, returns no text.
 */
export function describeMissingCommand({ error, command }: { error: boolean; command: Command }): string {
  if (!error) return '';
  const [first, name] = command.args;
  return first === 'help' ? formatUsageError(`unknown command '${name}'`, command) : 'No command given.';
}

/** Refuses options whose value is empty: `--email=`, or `--email "$EMAIL"` if that variable is not set. */
export function refuseEmptyOptions(program: Command, command: Command): void {
  const values = command.optsWithGlobals();
  const empty = [...program.options, ...command.options].find((option) => values[option.attributeName()] === '');
  if (empty !== undefined) command.error(`error: option '${empty.flags}' argument missing`);
}

/** Returns the parser of an option that is a whole number from 1 to `max`. It throws InvalidArgumentError for anything else. */
export const createCountParser = (max: number) => (text: string) => {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= max) return count;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
};
