import { expect, test } from 'vitest';
import { readMigrationArguments } from '../../../src/cli/migration/arguments.ts';

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

const OPTIONS = '--rename --rename-table --using --drop --drop-table --allow-loss --check --empty --framework';

test.each([
  [['--alow-loss'], `Unknown option --alow-loss. Options: ${OPTIONS}`],
  [['add', '-f', '--name=x'], `Unknown option -f --name=x. Options: ${OPTIONS}`],
  [['!?'], 'A migration name needs letters (a to z) or digits, not only !?'],
  [['--rename', 'title=headline'], '--rename title=headline is malformed. Example: --rename posts.title=headline'],
  [['--rename'], '--rename  is malformed. Example: --rename posts.title=headline'],
  [['--drop=posts'], '--drop posts is malformed. Example: --drop posts.subtitle'],
  [['--drop-table', 'a;b'], '--drop-table a;b is malformed. Example: --drop-table notes'],
  [['--using', 'a.b='], `--using a.b= is malformed. Example: --using posts.age="nullif(age, '')::bigint"`],
])('%j is refused with one line', (given, message) => {
  expect(() => readMigrationArguments(given)).toThrow(new Error(message));
});
