import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { isStorable } from '../../../platform/data/postgres/values.ts';
import type { StandardSchema } from '../../../platform/helpers/standard-schema.ts';
import type { ColumnType } from '../column-type.ts';
import type { FieldType } from '../field-type.ts';

/** Message for JSON that Postgres cannot hold. */
const UNSTORABLE_JSON = 'Must be JSON without NUL or broken characters';

/** Whether every string and key of a JSON value can be stored. The depth is limited when the body is read. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isStorableJson);
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'boolean';
  return Object.keys(value).every((key) => isStorable(key) && isStorableJson((value as Record<string, unknown>)[key]));
}

/** JSON. */
export const JSONB: ColumnType = {
  sql: 'jsonb',
  noun: 'JSON',
  jsonSchema: {},
  // Converts a value of code to plain JSON, as Postgres returns it.
  convertToStored(value) {
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) return { path: [], message: undefined };
    const copy = JSON.parse(text);
    return isStorableJson(copy) ? { value: copy } : { path: [], message: UNSTORABLE_JSON };
  },
};

/** Creates json fields. */
export interface CreateJsonField {
  (): Field<unknown, 'optional', unknown, unknown, 'open', 'opaque'>;
  /** @param schema validates the values, which get its types; its output, which must be JSON, is stored */
  <Output, Input>(schema: StandardSchema<Output, Input>): Field<Output, 'optional', Input, Output, 'open', 'opaque'>;
}

/** A json field; `given` is empty or holds the schema of its values. */
const createJsonField = ((...given: [StandardSchema?]) =>
  new Field({ type: jsonType, ...(given.length === 0 ? {} : { content: given[0]! }) })) as CreateJsonField;

/** Any JSON, stored unchanged, or the output of a schema. */
export const jsonType = {
  kind: 'json',
  field: createJsonField,
  column: JSONB,
  schema: () => z.unknown().refine(isStorableJson, { error: UNSTORABLE_JSON }),
  // A required value must not be null or an empty text.
  jsonSchema: ({ required }, _inner, direction) =>
    required && direction === 'input' ? { not: { enum: [null, ''] } } : {},
  jsonType: 'any',
  takesAll: true,
  freeText: true,
  operators: ['exists'],
  comparisons: () => ['exists'],
  modifiers: ['filterable', 'encrypted'],
  toColumn: (value) => JSON.stringify(value),
} satisfies FieldType;
