import { expect, test } from 'vitest';
import { readMigrationArguments } from '../../../src/cli/migration/arguments.ts';
import { getUsageError } from '../../support/processes/usage-error.ts';

test.each([
  [['add', 'tasks'], 'add_tasks'],
  [['add tasks'], 'add_tasks'],
  [['Add', '--allow-loss', 'Tasks!'], 'add_tasks'],
  [['add', '--drop', 'posts.title', 'tasks'], 'add_tasks'],
  [['../../add', 'tasks'], 'add_tasks'],
  [[], undefined],
])('the words %j name the migration %s', (given, name) => {
  expect(readMigrationArguments(given).name).toBe(name);
});

test('loss is allowed, and a check made, only if requested', () => {
  const nothing = { allowLoss: false, check: false, empty: false };
  expect(readMigrationArguments(['add'])).toMatchObject(nothing);
  expect(readMigrationArguments(['add', '--allow-loss'])).toMatchObject({ ...nothing, allowLoss: true });
  expect(readMigrationArguments(['--check'])).toMatchObject({ ...nothing, check: true });
  expect(readMigrationArguments(['--empty'])).toMatchObject({ ...nothing, empty: true });
});

test('options take a space or =, can be repeated, and accept fields by field name or column name', () => {
  const { requested } = readMigrationArguments([
    '--rename',
    'posts.subTitle=headLine',
    '--rename=posts.a=b',
    '--rename-table=posts=articles',
    '--drop',
    'posts.oldOne',
    '--drop=posts.other',
    '--drop-table',
    'notes',
    '--using',
    "posts.age=nullif(age, '')::bigint",
    '--using=posts.due=case when due = 0 then null else to_timestamp(due) end',
  ]);
  expect(requested).toEqual({
    renamedColumns: [
      { table: 'posts', from: 'sub_title', to: 'head_line' },
      { table: 'posts', from: 'a', to: 'b' },
    ],
    renamedTables: [{ from: 'posts', to: 'articles' }],
    dropped: new Set(['posts.old_one', 'posts.other']),
    droppedTables: new Set(['notes']),
    using: new Map([
      ['posts.age', "nullif(age, '')::bigint"],
      ['posts.due', 'case when due = 0 then null else to_timestamp(due) end'],
    ]),
  });
});

test.each<[string[], string]>([
  [['genrate'], 'Unknown command genrate. Did you mean generate?'],
  [['generate', '--alow-loss'], 'Unknown option --alow-loss. Did you mean --allow-loss?'],
  [['generate', 'add', '-f', '--name=x'], 'Unknown option -f.'],
  [['generate', '--framework'], 'Unknown option --framework.'],
  [['generate', '!?'], 'A migration name needs letters (a to z) or digits, not only !?'],
  [
    ['generate', '--rename', 'title=headline'],
    '--rename title=headline is invalid. Example: --rename posts.title=headline',
  ],
  [['generate', '--rename'], '--rename needs a value: <table.column=name>.'],
  [['generate', '--rename='], '--rename needs a value: <table.column=name>.'],
  [['generate', '--rename-table', 'posts'], '--rename-table posts is invalid. Example: --rename-table posts=articles'],
  [['generate', '--drop=posts'], '--drop posts is invalid. Example: --drop posts.subtitle'],
  [['generate', '--drop-table', 'a;b'], '--drop-table a;b is invalid. Example: --drop-table notes'],
  [['generate', '--using', 'a.b='], `--using a.b= is invalid. Example: --using posts.age="nullif(age, '')::bigint"`],
  [['status', 'all'], 'status takes no arguments, but got: all.'],
  [['status', '--pending'], 'Unknown option --pending.'],
])('belfry migration %j is refused: %s', async (given, error) => {
  expect(await getUsageError(['migration', ...given])).toBe(error);
});

test.each([
  ['migrate --force', 'Unknown option --force.'],
  ['migrate --status', 'Unknown option --status.'],
  ['migrate --dry-rnu', 'Unknown option --dry-rnu. Did you mean --dry-run?'],
  ['migrate all', 'migrate takes no arguments, but got: all.'],
])('belfry %s is refused: %s', async (line, error) => {
  expect(await getUsageError(line)).toBe(error);
});
