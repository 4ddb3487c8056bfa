import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

// Secrets are named, wherever they stand one or two levels deep in a log entry.
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
 * The process's logger: JSON lines on standard output, secrets replaced by `[redacted]`.
 *
 * @param level a pino level, or `silent`
 * @param process the name of this process, carried by every line; undefined: not known yet
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
