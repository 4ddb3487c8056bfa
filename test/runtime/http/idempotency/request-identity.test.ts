import { isDeepStrictEqual } from 'node:util';
import type { Request } from 'express';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalizeRequest } from '../../../../src/runtime/http/idempotency/request-identity.ts';
import { scaleRuns } from '../../../support/vitest/fuzz-runs.ts';

const request = (query: object, more: object = {}) => ({ query, headers: {}, ...more }) as unknown as Request;
const textOf = (body: unknown) => canonicalizeRequest(request({}), body);

/** JSON with few distinct keys and values, so that equal values are common. */
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      10,
      1.5,
      Number.POSITIVE_INFINITY,
      '',
      '1',
      'null',
      'a',
      '"',
      '[]',
      '{}',
    ),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', '10', '9', '__proto__', '"'), tie('json'), { maxKeys: 3 }),
  ),
}));

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

test('two bodies have the same canonical text exactly when they are equal, regardless of field order', () => {
  const property = fc.property(json, json, (one, other) => {
    const [a, b] = [structuredClone(one), structuredClone(other)];
    expect(textOf(a) === textOf(b)).toBe(isDeepStrictEqual(a, b));
    expect(textOf(reversed(a))).toBe(textOf(a));
  });
  fc.assert(property, { numRuns: scaleRuns(1000) });
});

test('the canonical text depends on the query and on whether there is a body', () => {
  expect(canonicalizeRequest(request({ a: '1', b: '2' }), { x: 1 })).toBe(
    canonicalizeRequest(request({ b: '2', a: '1' }), { x: 1 }),
  );
  expect(canonicalizeRequest(request({ a: '1' }), { x: 1 })).not.toBe(
    canonicalizeRequest(request({ a: '2' }), { x: 1 }),
  );
  expect(canonicalizeRequest(request({}), undefined)).toBe(canonicalizeRequest(request({}), null));
  expect(canonicalizeRequest(request({}), {})).not.toBe(canonicalizeRequest(request({}), undefined));
});

test('a body parsed by middleware is compared as JSON', () => {
  const parsed = (body: unknown) => canonicalizeRequest(request({}, { body }), undefined);
  const at = new Date('2026-01-02T03:04:05.678Z');
  expect(parsed({ b: 1, a: { at, left: undefined } })).toBe(textOf({ a: { at: at.toISOString() }, b: 1 }));
  expect(parsed(Buffer.from('a'))).toBe(textOf({ base64: 'YQ==' }));
  expect(parsed(Buffer.from('a'))).not.toBe(parsed(Buffer.from('b')));
});

test.each([new URLSearchParams('a=1'), new Map([['a', 1]])])(
  'a body that JSON cannot represent is refused: %s',
  (body) => {
    const sent = request({}, { body, headers: { 'content-length': '3' } });
    expect(() => canonicalizeRequest(sent, undefined)).toThrow('cannot recognize a repetition');
  },
);
