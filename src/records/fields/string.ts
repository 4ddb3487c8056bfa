import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import {
  comparableText,
  indexedTextBytes,
  normalize,
  shortTextSchema,
  TEXT_MODIFIERS,
  textMistakes,
} from './text-rules.ts';

/** Short strings. Trimming is on unless the declaration says `trim(false)`. */
export const stringType: FieldType = {
  kind: 'string',
  column: () => 'text',
  schema: shortTextSchema,
  jsonSchema: (spec, _inner, direction) => textKeywords(spec, direction),
  operators: EQUALITY,
  comparisons: () => ORDER,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase'],
  mistakes: textMistakes,
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: indexedTextBytes,
  comparable: comparableText,
  // Stored values are normalised, so only a normalised one can be equal.
  fromQuery: normalize,
};
