import { snakeCase } from '../../declare/naming.ts';
import type { RequestedChanges } from '../../runtime/migrations/plan/requested-changes.ts';

/** The parsed command line of `npx belfry migration generate`. */
export interface MigrationArguments {
  /** All words as part of a file name; undefined if there are none. */
  name: string | undefined;
  /** Drops everything that is no longer declared. */
  allowLoss: boolean;
  /** Only reports whether there is something to generate. */
  check: boolean;
  /** Creates a file without statements, to be written by hand. */
  empty: boolean;
  requested: RequestedChanges;
}

const FLAGS = ['--allow-loss', '--check', '--empty'] as const;

/** The format of an option's value. */
const EXAMPLES = {
  '--rename': 'posts.title=headline',
  '--rename-table': 'posts=articles',
  '--using': `posts.age="nullif(age, '')::bigint"`,
  '--drop': 'posts.subtitle',
  '--drop-table': 'notes',
} as const;

type ValueOption = keyof typeof EXAMPLES;

const NAME = '([A-Za-z_][A-Za-z0-9_]*)';
const PATTERNS: Record<ValueOption, RegExp> = {
  '--rename': new RegExp(`^${NAME}\\.${NAME}=${NAME}$`),
  '--rename-table': new RegExp(`^${NAME}=${NAME}$`),
  '--using': new RegExp(`^${NAME}\\.${NAME}=(.+)$`, 's'),
  '--drop': new RegExp(`^${NAME}\\.${NAME}$`),
  '--drop-table': new RegExp(`^${NAME}$`),
};

function isFlag(word: string): word is (typeof FLAGS)[number] {
  return (FLAGS as readonly string[]).includes(word);
}

/** Removes the options that have a value from a command line. `--drop x` and `--drop=x` are equivalent. */
function parseValueOptions(given: readonly string[]): { words: string[]; values: Map<ValueOption, string[][]> } {
  const words: string[] = [];
  const values = new Map<ValueOption, string[][]>();
  for (let at = 0; at < given.length; at++) {
    const [, option = given[at]!, joined] = /^(--[a-z-]+)=(.*)$/s.exec(given[at]!) ?? [];
    if (!Object.hasOwn(EXAMPLES, option)) {
      words.push(given[at]!);
      continue;
    }
    const form = EXAMPLES[option as ValueOption];
    const value = joined ?? given[++at] ?? '';
    const match = PATTERNS[option as ValueOption].exec(value);
    if (match === null) throw new Error(`${option} ${value} is malformed. Example: ${option} ${form}`);
    values.set(option as ValueOption, [...(values.get(option as ValueOption) ?? []), match.slice(1)]);
  }
  return { words, values };
}

function toRequestedChanges(values: Map<ValueOption, string[][]>): RequestedChanges {
  const valuesOf = (option: ValueOption) => values.get(option) ?? [];
  // A field may be given by its declared name. Its column is in snake case.
  const columnPath = (table: string, name: string) => `${table}.${snakeCase(name)}`;
  return {
    renamedTables: valuesOf('--rename-table').map(([from, to]) => ({ from: from!, to: to! })),
    renamedColumns: valuesOf('--rename').map(([table, from, to]) => ({
      table: table!,
      from: snakeCase(from!),
      to: snakeCase(to!),
    })),
    using: new Map(valuesOf('--using').map(([table, name, expression]) => [columnPath(table!, name!), expression!])),
    dropped: new Set(valuesOf('--drop').map(([table, name]) => columnPath(table!, name!))),
    droppedTables: new Set(valuesOf('--drop-table').map(([table]) => table!)),
  };
}

/**
 * Reads the command line of `npx belfry migration generate`.
 *
 * @throws Error with a message for the terminal
 */
export function readMigrationArguments(given: readonly string[]): MigrationArguments {
  const { words: remainingWords, values } = parseValueOptions(given);
  const unknown = remainingWords.filter((word) => word.startsWith('-') && !isFlag(word));
  if (unknown.length > 0) {
    const known = [...Object.keys(EXAMPLES), ...FLAGS].join(' ');
    throw new Error(`Unknown option ${unknown.join(' ')}. Options: ${known}`);
  }
  const words = remainingWords.filter((word) => !isFlag(word)).join(' ');
  const name = words
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  if (words !== '' && name === '')
    throw new Error(`A migration name needs letters (a to z) or digits, not only ${words}`);
  return {
    name: name || undefined,
    allowLoss: remainingWords.includes('--allow-loss'),
    check: remainingWords.includes('--check'),
    empty: remainingWords.includes('--empty'),
    requested: toRequestedChanges(values),
  };
}
