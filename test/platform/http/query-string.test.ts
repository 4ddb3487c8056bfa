import { parse } from 'node:querystring';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQueryString } from '../../../src/platform/http/query-string.ts';
import { anyQuery } from '../../support/any-text.ts';

test.each<[string | null | undefined, Record<string, string | string[]>]>([
  [undefined, {}],
  [null, {}],
  ['', {}],
  ['&&', {}],
  ['a=1', { a: '1' }],
  ['a', { a: '' }],
  ['a=', { a: '' }],
  ['=1', { '': '1' }],
  ['a=1=2', { a: '1=2' }],
  ['a=1&&b=2', { a: '1', b: '2' }],
  ['a=1&b=2&a=3&a=4', { a: ['1', '3', '4'], b: '2' }],
  ['a+b=c+d%2B', { 'a b': 'c d+' }],
  ['title%5Bne%5D=%C3%A4', { 'title[ne]': 'ä' }],
  ['q=%F0%9F%92%9A', { q: '💚' }],
  ['constructor=1', { constructor: '1' }],
])('?%s is parsed as %j', (text, parsed) => {
  expect({ ...parseQueryString(text) }).toEqual(parsed);
});

test('__proto__ is an ordinary parameter', () => {
  const query = parseQueryString('__proto__=1&__proto__=2');
  expect(Object.getPrototypeOf(query)).toBe(null);
  expect(Object.entries(query)).toEqual([['__proto__', ['1', '2']]]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test.each([
  ['a truncated escape', 'a=%'],
  ['a truncated escape in a name', 'a%2=1'],
  ['no hexadecimal digits', 'a=%zz'],
  ['a byte that starts no character', 'a=%ff'],
  ['a truncated character', 'a=%C3'],
  ['an overlong encoding', 'a=%C0%AF'],
  ['half of a surrogate pair', 'a=%ED%A0%80'],
  ['a code point beyond Unicode', 'a=%F4%90%80%80'],
])('%s responds 400', (_, text) => {
  expect(() => parseQueryString(text)).toThrow(
    expect.objectContaining({ status: 400, message: expect.stringContaining('%') }),
  );
});

test('1,000 parameters are accepted; 1,001 are refused and never truncated', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `p${i}=1`).join('&');
  expect(Object.keys(parseQueryString(many(1000)))).toHaveLength(1000);
  expect(() => parseQueryString(many(1001))).toThrow('at most 1000 parameters');
  expect(() => parseQueryString('&'.repeat(50_000))).toThrow('at most 1000 parameters');
});

test('well-formed query strings are parsed like node:querystring does', () => {
  fc.assert(
    fc.property(anyQuery, (text) => {
      expect({ ...parseQueryString(text) }).toEqual({ ...parse(text) });
    }),
  );
});
