/** The exit code if the command line is malformed. */
export const USAGE_ERROR = 2;

/** The exit code of a program that the user interrupts. */
export const INTERRUPTED = 130;

/** A failure that is reported by its message alone. */
export class Failure extends Error {
  /**
   * @param {string} message what happened and what to do next
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Returns the message of any error.
 *
 * @param {unknown} error
 */
export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}
