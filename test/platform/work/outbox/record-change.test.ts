import { expect, test } from 'vitest';
import { isRecordChange } from '../../../../src/platform/work/outbox/table.ts';

test.each([
  ['a change of a record', { name: 'note.created', resource: 'note' }, true],
  [
    'a change of another resource whose name starts with the same letters',
    { name: 'notebook.created', resource: 'note' },
    false,
  ],
  ['a row of an extension that names a resource', { name: 'webhooks.event', resource: 'note' }, false],
  ['a row of an extension', { name: 'webhooks.event', resource: null }, false],
])('whether a row is a record change: %s', (_, row, expected) => {
  expect(isRecordChange(row)).toBe(expected);
});
