import { expect, test } from 'vitest';
import { type Entry, parseEntries, takeEntriesWithinBytes } from '../../../../src/extensions/realtime/events/entry.ts';
import { defineResource, f } from '../../../../src/index.ts';

test.each([
  [[], 0],
  [[5], 1],
  [[50], 1],
  [[50, 1], 1],
  [[4, 4, 2], 3],
  [[4, 4, 3], 2],
  [[1, 50, 1], 1],
])('of entries with %j bytes, the first that fit into 10 bytes are %i', (sizes, count) => {
  const entries = sizes.map((size, i) => ({ id: `1-${i}`, field: 'e', text: 'x'.repeat(size) }));
  expect(takeEntriesWithinBytes(entries, 10)).toEqual(entries.slice(0, count));
});

const fields = { homeCity: f.string(), name: f.string(), secret: f.password() };
const view = { name: 'pet', declaration: defineResource('pet', { fields }), fromOutbox: (columns: object) => columns };
const parse = (entries: Entry[]) =>
  parseEntries(entries, new Map([['pet', view as never]]), { error: () => undefined } as never);
const whole = { id: 'a', home_city: null, name: 'x' };
const redacted = { id: 'a', name: 'x' };

test.each([
  ['deleted', whole, null, []],
  ['deleted', redacted, null, ['homeCity']],
  ['updated', whole, whole, []],
  ['updated', whole, redacted, ['homeCity']],
  // The erasure emits an event of its own for this record.
  ['updated', redacted, redacted, []],
  ['created', redacted, null, []],
])('an event knows which of its values were erased: %s, %j, before %j', (action, record, previous, untold) => {
  const text = JSON.stringify(['e', `pet.${action}`, 'pet', '', record, previous]);
  const [change] = parse([{ id: '1-0', field: 'e', text }]).changes;
  expect([...change!.erasedFields]).toEqual(untold);
});

const entryOf = (resource: string) => JSON.stringify(['e', `${resource}.created`, resource, '', whole, null]);

test.each<[what: string, entries: [field: string, text: string][], changes: number, lost: boolean]>([
  ['nothing', [], 0, false],
  [
    'events',
    [
      ['e', entryOf('pet')],
      ['e', entryOf('pet')],
    ],
    2,
    false,
  ],
  [
    'a tick and an erasure',
    [
      ['t', ''],
      ['d', ''],
    ],
    0,
    false,
  ],
  ['an event of a resource that the app no longer has', [['e', entryOf('car')]], 0, false],
  [
    'a mark of dropped events',
    [
      ['e', entryOf('pet')],
      ['x', ''],
    ],
    1,
    true,
  ],
  [
    'an event that is not JSON',
    [
      ['e', '{'],
      ['e', entryOf('pet')],
    ],
    1,
    true,
  ],
])('entries are parsed: %s', (_, entries, changes, lost) => {
  const found = parse(entries.map(([field, text], i) => ({ id: `1-${i}`, field, text })));
  expect([found.changes.length, found.lost]).toEqual([changes, lost]);
});
