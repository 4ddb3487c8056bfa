import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { isStorable } from '../../../platform/data/postgres/values.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { toComparableText, toNfc } from '../text-rules.ts';

/** Returns the declared value that is the same text, apart from composed and decomposed letters; undefined if there is none. */
function findDeclaredValue(values: readonly string[], text: string): string | undefined {
  if (values.includes(text)) return text;
  const wanted = toNfc(text);
  return values.find((value) => toNfc(value) === wanted);
}

const toDeclaredValue = (values: readonly string[], value: unknown) =>
  typeof value === 'string' ? (findDeclaredValue(values, value) ?? value) : value;

/** One of the declared values. */
export const enumType = {
  kind: 'enum',
  field: <const V extends readonly [string, ...string[]]>(values: V): Field<V[number]> =>
    new Field({ type: enumType, values }),
  column: TEXT,
  schema: ({ values }) =>
    z.preprocess(
      (value) => toDeclaredValue(values!, value),
      z.enum(values as [string, ...string[]], { error: `Must be one of: ${values!.join(', ')}` }),
    ),
  jsonSchema: (spec) => ({ type: 'string', enum: spec.values }),
  jsonType: 'string',
  plainText: true,
  // In the audit trail, the first letter would identify the value, because there are few.
  maskedWhole: true,
  operators: EQUALITY_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['unique', 'index', 'filterable', 'sortable', 'searchable', 'encrypted'],
  aggregations: COUNTED_VALUES,
  errors({ values }) {
    if (!Array.isArray(values) || values.length === 0 || new Set(values).size < values.length)
      return ['enum() needs at least one value, and no duplicates'];
    const wrong = values.filter((value) => typeof value !== 'string' || value === '' || !isStorable(value));
    return wrong.map((value) => `enum() has ${JSON.stringify(value)}; each value must be a non-empty string`);
  },
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: ({ values }) => Math.max(...values!.map((value) => Buffer.byteLength(value))),
  comparable: (value, { values }) => toComparableText(toDeclaredValue(values!, value)),
  fromQuery: (text, { values }) => findDeclaredValue(values!, text),
} satisfies FieldType;
