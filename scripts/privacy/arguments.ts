import { parseArgs } from 'node:util';

const USAGE = 'npm run privacy -- report [--json] [--strict]';

/** The parsed command line. */
export interface PrivacyArguments {
  json: boolean;
  /** Makes the command fail if something is not marked. */
  strict: boolean;
}

/**
 * Reads the command line of `npm run privacy`.
 *
 * @throws Error with a message for the terminal
 */
export function readPrivacyArguments(given: readonly string[]): PrivacyArguments {
  const fail = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'report')
    fail(command === undefined ? 'No command given. Usage:' : `Unknown command ${command}. Usage:`);
  const options = { json: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') fail(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) fail(`Unknown argument ${token.rawName}.`);
  }
  return { json: values.json === true, strict: values.strict === true };
}
