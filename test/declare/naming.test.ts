import { expect, test } from 'vitest';
import { normalizeResourceName, pluralName, snakeCase, toWords } from '../../src/declare/naming.ts';
import { NAMES } from './resource-names.ts';

test.each([
  ['ProductCategory', 'product-category', 'product-categories', 'product_categories'],
  ['product-category', 'product-category', 'product-categories', 'product_categories'],
  ['product_category', 'product-category', 'product-categories', 'product_categories'],
  ['post', 'post', 'posts', 'posts'],
  ['Person', 'person', 'people', 'people'],
  ['news', 'news', 'news', 'news'],
  ['APIKey', 'api-key', 'api-keys', 'api_keys'],
])('%s is named %s, served at /%s, stored in %s', (declared, name, plural, table) => {
  expect(normalizeResourceName(declared)).toBe(name);
  expect(pluralName(name)).toBe(plural);
  expect(snakeCase(plural)).toBe(table);
});

test.each(Object.entries(NAMES))('a resource declared as %s is named %s, as in its type', (declared, name) => {
  expect(normalizeResourceName(declared)).toBe(name);
});

test.each([
  ['startsAt', 'Starts at'],
  ['product-category', 'Product category'],
  ['product_category', 'Product category'],
  ['imageURL', 'Image URL'],
  ['APIKey', 'API key'],
  ['line2', 'Line2'],
  ['x', 'X'],
  ['_internal', 'Internal'],
])('the words of %s are "%s"', (name, words) => {
  expect(toWords(name)).toBe(words);
});
