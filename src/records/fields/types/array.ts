import { Field, type FieldMark, type FieldSpec, type Presence, type WriteAccess } from '../../../declare/field.ts';
import { boundedArraySchema } from '../../../platform/helpers/json/bounded-array.ts';
import { getArrayColumnType } from '../column-type.ts';
import { columnTypeOf, type FieldType, fieldTypeOf } from '../field-type.ts';
import { boundsJsonSchema } from '../json-schema.ts';
import { withRequiredCheck } from '../missing-values.ts';
import { lengthErrors, maxBytesInIndex } from '../text-rules.ts';
import { JSONB } from './json.ts';

// Maximum items without a declared maximum: far more than any list needs, and few enough that validating them cannot block a server.
const MAX_ITEMS = 10_000;

const itemSpecOf = ({ inner }: FieldSpec) => inner!.spec;

/** Whether an array field is stored as one jsonb value, not as a Postgres array: if its items are JSON or arrays themselves. */
function storesItemsAsJson(spec: FieldSpec): boolean {
  const item = columnTypeOf(itemSpecOf(spec));
  return item === JSONB || item.item !== undefined;
}

/** Converts each item with a conversion of its type, if the type has such a conversion and the column is a Postgres array (not jsonb). */
function convertItems(conversion: 'toColumn' | 'fromColumn' | 'fromJson', value: unknown, spec: FieldSpec): unknown {
  const item = itemSpecOf(spec);
  const type = fieldTypeOf(item);
  if (type[conversion] === undefined || storesItemsAsJson(spec)) return value;
  // An event that was stored before the field became an array holds a single value.
  return [value].flat().map((one) => type[conversion]!(one, item));
}

/** Arrays: scalar items in a Postgres array, other items in jsonb. */
export const arrayType = {
  kind: 'array',
  field: <T, I, C, M extends FieldMark>(
    inner: Field<T, Presence, I, C, WriteAccess, M>,
  ): Field<T[], 'optional', I[], T[], 'open', 'list' | Extract<M, 'file' | `to:${string}`>> =>
    new Field({ type: arrayType, inner }),
  column: (spec) => (storesItemsAsJson(spec) ? JSONB : getArrayColumnType(columnTypeOf(itemSpecOf(spec)))),
  schema: (spec, context) => {
    const min = spec.min === undefined ? 0 : Number(spec.min.value);
    const max = spec.max === undefined ? MAX_ITEMS : Number(spec.max.value);
    const item = itemSpecOf(spec);
    const schema = context.inner(item, storesItemsAsJson(spec) ? undefined : maxBytesInIndex(spec, undefined));
    return boundedArraySchema(withRequiredCheck(item, schema), {
      min,
      max,
      tooFew: spec.min?.message,
      tooMany: spec.max?.message,
      error: 'Must be an array',
    });
  },
  jsonSchema: (spec, inner) => ({
    type: 'array',
    items: inner(itemSpecOf(spec)),
    maxItems: MAX_ITEMS,
    ...boundsJsonSchema(spec, 'minItems', 'maxItems'),
  }),
  jsonType: 'array',
  operators: ['eq', 'in', 'nin', 'all', 'exists'],
  comparisons: (spec) => (storesItemsAsJson(spec) ? ['exists'] : ['eq', 'ne', 'in', 'nin', 'all', 'exists']),
  modifiers: ['min', 'max', 'index', 'filterable', 'searchable', 'encrypted', 'populate'],
  errors: (spec) => [
    ...lengthErrors(spec),
    ...(spec.max === undefined && Number(spec.min?.value) > MAX_ITEMS
      ? [`min(${spec.min?.value}) exceeds ${MAX_ITEMS}, the default maximum number of items; set max() as well`]
      : []),
    ...(spec.index && storesItemsAsJson(spec)
      ? [
          `index() does nothing on an array of ${itemSpecOf(spec).type.kind} fields: items are never compared; remove it`,
        ]
      : []),
    ...(spec.searchable && !fieldTypeOf(itemSpecOf(spec)).textual
      ? [`searchable() requires an array of text fields; remove it, or use filterable()`]
      : []),
    ...(spec.populate && itemSpecOf(spec).target === undefined
      ? ['populate() requires an array of references; remove it']
      : []),
  ],
  indexMethod: (spec) => (storesItemsAsJson(spec) ? undefined : 'gin'),
  comparable: (value, spec) => fieldTypeOf(itemSpecOf(spec)).comparable?.(value, itemSpecOf(spec)),
  toColumn: (value, spec) => (storesItemsAsJson(spec) ? JSON.stringify(value) : convertItems('toColumn', value, spec)),
  fromColumn: (value, spec) => convertItems('fromColumn', value, spec),
  fromJson: (value, spec) => convertItems('fromJson', value, spec),
  fromQuery: (text, spec) => fieldTypeOf(itemSpecOf(spec)).fromQuery?.(text, itemSpecOf(spec)),
} satisfies FieldType;
