import { expect, test } from 'vitest';
import { readMigrationArguments } from '../../../scripts/migration/arguments.ts';

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

test('loss is allowed, and a check made, only when that is said', () => {
  const nothing = { allowLoss: false, check: false, empty: false };
  expect(readMigrationArguments(['add'])).toMatchObject(nothing);
  expect(readMigrationArguments(['add', '--allow-loss'])).toMatchObject({ ...nothing, allowLoss: true });
  expect(readMigrationArguments(['--check'])).toMatchObject({ ...nothing, check: true });
  expect(readMigrationArguments(['--empty'])).toMatchObject({ ...nothing, empty: true });
});

test('options are given with a space or with =, as often as needed, and fields by their names or their columns', () => {
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
  [['--alow-loss'], `Unknown option --alow-loss. There are: ${OPTIONS}`],
  [['add', '-f', '--name=x'], `Unknown option -f --name=x. There are: ${OPTIONS}`],
  [['!?'], 'A name needs letters a to z or digits, unlike !?'],
  [['--rename', 'title=headline'], '--rename title=headline should look like --rename posts.title=headline'],
  [['--rename'], '--rename  should look like --rename posts.title=headline'],
  [['--drop=posts'], '--drop posts should look like --drop posts.subtitle'],
  [['--drop-table', 'a;b'], '--drop-table a;b should look like --drop-table notes'],
  [['--using', 'a.b='], `--using a.b= should look like --using posts.age="nullif(age, '')::bigint"`],
])('%j is refused with one line', (given, message) => {
  expect(() => readMigrationArguments(given)).toThrow(new Error(message));
});
