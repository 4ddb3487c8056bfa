import { Field } from '../../../declare/field.ts';
import { TEXT } from '../column-type.ts';
import { type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { textJsonSchema } from '../json-schema.ts';
import {
  maxDeclaredTextBytes,
  normalizeText,
  TEXT_MODIFIERS,
  textBoundErrors,
  textSchema,
  toComparableText,
} from '../text-rules.ts';

/** Long strings, stored unchanged, or in NFC if they are unique or the declaration says `normalize()`. */
export const textType = {
  kind: 'text',
  field: (): Field<string, 'optional', string, string, 'open', 'unfiltered'> => new Field({ type: textType }),
  column: TEXT,
  // A text that is also in the index of its array, or in an index of the option `indexes`, must fit into that index.
  schema: (spec, { maxBytes }) => textSchema(spec, maxBytes),
  jsonSchema: (spec, _inner, direction) => textJsonSchema(spec, direction),
  jsonType: 'string',
  takesAll: true,
  plainText: true,
  freeText: true,
  operators: [],
  comparisons: () => ORDER_COMPARISONS,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase', 'normalize'],
  errors: textBoundErrors,
  textual: true,
  // A long text does not fit into a btree; a hash index finds equal texts of any length.
  indexMethod: () => 'hash',
  indexedBytes: maxDeclaredTextBytes,
  indexedByExpression: true,
  comparable: toComparableText,
  fromQuery: normalizeText,
} satisfies FieldType;
