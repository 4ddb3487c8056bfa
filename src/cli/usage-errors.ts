import type { Command } from 'commander';

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

/** Turns an error of commander (`error: unknown option '--x'`) into a sentence. */
export function formatUsageError(text: string): string {
  const error = text.replace(/^error: /, '').trim();
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
  return first === 'help' ? formatUsageError(`unknown command '${name}'`) : 'No command given.';
}

/** Refuses options whose value is empty: `--email=`, or `--email "$EMAIL"` if that variable is not set. */
export function refuseEmptyOptions(program: Command, command: Command): void {
  const values = command.optsWithGlobals();
  const empty = [...program.options, ...command.options].find((option) => values[option.attributeName()] === '');
  if (empty !== undefined) command.error(`error: option '${empty.flags}' argument missing`);
}
