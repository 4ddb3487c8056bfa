import { expect, test } from 'vitest';
import { formatTitle, parseTitle } from '../../src/declare/title.ts';

const FULL = { first: 'Ada', middle: 'King', last: 'Lovelace', city: 'London', number: 7 };
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(FULL).filter(([name]) => !names.includes(name)));
const format = (title: string, values: Record<string, unknown>) => formatTitle(parseTitle(title), values);

test.each([
  ['first', 'Ada'],
  ['{first}', 'Ada'],
  ['{first} {last}', 'Ada Lovelace'],
  ['{last}, {first} {middle}', 'Lovelace, Ada King'],
  ['{first}{last}', 'AdaLovelace'],
  ['#{number} · {last}', '#7 · Lovelace'],
  ['No. {number}: {last} ({city})', 'No. 7: Lovelace (London)'],
  ['{first} ({city}) [{number}]', 'Ada (London) [7]'],
  ['{first} “{middle}” {last}', 'Ada “King” Lovelace'],
  ['{first} (no. {number}, {city}) / {last}', 'Ada (no. 7, London) / Lovelace'],
  ['{number} %', '7 %'],
  ['Customer {first} of {city}!', 'Customer Ada of London!'],
])('with all values, "%s" is "%s"', (title, text) => {
  expect(format(title, FULL)).toBe(text);
});

test.each([
  ['{first} {last}', ['first'], 'Lovelace'],
  ['{first} {last}', ['last'], 'Ada'],
  ['{first} {middle} {last}', ['middle'], 'Ada Lovelace'],
  ['{last}, {first} {middle}', ['last'], 'Ada King'],
  ['{last}, {first}', ['first'], 'Lovelace'],
  ['{first} · {middle} · {last}', ['middle'], 'Ada · Lovelace'],
  ['{first} · {middle} · {last}', ['first', 'middle'], 'Lovelace'],
  ['#{number} {last}', ['number'], 'Lovelace'],
  ['#{number} {last}', ['last'], '#7'],
  ['{last} #{number}', ['last'], '#7'],
  ['{last} ({city})', ['city'], 'Lovelace'],
  ['{last} ({city})', ['last'], '(London)'],
  ['{last} ({city}) · {number}', ['city'], 'Lovelace · 7'],
  ['{last} (in {city})', ['city'], 'Lovelace'],
  ['{first} “{middle}” {last}', ['middle'], 'Ada Lovelace'],
  ['No. {number}: {last}', ['number'], 'Lovelace'],
  ['{number} km', ['number'], undefined],
  ['{first} {last}', ['first', 'last'], undefined],
])('"%s" without %j is "%s"', (title, missing, text) => {
  expect(format(title, without(...missing))).toBe(text);
});

test.each([[null], [undefined], [''], ['  \n'], [Number.NaN], [{ $secret: true }], [['x']], [true]])(
  'the value %j is left out',
  (value) => {
    expect(format('{first} ({last})', { first: 'Ada', last: value })).toBe('Ada');
    expect(format('last', { last: value })).toBeUndefined();
  },
);

test('a value that looks like a template stays as it is, and names of the prototype are no fields', () => {
  expect(format('{first} {last}', { first: '{last} $&', last: 'X' })).toBe('{last} $& X');
  expect(format('{constructor} {first}', { first: 'Ada' })).toBe('Ada');
  expect(format('{number} {first}', { first: 'Ada', number: 0 })).toBe('0 Ada');
});
