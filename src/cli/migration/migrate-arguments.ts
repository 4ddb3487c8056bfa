const OPTIONS = ['--status', '--dry-run'];

/**
 * Reads the command line of `npm run migrate`.
 *
 * @returns `status` and `sql` print, `apply` migrates
 * @throws Error with a message for the terminal
 */
export function readMigrateArguments(given: readonly string[]): 'status' | 'sql' | 'apply' {
  const unknown = given.filter((word) => !OPTIONS.includes(word));
  if (unknown.length > 0 || given.length > 1) {
    const problem = unknown.length > 0 ? `Unknown argument ${unknown.join(' ')}.` : 'Too many arguments.';
    throw new Error(`${problem} Usage: npm run migrate [-- --status | --dry-run]`);
  }
  if (given.length === 0) return 'apply';
  return given[0] === '--dry-run' ? 'sql' : 'status';
}
