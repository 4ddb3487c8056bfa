import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findExceededJsonLimit } from '../../../../src/platform/helpers/json/json-limits.ts';
import { scaleRuns } from '../../../support/vitest/fuzz-runs.ts';

const LEVELS = 'Must be nested at most 32 levels deep';
const VALUES = 'Must have at most 100000 values';
const FIELDS = 'Must have at most 10 fields in one object';

const check = (json: string, maxRootKeys?: number) => findExceededJsonLimit(Buffer.from(json), 10, maxRootKeys);
const fields = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":1`).join(',')}}`;

describe('nesting depth', () => {
  test.each([
    ['arrays', '[', '1', ']'],
    ['objects', '{"a":', '1', '}'],
    ['empty arrays', '[', '[]', ']'],
    ['with white space', ' [ \n', '\t1', ' ] '],
  ])('33 nested containers are accepted, 34 are refused: %s', (_, open, inner, close) => {
    const nested = (count: number) => open.repeat(count) + inner + close.repeat(count);
    const own = inner === '[]' ? 1 : 0;
    expect(check(nested(33 - own))).toBeUndefined();
    expect(check(nested(34 - own))).toBe(LEVELS);
  });

  test('sibling containers do not add up', () => {
    expect(check(`[${Array(1000).fill('[[],{}]').join(',')}]`)).toBeUndefined();
  });
});

describe('number of values', () => {
  test.each([
    ['numbers', '1'],
    ['strings with a comma', '"a,b"'],
    ['empty objects', '{}'],
    ['empty arrays', '[ ]'],
  ])('100,000 are accepted, one more is refused: %s', (_, item) => {
    const list = (count: number) => `[${Array(count).fill(item).join(',')}]`;
    expect(check(list(100_000))).toBeUndefined();
    expect(check(list(100_001))).toBe(VALUES);
  });

  test('the values of all objects and arrays count towards one limit', () => {
    const list = (count: number) => `[${Array(count).fill('[1,{"a":1}]').join(', ')}]`;
    expect(check(list(25_000))).toBeUndefined();
    expect(check(list(25_001))).toBe(VALUES);
  });
});

describe('number of fields in one object', () => {
  test.each([
    ['the whole body', (inner: string) => inner],
    ['in a field', (inner: string) => `{"a":${inner}}`],
    ['after another object', (inner: string) => `[{"a":1,"b":{"c":2}},${inner}]`],
  ])('the maximum is accepted, one more is refused: %s', (_, wrap) => {
    expect(check(wrap(fields(10)))).toBeUndefined();
    expect(check(wrap(fields(11)))).toBe(FIELDS);
  });

  test('the fields of an object are counted separately from those of nested objects', () => {
    expect(check(`{"a":${fields(10)},"b":${fields(10)},"c":1}`)).toBeUndefined();
  });

  test('the root object can have a separate limit', () => {
    expect(check(fields(500), Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(check(`{"a":${fields(11)}}`, Number.POSITIVE_INFINITY)).toBe(FIELDS);
    expect(check(`[${fields(11)}]`, Number.POSITIVE_INFINITY)).toBe(FIELDS);
  });
});

/** The same limits applied to the parsed value. The check of the text must agree with it. */
function excessOfValue(root: unknown): boolean {
  let values = 0;
  function exceeds(value: unknown, level: number): boolean {
    if (typeof value !== 'object' || value === null) return false;
    if (level > 32) return true;
    const inner = Object.values(value);
    values += inner.length;
    if (values > 100_000 || (!Array.isArray(value) && inner.length > 10)) return true;
    return inner.some((one) => exceeds(one, level + 1));
  }
  return exceeds(root, 0);
}

test('for any JSON with any white space, the text exceeds the limits exactly if the value does', () => {
  // Quotation marks, backslashes and brackets inside strings must not be mistaken for structure.
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('"', '\\', '{', '[', ']', '}', ',', ':', 'é', '\n', 'x'), maxLength: 20 }),
    fc.tuple(fc.integer({ min: 50, max: 80 }), fc.string({ maxLength: 5 })).map(([n, tail]) => 'x'.repeat(n) + tail),
    fc
      .tuple(fc.integer({ min: 55, max: 70 }), fc.constantFrom('"', '\\', '\\"', '""'))
      .map(([n, s]) => 'x'.repeat(n) + s),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true),
      fc.array(tie('value'), { maxLength: 12 }),
      fc.dictionary(text, tie('value'), { maxKeys: 12 }),
    ),
  }));
  const wrapped = fc.tuple(value, fc.integer({ min: 0, max: 34 })).map(([inner, levels]) => {
    let outer = inner;
    for (let i = 0; i < levels; i++) outer = i % 2 === 0 ? [outer] : { a: outer };
    return outer;
  });
  fc.assert(
    fc.property(wrapped, fc.constantFrom('', ' ', '\t', '\r\n  '), (root, space) => {
      expect(check(JSON.stringify(root, undefined, space)) !== undefined).toBe(excessOfValue(root));
    }),
    { numRuns: scaleRuns(1000) },
  );
});

test('invalid JSON does not throw', () => {
  const piece = fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', '1', ' ', 'a');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      check(pieces.join(''));
    }),
    { numRuns: scaleRuns(1000) },
  );
});
