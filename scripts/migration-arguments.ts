/** What was asked of `npm run migration:generate`. */
export interface MigrationArguments {
  /** All words as a part of a file name; undefined when there is none. */
  name: string | undefined;
  allowLoss: boolean;
}

/**
 * Reads the command line of `npm run migration:generate`.
 *
 * @throws Error with a line for the person at the terminal
 */
export function readMigrationArguments(given: readonly string[]): MigrationArguments {
  const unknown = given.filter((word) => word.startsWith('-') && word !== '--allow-loss');
  if (unknown.length > 0) throw new Error(`Unknown option ${unknown.join(' ')}. There is one: --allow-loss`);
  const words = given.filter((word) => word !== '--allow-loss').join(' ');
  const name = words
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  if (words !== '' && name === '') throw new Error(`A name needs letters a to z or digits, unlike ${words}`);
  return { name: name || undefined, allowLoss: given.includes('--allow-loss') };
}
