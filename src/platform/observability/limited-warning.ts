import type { Logger } from './log.ts';

/** Logs a warning. */
export type Warn = (details: object, message: string) => void;

/**
 * Creates a warning that is logged at most once per `everyMs`, for errors that repeat, such as those of a lost connection to Redis. The next
 * line says how many were left out, as `omitted`.
 */
export function createLimitedWarning(log: Pick<Logger, 'warn'>, everyMs: number): Warn {
  let nextAt = 0;
  let omitted = 0;
  return (details, message) => {
    if (performance.now() < nextAt) {
      omitted += 1;
      return;
    }
    nextAt = performance.now() + everyMs;
    log.warn(omitted === 0 ? details : { ...details, omitted }, message);
    omitted = 0;
  };
}
