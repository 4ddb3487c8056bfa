import { expect, test } from 'vitest';
import { takeEntriesWithinBytes, unpackRecordChange } from '../../../../src/extensions/realtime/events/entry.ts';
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
  const change = unpackRecordChange({ id: '1-0', field: 'e', text }, new Map([['pet', view as never]]));
  expect([...change!.erasedFields]).toEqual(untold);
});
