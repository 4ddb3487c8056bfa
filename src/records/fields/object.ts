import { z } from 'zod';
import type { AnyField, FieldSpec } from '../../declare/field.ts';
import { checkedDefault } from './default.ts';
import type { FieldType, SchemaContext } from './field-type.ts';
import { missingMessage, presentSchema } from './presence.ts';

/** A member, as it may be left out: a default fills it, else it is missing where it is required. */
function member(name: string, spec: FieldSpec, context: SchemaContext): z.ZodType {
  const schema = context.inner(spec);
  // Null is as good as nothing, except where a value is required.
  const given = (sent: unknown) => (spec.required ? sent : (sent ?? undefined));
  const present = presentSchema(spec, schema);
  if (!('default' in spec)) return z.preprocess(given, spec.required ? present : schema.optional());
  const filled = present
    .default(() => checkedDefault(name, spec, schema))
    .refine((value) => !spec.required || value !== undefined, { error: missingMessage(spec) });
  return z.preprocess(given, filled);
}

/** Objects of a declared shape; unknown keys are refused. */
export const objectType: FieldType = {
  kind: 'object',
  column: () => 'jsonb',
  schema: (spec, context) => {
    const shape: Record<string, z.ZodType> = {};
    for (const [name, field] of Object.entries(spec.shape as Record<string, AnyField>)) {
      shape[name] = member(name, field.spec, context);
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
  comparisons: () => ['exists'],
  modifiers: ['filterable', 'encrypted'],
  toColumn: (value) => JSON.stringify(value),
};
