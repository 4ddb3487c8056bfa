import { Command, InvalidArgumentError } from 'commander';
import { snakeCase } from '../../declare/naming.ts';
import type { RequestedChanges } from '../../runtime/migrations/plan/requested-changes.ts';

/** The parsed command line of `migration generate`. */
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

const NAME = '([A-Za-z_][A-Za-z0-9_]*)';

/** The options with a value: the format of the value as shown in the help, an example, and the pattern. */
const VALUE_OPTIONS = [
  {
    flags: '--rename <table.column=name>',
    description: 'A column has a new name',
    example: 'posts.title=headline',
    pattern: new RegExp(`^${NAME}\\.${NAME}=${NAME}$`),
  },
  {
    flags: '--rename-table <table=name>',
    description: 'A table has a new name',
    example: 'posts=articles',
    pattern: new RegExp(`^${NAME}=${NAME}$`),
  },
  {
    flags: '--using <table.column=expression>',
    description: 'Convert the values of a column with an SQL expression',
    example: `posts.age="nullif(age, '')::bigint"`,
    pattern: new RegExp(`^${NAME}\\.${NAME}=(.+)$`, 's'),
  },
  {
    flags: '--drop <table.column>',
    description: 'Drop a column with its values',
    example: 'posts.subtitle',
    pattern: new RegExp(`^${NAME}\\.${NAME}$`),
  },
  {
    flags: '--drop-table <table>',
    description: 'Drop a table with its rows',
    example: 'notes',
    pattern: new RegExp(`^${NAME}$`),
  },
];

/** The options as commander parses them: those with a value are lists of the groups of their patterns. */
interface ParsedOptions {
  rename?: string[][];
  renameTable?: string[][];
  using?: string[][];
  drop?: string[][];
  dropTable?: string[][];
  allowLoss?: boolean;
  check?: boolean;
  empty?: boolean;
}

/** Adds the arguments and options of `migration generate` to a command. */
export function addGenerateOptions(command: Command): Command {
  command.argument('[name...]', 'The name of the migration, one or more words');
  for (const { flags, description, example, pattern } of VALUE_OPTIONS) {
    const option = flags.split(' ')[0];
    command.option(flags, `${description}. Can be repeated`, (text: string, earlier: string[][] = []) => {
      const match = pattern.exec(text);
      if (match === null) throw new InvalidArgumentError(`Example: ${option} ${example}`);
      return [...earlier, match.slice(1)];
    });
  }
  return command
    .option('--allow-loss', 'Drop everything that is no longer declared')
    .option('--check', 'Write nothing; fail if declarations and migrations differ')
    .option('--empty', 'Write an empty migration for your own SQL');
}

function toRequestedChanges(options: ParsedOptions): RequestedChanges {
  // A field may be given by its declared name. Its column is in snake case.
  const columnPath = (table: string, name: string) => `${table}.${snakeCase(name)}`;
  const { rename = [], renameTable = [], using = [], drop = [], dropTable = [] } = options;
  return {
    renamedTables: renameTable.map(([from, to]) => ({ from: from!, to: to! })),
    renamedColumns: rename.map(([table, from, to]) => ({ table: table!, from: snakeCase(from!), to: snakeCase(to!) })),
    using: new Map(using.map(([table, name, expression]) => [columnPath(table!, name!), expression!])),
    dropped: new Set(drop.map(([table, name]) => columnPath(table!, name!))),
    droppedTables: new Set(dropTable.map(([table]) => table!)),
  };
}

/**
 * Reads the arguments of `migration generate`.
 *
 * @throws Error with a message for the terminal
 */
export function readMigrationArguments(given: readonly string[]): MigrationArguments {
  const command = addGenerateOptions(new Command('generate').exitOverride().configureOutput({ writeErr: () => {} }));
  command.parse(given, { from: 'user' });
  const { allowLoss = false, check = false, empty = false, ...options } = command.opts<ParsedOptions>();
  const words = command.args.join(' ');
  const name = words
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '');
  if (words !== '' && name === '')
    throw new Error(`A migration name needs letters (a to z) or digits, not only ${words}`);
  return { name: name || undefined, allowLoss, check, empty, requested: toRequestedChanges(options) };
}
