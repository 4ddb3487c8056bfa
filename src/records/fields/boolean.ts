import { z } from 'zod';
import { EQUALITY } from './comparisons.ts';
import type { FieldType } from './field-type.ts';

/** `true` and `false`. */
export const booleanType: FieldType = {
  kind: 'boolean',
  column: () => 'boolean',
  schema: () => z.boolean({ error: 'Must be true or false' }),
  jsonSchema: () => ({ type: 'boolean' }),
  operators: EQUALITY,
  comparisons: () => EQUALITY,
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'encrypted'],
  indexMethod: () => 'btree',
  indexedBytes: () => 1,
  comparable: (value) => (typeof value === 'boolean' ? value : undefined),
  fromQuery: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};
