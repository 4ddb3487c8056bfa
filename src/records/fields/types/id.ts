import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { toComparableText } from '../text-rules.ts';

const ID = /^[0-9a-f]{24}$/i;

/** A 24-character hex id, in either case; stored in lower case. */
export const idType = {
  kind: 'id',
  field: (): Field<string> => new Field({ type: idType }),
  column: TEXT,
  schema: () =>
    z
      .string({ error: 'Must be a 24-character hex id' })
      .regex(ID, { error: 'Must be a 24-character hex id' })
      .transform((text) => text.toLowerCase()),
  jsonSchema: (_spec, _inner, direction) => ({
    type: 'string',
    pattern: direction === 'output' ? '^[0-9a-f]{24}$' : '^[0-9a-fA-F]{24}$',
  }),
  jsonType: 'string',
  plainText: true,
  // The id of a record elsewhere is not personal data by itself.
  personal: 'never',
  operators: EQUALITY_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['unique', 'index', 'filterable', 'sortable'],
  aggregations: COUNTED_VALUES,
  indexMethod: () => 'btree',
  indexedBytes: () => 24,
  comparable: (value) => toComparableText(value)?.toLowerCase(),
  fromQuery: (text) => (ID.test(text) ? text.toLowerCase() : undefined),
} satisfies FieldType;
