import { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';

/** Whether a required value counts as missing: null and empty texts do. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

/** The message for a missing required value. */
export function missingValueMessage(spec: FieldSpec): string {
  return spec.requiredMessage ?? 'Is required';
}

/**
 * Returns the schema of an array item or an object member. If the field is required, the schema reports undefined, null and the empty string
 * as missing. Fields of a record itself are checked by `validate.ts`.
 */
export function withRequiredCheck(spec: FieldSpec, schema: z.ZodType): z.ZodType {
  if (!spec.required) return schema;
  return z
    .unknown()
    .superRefine((value, issues) => {
      if (isBlank(value)) issues.addIssue({ code: 'custom', message: missingValueMessage(spec) });
    })
    .pipe(schema);
}

function copyDefault(value: unknown): unknown {
  if (typeof value === 'function') return value();
  // Also for a symbol, which cannot be cloned: such a default is an error.
  return typeof value === 'object' || typeof value === 'symbol' ? structuredClone(value) : value;
}

/** A fresh copy of a default: functions are called, objects cloned. No two records share a value. */
export function createDefaultValue(spec: FieldSpec): unknown {
  const value = copyDefault(spec.default);
  return value instanceof Date ? value.toISOString() : value;
}

/**
 * A default in its stored form; undefined if there is none.
 *
 * @param schema the schema of a non-null value of the field
 * @throws Error if the default breaks the field's own rules: an error of the declaration, not of the client
 */
export function createValidDefault(name: string, spec: FieldSpec, schema: z.ZodType): unknown {
  const value = createDefaultValue(spec) ?? undefined;
  if (value === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`the default of the field "${name}" violates its own rules: ${parsed.error.issues[0]?.message}`);
}
