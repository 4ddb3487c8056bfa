import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { type ColumnType, createStoredValueConverter } from '../column-type.ts';
import { type FieldType, NUMBERS, ORDER_COMPARISONS } from '../field-type.ts';
import { boundsJsonSchema } from '../json-schema.ts';
import { numberBoundErrors, parseQueryNumber, withNumberBounds } from './number.ts';

const BIGINT: ColumnType = {
  sql: 'bigint',
  noun: 'a whole number',
  jsonSchema: { type: 'integer' },
  number: true,
  castsToText: true,
  convertToStored: createStoredValueConverter(
    (value) => typeof value === 'number',
    Number.isSafeInteger,
    'Must be a whole number',
  ),
  exactCasts: (from) => (['smallint', 'integer'].includes(from) ? ['bigint'] : undefined),
  lossyCast: (column, from) =>
    ['double precision', 'numeric'].includes(from)
      ? { loss: 'fractions would be lost', example: `round(${column})::bigint` }
      : undefined,
};

/** Whole numbers within ±(2^53−1). */
export const integerType = {
  kind: 'integer',
  field: (): Field<number, 'optional', number, number, 'open', 'ordered'> => new Field({ type: integerType }),
  column: BIGINT,
  schema: (spec) =>
    withNumberBounds(z.number({ error: 'Must be a whole number' }).int({ error: 'Must be a whole number' }), spec),
  jsonSchema: (spec) => ({
    type: 'integer',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    ...boundsJsonSchema(spec, 'minimum', 'maximum'),
  }),
  jsonType: 'number',
  operators: ORDER_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  aggregations: NUMBERS,
  errors(spec) {
    const [min, max] = [spec.min, spec.max].map((bound) => bound?.value as number | undefined);
    const wrong = numberBoundErrors(spec);
    if (wrong.length > 0 || Number(min) > Number(max)) return wrong;
    const least = Math.ceil(Math.max(min ?? -Infinity, Number.MIN_SAFE_INTEGER));
    const most = Math.floor(Math.min(max ?? Infinity, Number.MAX_SAFE_INTEGER));
    return least <= most
      ? []
      : ['no whole number between min() and max() can be stored exactly, so no value would pass; change the bounds'];
  },
  indexMethod: () => 'btree',
  indexedBytes: () => 8,
  comparable: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  fromQuery: (text) => {
    const value = parseQueryNumber(text);
    return Number.isSafeInteger(value) ? value : undefined;
  },
} satisfies FieldType;
