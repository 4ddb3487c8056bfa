import { z } from 'zod';
import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { comparableText } from './text-rules.ts';

const ID = /^[0-9a-f]{24}$/i;

/** A 24-character hex id, in either case; stored in lower case. */
export const idType: FieldType = {
  kind: 'id',
  column: () => 'text',
  schema: () =>
    z
      .string({ error: 'Must be a 24-character hex id' })
      .regex(ID, { error: 'Must be a 24-character hex id' })
      .transform((text) => text.toLowerCase()),
  jsonSchema: (_spec, _inner, direction) => ({
    type: 'string',
    pattern: direction === 'output' ? '^[0-9a-f]{24}$' : '^[0-9a-fA-F]{24}$',
  }),
  operators: EQUALITY,
  comparisons: () => ORDER,
  modifiers: ['unique', 'index', 'filterable', 'sortable'],
  indexMethod: () => 'btree',
  indexedBytes: () => 24,
  comparable: (value) => comparableText(value)?.toLowerCase(),
  fromQuery: (text) => (ID.test(text) ? text.toLowerCase() : undefined),
};
