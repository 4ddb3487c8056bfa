import { type Logger, pino } from 'pino';

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

/**
 * Creates the logger of the process: JSON lines on standard output, secrets replaced by `[redacted]`.
 *
 * @param level a pino level, or `silent`
 * @param process the name of this process, included in every line; undefined: not known yet
 */
export function createLog(level: string, process: string | undefined): Logger {
  return pino({
    level,
    base: process === undefined ? {} : { process },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[redacted]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
