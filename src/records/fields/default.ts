import type { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';

/** A default as a new value: functions are called, objects cloned, so that no two records share one. */
export function freshDefault(spec: FieldSpec): unknown {
  const value = typeof spec.default === 'function' ? spec.default() : structuredClone(spec.default);
  return value instanceof Date ? value.toISOString() : value;
}

/**
 * A default as it is stored; undefined where there is none. One that breaks the field's own rules is a fault of the declaration,
 * not of the client.
 *
 * @param schema of a value of the field that is there
 */
export function checkedDefault(name: string, spec: FieldSpec, schema: z.ZodType): unknown {
  const value = freshDefault(spec) ?? undefined;
  if (value === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`the default of the field "${name}" breaks its own rules: ${parsed.error.issues[0]?.message}`);
}
