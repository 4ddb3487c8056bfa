const OPTIONS = ['--status', '--dry-run'];

/**
 * Reads the command line of `npm run migrate`.
 *
 * @returns what is to be told of the migrations, or that they are to be applied
 * @throws Error with a line for the person at the terminal
 */
export function readMigrateArguments(given: readonly string[]): 'status' | 'sql' | 'apply' {
  const unknown = given.filter((word) => !OPTIONS.includes(word));
  if (unknown.length > 0 || given.length > 1) {
    const wrong = unknown.length > 0 ? `Unknown argument ${unknown.join(' ')}.` : 'One at a time.';
    throw new Error(`${wrong} npm run migrate takes --status or --dry-run, or nothing.`);
  }
  if (given.length === 0) return 'apply';
  return given[0] === '--dry-run' ? 'sql' : 'status';
}
