// Codes of Node such as EPIPE have the same form, but no class of errors of Postgres starts with E.
const SQLSTATE = /^(?!E)[0-9A-Z]{5}$/;

/** Whether an error is an answer of Postgres, as opposed to an error of the network. */
function isAnswer({ code = '' }: NodeJS.ErrnoException): boolean {
  return SQLSTATE.test(code);
}

/** Describes why Postgres is not usable, as the rest of a sentence that begins with the address of Postgres. */
export function describePostgresProblem(error: unknown): string {
  const { message = String(error), code = '' } = error as NodeJS.ErrnoException;
  return `${isAnswer(error as NodeJS.ErrnoException) ? 'refuses the connection' : 'cannot be reached'}: ${message || code}`;
}

/**
 * Returns what to do if Postgres is not usable; undefined if its message says that.
 *
 * @param variable the variable of the address: `DATABASE_URL`
 */
export function suggestPostgresFix(error: unknown, variable: string): string | undefined {
  const { code = '' } = error as NodeJS.ErrnoException;
  // Class 28: invalid authorization. 3D000: there is no such database.
  if (/^28/.test(code)) return `check the user and the password in ${variable}`;
  if (code === '3D000') return `create the database, or check its name in ${variable}`;
  return isAnswer(error as NodeJS.ErrnoException) ? undefined : `check ${variable}, and that Postgres runs`;
}
