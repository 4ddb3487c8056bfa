import { ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import {
  comparableText,
  declaredTextBytes,
  normalize,
  TEXT_MODIFIERS,
  textMistakes,
  textSchema,
} from './text-rules.ts';

/** Long strings, kept as they come. */
export const textType: FieldType = {
  kind: 'text',
  column: () => 'text',
  // In an array, or in a declared index, it must fit.
  schema: (spec, { mostBytes }) => textSchema(spec, mostBytes),
  jsonSchema: (spec, _inner, direction) => textKeywords(spec, direction),
  operators: [],
  comparisons: () => ORDER,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase'],
  mistakes: textMistakes,
  textual: true,
  // A long text does not fit into a btree; a hash finds equal ones whatever their length.
  indexMethod: () => 'hash',
  indexedBytes: declaredTextBytes,
  comparable: comparableText,
  fromQuery: normalize,
};
