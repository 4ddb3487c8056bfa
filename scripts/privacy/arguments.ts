import { parseArgs } from 'node:util';

const USAGE = 'npm run privacy -- report [--json] [--strict]';

/** What was asked for at the command line. */
export interface PrivacyArguments {
  json: boolean;
  /** What is not marked fails the command. */
  strict: boolean;
}

/**
 * Reads the command line of `npm run privacy`.
 *
 * @throws Error with lines for the person at the terminal
 */
export function readPrivacyArguments(given: readonly string[]): PrivacyArguments {
  const wrong = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'report') wrong(command === undefined ? 'Say what to do:' : `Unknown command ${command}. There is:`);
  const options = { json: { type: 'boolean', default: false }, strict: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') wrong(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) wrong(`Unknown argument ${token.rawName}.`);
  }
  return { json: values.json === true, strict: values.strict === true };
}
