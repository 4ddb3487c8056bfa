import { z } from 'zod';
import { isStorable } from '../../platform/postgres/storable.ts';
import type { FieldType } from './field-type.ts';

/** Message of JSON that Postgres cannot hold. */
export const UNSTORABLE_JSON = 'Must be JSON without NUL or broken characters';

/** Whether every string and key of a JSON value can be stored. The depth is capped where the body is read. */
export function isStorableJson(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isStorableJson);
  if (typeof value !== 'object' || value === null) return value === null || typeof value === 'boolean';
  return Object.keys(value).every((key) => isStorable(key) && isStorableJson((value as Record<string, unknown>)[key]));
}

/** Any JSON, kept as it is. */
export const jsonType: FieldType = {
  kind: 'json',
  column: () => 'jsonb',
  schema: () => z.unknown().refine(isStorableJson, { error: UNSTORABLE_JSON }),
  // Anything, except what is as good as nothing where something is required.
  jsonSchema: ({ required }, _inner, direction) =>
    required && direction === 'input' ? { not: { enum: [null, ''] } } : {},
  operators: ['exists'],
  comparisons: () => ['exists'],
  modifiers: ['filterable', 'encrypted'],
  toColumn: (value) => JSON.stringify(value),
};
