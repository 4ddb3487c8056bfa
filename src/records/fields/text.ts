import { ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import { comparableText, textMistakes, textSchema } from './text-rules.ts';

/** Long strings, kept as they come. */
export const textType: FieldType = {
  kind: 'text',
  column: () => 'text',
  // In an array it may stand in an index.
  schema: (spec, { mostBytes }) => textSchema(spec, mostBytes),
  jsonSchema: (spec, _inner, direction) => textKeywords(spec, direction),
  operators: [],
  comparisons: () => ORDER,
  modifiers: ['min', 'max', 'pattern', 'trim', 'lowercase', 'uppercase', 'filterable', 'searchable', 'encrypted'],
  mistakes: textMistakes,
  textual: true,
  // A long text does not fit into a btree; a hash finds equal ones whatever their length.
  indexMethod: () => 'hash',
  comparable: comparableText,
  fromQuery: (text) => text,
};
