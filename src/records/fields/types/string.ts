import { Field } from '../../../declare/field.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { textJsonSchema } from '../json-schema.ts';
import {
  maxTextBytesByModifiers,
  normalizeText,
  shortTextSchema,
  TEXT_MODIFIERS,
  textBoundErrors,
  toComparableText,
} from '../text-rules.ts';

/** Short strings. They are trimmed unless the field has `trim(false)`, and stored in NFC unless it has `normalize(false)`. */
export const stringType = {
  kind: 'string',
  field: (): Field<string> => new Field({ type: stringType, trim: true, normalize: true }),
  column: TEXT,
  schema: shortTextSchema,
  jsonSchema: (spec, _inner, direction) => textJsonSchema(spec, direction),
  jsonType: 'string',
  takesAll: true,
  plainText: true,
  freeText: true,
  operators: EQUALITY_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase', 'normalize'],
  aggregations: COUNTED_VALUES,
  errors: textBoundErrors,
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: maxTextBytesByModifiers,
  comparable: toComparableText,
  // Stored values are normalised, so only a normalised value can be equal.
  fromQuery: normalizeText,
} satisfies FieldType;
