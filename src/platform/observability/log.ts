import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger } from 'pino';

// Names of secrets, redacted at the top level of a log entry and up to two levels below.
const SECRET_NAMES = [
  'password',
  'currentPassword',
  'newPassword',
  'token',
  'secret',
  'authorization',
  'key',
  'cookie',
];

// Session tokens and API keys (svc_ and at least 20 characters), secrets of webhook endpoints, JSON Web Tokens, and 256 bits in hex.
const TOKENS =
  /(?<!\w)(?:(svc_)[\w-]{20,}|(whsec_)[\w+/=-]+|eyJ[\w-]+\.[\w-]+\.[\w-]*)|(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/gi;

/** Replaces everything in a text that looks like a token: a client may send a token in the wrong place, such as a path. */
export function redactTokens(text: string): string {
  return text.replace(TOKENS, (_token, service = '', webhook = '') => `${service}${webhook}[redacted]`);
}

type SerializedError = Record<string, unknown>;

/** An error of Redis carries its command, whose arguments may be passwords or addresses of clients: keeps only its name. */
function removeCommandArguments(error: SerializedError): SerializedError {
  const { command, lastNodeError } = error;
  const name = (command as { name?: unknown } | undefined)?.name;
  return {
    ...error,
    ...(typeof name === 'string' ? { command: name } : {}),
    ...(lastNodeError ? { lastNodeError: removeCommandArguments(lastNodeError as SerializedError) } : {}),
  };
}

function keepLine(line: string, onLine: (line: string) => void): string {
  onLine(line);
  return line;
}

/**
 * Creates the logger of the process: JSON lines on standard output, secrets replaced by `[redacted]`.
 *
 * @param level a pino level, or `silent`
 * @param process the name of this process, included in every line; undefined: not known yet
 * @param destination where the lines are written; default: standard output
 * @param fields called for each line; returns fields to add to it
 * @param onLine called with each line before it is written
 */
export function createLogger(
  level: string,
  process: string | undefined,
  destination?: DestinationStream,
  fields?: () => object,
  onLine?: (line: string) => void,
): Logger {
  const options: LoggerOptions = {
    level,
    base: process === undefined ? {} : { process },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    // Clients choose request ids, and some send a token by mistake.
    serializers: {
      requestId: (id: unknown) => (typeof id === 'string' ? redactTokens(id) : id),
      err: (error: unknown) =>
        error instanceof Error ? removeCommandArguments({ ...pino.stdSerializers.err(error) }) : error,
    },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    // pino adds the fields of the line to the object that it gets here.
    ...(fields === undefined ? {} : { mixin: () => ({ ...fields() }) }),
    ...(onLine === undefined ? {} : { hooks: { streamWrite: (line: string) => keepLine(line, onLine) } }),
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
