import { expect, test } from 'vitest';
import { readMigrationArguments } from '../../scripts/migration-arguments.ts';

test.each([
  [['add', 'tasks'], 'add_tasks'],
  [['add tasks'], 'add_tasks'],
  [['Add', '--allow-loss', 'Tasks!'], 'add_tasks'],
  [['../../add', 'tasks'], 'add_tasks'],
  [[], undefined],
])('the words %j name the migration %s', (given, name) => {
  expect(readMigrationArguments(given).name).toBe(name);
});

test('loss is allowed only when that is said', () => {
  expect(readMigrationArguments(['add', '--allow-loss'])).toEqual({ name: 'add', allowLoss: true });
  expect(readMigrationArguments(['add']).allowLoss).toBe(false);
});

test.each([
  [['--alow-loss'], 'Unknown option --alow-loss. There is one: --allow-loss'],
  [['add', '-f', '--name=x'], 'Unknown option -f --name=x. There is one: --allow-loss'],
  [['!?'], 'A name needs letters a to z or digits, unlike !?'],
])('%j is refused with one line', (given, message) => {
  expect(() => readMigrationArguments(given)).toThrow(new Error(message));
});
