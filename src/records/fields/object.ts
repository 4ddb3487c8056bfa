import { z } from 'zod';
import type { AnyField, FieldSpec } from '../../declare/field.ts';
import type { FieldType, SchemaContext } from './field-type.ts';

/** A default as a new value: functions are called, objects cloned, so that no two records share one. */
export function freshDefault(spec: FieldSpec): unknown {
  return typeof spec.default === 'function' ? spec.default() : structuredClone(spec.default);
}

function member(spec: FieldSpec, context: SchemaContext): z.ZodType {
  const schema = context.inner(spec);
  if ('default' in spec)
    return z.preprocess(
      (value) => value ?? undefined,
      schema.default(() => freshDefault(spec) as never),
    );
  if (spec.required) {
    const missing = spec.requiredMessage ?? 'Is required';
    return z
      .unknown()
      .superRefine((value, issues) => {
        if (value === undefined || value === null) issues.addIssue({ code: 'custom', message: missing });
      })
      .pipe(schema);
  }
  return z.preprocess((value) => value ?? undefined, schema.optional());
}

/** Objects of a declared shape; unknown keys are refused. */
export const objectType: FieldType = {
  kind: 'object',
  column: () => 'jsonb',
  schema: (spec, context) => {
    const shape: Record<string, z.ZodType> = {};
    for (const [name, field] of Object.entries(spec.shape as Record<string, AnyField>)) {
      shape[name] = member(field.spec, context);
    }
    const options = {
      error: (issue: { code?: string }) => (issue.code === 'invalid_type' ? 'Must be an object' : undefined),
    };
    return context.unknownFields === 'strip' ? z.object(shape, options) : z.strictObject(shape, options);
  },
  jsonSchema: (spec, inner, direction) => {
    const fields = Object.entries(spec.shape as Record<string, AnyField>);
    const there = ({ spec: own }: AnyField) =>
      direction === 'output' ? own.required || 'default' in own : own.required && !('default' in own);
    const required = fields.filter(([, field]) => there(field)).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(fields.map(([name, field]) => [name, inner(field.spec)])),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
  },
  operators: [],
  modifiers: ['filterable', 'encrypted'],
  toColumn: (value) => JSON.stringify(value),
};
