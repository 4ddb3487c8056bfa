import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { boundedArraySchema } from '../../../../src/platform/helpers/json/bounded-array.ts';

let checked = 0;
const item = z.string({ error: 'Must be a string' }).transform((text) => {
  checked += 1;
  return text.toUpperCase();
});
const schema = boundedArraySchema(item, {
  min: 1,
  max: 1000,
  error: ({ input }) => (input === undefined ? 'Is required' : 'Must be a list'),
});
const issuesOf = (input: unknown) => schema.safeParse(input).error?.issues.map(({ path, message }) => [path, message]);

test('each item is parsed by the item schema', () => {
  expect(schema.parse(['a', 'b'])).toEqual(['A', 'B']);
});

test.each([
  ['nothing', undefined, 'Is required'],
  ['an object', {}, 'Must be a list'],
  ['an empty list', [], 'Must be at least 1 item'],
  ['too many items', Array(1001).fill('a'), 'Must be at most 1000 items'],
])('a value of the wrong type or length reports one error, and its items are not checked: %s', (_, input, message) => {
  checked = 0;
  expect(issuesOf(input)).toEqual([[[], message]]);
  expect(checked).toBe(0);
});

test('the maximum number of items is accepted', () => {
  expect(schema.parse(Array(1000).fill('a'))).toHaveLength(1000);
});

describe('invalid items', () => {
  test('are reported by their index', () => {
    expect(issuesOf(['a', 1, 'b', null])).toEqual([
      [[1], 'Must be a string'],
      [[3], 'Must be a string'],
    ]);
  });

  test('stop the validation after 100 errors', () => {
    checked = 0;
    expect(issuesOf([...Array(100).fill(1), 'a'])).toHaveLength(100);
    expect(checked).toBe(0);
  });
});

test('the JSON Schema contains the item schema and both limits', () => {
  expect(z.toJSONSchema(z.strictObject({ list: schema }), { io: 'input' })).toMatchObject({
    properties: { list: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 1000 } },
    required: ['list'],
  });
});
