import { z } from 'zod';
import { Field, type FieldSpec } from '../../../declare/field.ts';
import { type ColumnType, createStoredValueConverter } from '../column-type.ts';
import { type FieldType, NUMBERS, ORDER_COMPARISONS } from '../field-type.ts';
import { boundsJsonSchema } from '../json-schema.ts';

const DECIMAL = /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Checks the bounds of a number field. */
export function withNumberBounds(schema: z.ZodType<number>, spec: FieldSpec): z.ZodType<number> {
  const min = spec.min === undefined ? -Infinity : Number(spec.min.value);
  const max = spec.max === undefined ? Infinity : Number(spec.max.value);
  return (
    schema
      // Postgres and JSON would return −0 as 0; normalise it here.
      .transform((value) => (value === 0 ? 0 : value))
      .refine((value) => value >= min, { error: spec.min?.message ?? `Must be at least ${min}` })
      .refine((value) => value <= max, { error: spec.max?.message ?? `Must be at most ${max}` })
  );
}

/** Errors in the bounds of a number. */
export function numberBoundErrors({ min, max }: FieldSpec): string[] {
  return Object.entries({ min, max })
    .filter(([, bound]) => bound !== undefined && !Number.isFinite(bound.value))
    .map(([name, bound]) => `${name}(${String(bound!.value)}) is not a number`);
}

/** Parses a decimal number in a query parameter; undefined for anything else. */
export function parseQueryNumber(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

const DOUBLE: ColumnType = {
  sql: 'double precision',
  noun: 'a number',
  jsonSchema: { type: 'number' },
  number: true,
  castsToText: true,
  convertToStored: createStoredValueConverter(
    (value) => typeof value === 'number',
    Number.isFinite,
    'Must be a number',
  ),
  // Whole numbers are within ±(2^53−1), which a double holds exactly.
  exactCasts: (from) => (['smallint', 'integer', 'bigint'].includes(from) ? ['double precision'] : undefined),
  lossyCast: (column, from) =>
    from === 'numeric'
      ? { loss: 'digits beyond double precision would be lost', example: `${column}::double precision` }
      : undefined,
};

/** Finite numbers; a numeric string is refused. */
export const numberType = {
  kind: 'number',
  field: (): Field<number, 'optional', number, number, 'open', 'ordered'> => new Field({ type: numberType }),
  column: DOUBLE,
  schema: (spec) => withNumberBounds(z.number({ error: 'Must be a number' }), spec),
  jsonSchema: (spec) => ({ type: 'number', ...boundsJsonSchema(spec, 'minimum', 'maximum') }),
  jsonType: 'number',
  takesAll: true,
  operators: ORDER_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  aggregations: NUMBERS,
  errors: numberBoundErrors,
  indexMethod: () => 'btree',
  indexedBytes: () => 8,
  comparable: (value) => (Number.isFinite(value) ? (value as number) : undefined),
  fromQuery: parseQueryNumber,
} satisfies FieldType;
