import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { getStartupErrorOfField } from '../../support/startup-error.ts';

const linesOf = (field: AnyField) => getStartupErrorOfField(field).split('\n').slice(1);

test.each<[string, unknown, string]>([
  ['a promise', Promise.resolve(1), '#<Promise> could not be cloned.'],
  ['an object that contains a function', { a: () => 1 }, '() => 1 could not be cloned.'],
  ['a symbol', Symbol('x'), 'Symbol(x) could not be cloned.'],
  ['an invalid date', new Date(Number.NaN), 'Invalid time value'],
])('a default that cannot be copied for each record is reported at the start: %s', (_what, value, reason) => {
  const text = `default(): it cannot be copied for each record (${reason}); use plain data, or a function that returns the value`;
  expect(linesOf(f.json().default(value as never))).toEqual([`  - resource "thing": field "a": ${text}`]);
  expect(linesOf(f.object({ b: f.json().default(value as never) }))).toEqual([
    `  - resource "thing": field "a.b": ${text}`,
  ]);
});

test('if an object has a default, an invalid default inside it is reported once and not again for the object', () => {
  const inner = f.string().min(3).default('x');
  const message = "default() violates the field's own rules: Must be at least 3 characters";
  expect(linesOf(f.object({ b: inner }).default({}))).toEqual([`  - resource "thing": field "a.b": ${message}`]);
  expect(linesOf(f.array(f.object({ b: inner })).default([{}]))).toEqual([
    `  - resource "thing": field "a[].b": ${message}`,
  ]);
});
