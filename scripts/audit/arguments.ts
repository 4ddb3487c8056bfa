import { parseArgs } from 'node:util';

const USAGE = 'npm run audit -- verify [--expect <row>:<hash>] [--json]';

/** What was asked for at the command line. */
export interface AuditArguments {
  /** A row that was noted earlier. */
  expected: { id: number; hash: string } | undefined;
  json: boolean;
}

/**
 * Reads the command line of `npm run audit`.
 *
 * @throws Error with lines for the person at the terminal
 */
export function readAuditArguments(given: readonly string[]): AuditArguments {
  const wrong = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'verify') wrong(command === undefined ? 'Say what to do:' : `Unknown command ${command}. There is:`);
  const options = { expect: { type: 'string' }, json: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') wrong(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) wrong(`Unknown argument ${token.rawName}.`);
  }
  const { expect, json } = values;
  if (expect === undefined) return { expected: undefined, json: json === true };
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(String(expect)) ?? [];
  if (hash === undefined) wrong(`--expect ${expect} should look as verify printed it: 1234:9f86d0….`);
  return { expected: { id: Number(id), hash: hash! }, json: json === true };
}
