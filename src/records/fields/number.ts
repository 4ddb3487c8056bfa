import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';
import { ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { boundKeywords } from './json-schema.ts';

const DECIMAL = /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** The bounds of a number field, checked on a number. */
export function bounded(schema: z.ZodType<number>, spec: FieldSpec): z.ZodType<number> {
  const min = spec.min === undefined ? -Infinity : Number(spec.min.value);
  const max = spec.max === undefined ? Infinity : Number(spec.max.value);
  return (
    schema
      // −0 would come back as 0 from Postgres and JSON; make them one value here.
      .transform((value) => (value === 0 ? 0 : value))
      .refine((value) => value >= min, { error: spec.min?.message ?? `Must be at least ${min}` })
      .refine((value) => value <= max, { error: spec.max?.message ?? `Must be at most ${max}` })
  );
}

/** What is wrong with bounds of a number. */
export function numberMistakes({ min, max }: FieldSpec): string[] {
  return Object.entries({ min, max })
    .filter(([, bound]) => bound !== undefined && !Number.isFinite(bound.value))
    .map(([name, bound]) => `${name}(${String(bound!.value)}) is not a number`);
}

/** A decimal number in a query parameter; undefined for anything else. */
export function numberFromQuery(text: string): number | undefined {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}

/** Finite numbers; a numeric string is refused. */
export const numberType: FieldType = {
  kind: 'number',
  column: () => 'double precision',
  schema: (spec) => bounded(z.number({ error: 'Must be a number' }), spec),
  jsonSchema: (spec) => ({ type: 'number', ...boundKeywords(spec, 'minimum', 'maximum') }),
  operators: ORDER,
  comparisons: () => ORDER,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  mistakes: numberMistakes,
  indexMethod: () => 'btree',
  indexedBytes: () => 8,
  comparable: (value) => (Number.isFinite(value) ? (value as number) : undefined),
  fromQuery: numberFromQuery,
};
