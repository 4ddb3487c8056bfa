import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import { normalize, textSchema } from './text-rules.ts';

/** Short strings. Trimming is on unless the declaration says `trim(false)`. */
export const stringType: FieldType = {
  kind: 'string',
  column: () => 'text',
  schema: textSchema,
  jsonSchema: textKeywords,
  operators: ['eq', 'ne', 'in', 'nin', 'exists'],
  modifiers: [
    'min',
    'max',
    'pattern',
    'trim',
    'lowercase',
    'uppercase',
    'unique',
    'index',
    'filterable',
    'sortable',
    'searchable',
    'encrypted',
  ],
  // Stored values are normalised, so only a normalised one can be equal.
  fromQuery: normalize,
};
