import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import { textSchema } from './text-rules.ts';

/** Long strings, kept as they come. */
export const textType: FieldType = {
  kind: 'text',
  column: () => 'text',
  schema: textSchema,
  jsonSchema: textKeywords,
  operators: [],
  modifiers: ['min', 'max', 'pattern', 'trim', 'lowercase', 'uppercase', 'filterable', 'searchable', 'encrypted'],
  fromQuery: (text) => text,
};
