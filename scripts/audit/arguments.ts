import { parseArgs } from 'node:util';

const USAGE = 'npm run audit -- verify [--expect <row>:<hash>] [--json]';

/** The parsed command line. */
export interface AuditArguments {
  /** A row that an earlier run printed. */
  expected: { id: number; hash: string } | undefined;
  json: boolean;
}

/**
 * Reads the command line of `npm run audit`.
 *
 * @throws Error with a message for the terminal
 */
export function readAuditArguments(given: readonly string[]): AuditArguments {
  const fail = (text: string): never => {
    throw new Error(`${text}\n${USAGE}`);
  };
  const [command, ...args] = given;
  if (command !== 'verify')
    fail(command === undefined ? 'No command given. Usage:' : `Unknown command ${command}. Usage:`);
  const options = { expect: { type: 'string' }, json: { type: 'boolean', default: false } } as const;
  const { values, tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional') fail(`Unknown argument ${token.value}.`);
    if (token.kind === 'option' && !Object.hasOwn(options, token.name)) fail(`Unknown argument ${token.rawName}.`);
  }
  const { expect, json } = values;
  if (expect === undefined) return { expected: undefined, json: json === true };
  const [, id, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(String(expect)) ?? [];
  if (hash === undefined) fail(`--expect must be a row as verify prints it (1234:9f86d0…), not ${expect}.`);
  return { expected: { id: Number(id), hash: hash! }, json: json === true };
}
