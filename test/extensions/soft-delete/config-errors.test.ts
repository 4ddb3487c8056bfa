import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };

function configErrorsOf(resources: Parameters<typeof createApp>[0]['resources'], extensions = [softDelete()]): string {
  try {
    createApp({ resources: [defineUser(), ...resources], extensions }, env);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
const soft = (name: string, options = {}) =>
  defineResource(name, { fields: { title: f.string() }, softDelete: true, ...options });

test('softDelete without its extension is a configuration error that names the extension', () => {
  expect(configErrorsOf([soft('note')], [])).toContain('softDelete: it requires the extension softDelete()');
});

test.each([0, -1, 1.5, 3651, '7', null])('keepDays %o is a configuration error', (keepDays) => {
  expect(configErrorsOf([], [softDelete({ keepDays: keepDays as never })])).toContain('softDelete.keepDays: must be');
});

test.each([
  ['deleted', 'adds the parameter'],
  ['deletedAt', 'adds the parameter'],
  ['deletedUnder', 'adds a column with this name'],
])('a field %s on a resource with softDelete is a configuration error', (name, why) => {
  expect(configErrorsOf([soft('note', { fields: { [name]: f.string() } })])).toContain(
    `field "${name}": softDelete ${why}`,
  );
});

test("no resource can use the table name of another resource's deleted records", () => {
  const other = defineResource('other', { fields: {}, collection: 'notes_deleted' });
  expect(configErrorsOf([soft('note'), other])).toContain('collection: "notes_deleted" is already the name of a table');
});

test('a table name that leaves no room for the suffix of the deleted-records table is a configuration error', () => {
  expect(configErrorsOf([soft('note', { collection: 'n'.repeat(56) })])).toContain('softDelete: the table');
  expect(configErrorsOf([soft('note', { collection: 'n'.repeat(54) })])).toBe('');
});
