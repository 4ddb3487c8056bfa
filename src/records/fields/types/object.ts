import { z } from 'zod';
import { type AnyField, Field, type FieldSpec, type Fields } from '../../../declare/field.ts';
import type { CreateInput, DataOf } from '../../../declare/infer.ts';
import type { FieldType, SchemaContext } from '../field-type.ts';
import { createValidDefault, missingValueMessage, withRequiredCheck } from '../missing-values.ts';
import { JSONB } from './json.ts';

/** The schema of a member that may be left out: its default replaces it; a required member without a default is reported as missing. */
function memberSchema(name: string, spec: FieldSpec, context: SchemaContext): z.ZodType {
  const schema = context.inner(spec);
  // Null counts as left out unless a value is required.
  const omitNull = (sent: unknown) => (spec.required ? sent : (sent ?? undefined));
  const checked = withRequiredCheck(spec, schema);
  if (!('default' in spec)) return z.preprocess(omitNull, spec.required ? checked : schema.optional());
  const filled = checked
    .default(() => createValidDefault(name, spec, schema))
    .refine((value) => !spec.required || value !== undefined, { error: missingValueMessage(spec) });
  return z.preprocess(omitNull, filled);
}

/** Objects of a declared shape; unknown keys are refused. */
export const objectType = {
  kind: 'object',
  field: <F extends Fields>(shape: F): Field<DataOf<F>, 'optional', CreateInput<F>, DataOf<F>, 'open', 'unfiltered'> =>
    new Field({ type: objectType, shape }),
  column: JSONB,
  schema: (spec, context) => {
    const shape: Record<string, z.ZodType> = {};
    for (const [name, field] of Object.entries(spec.shape as Record<string, AnyField>)) {
      shape[name] = memberSchema(name, field.spec, context);
    }
    const options = {
      error: (issue: { code?: string }) => (issue.code === 'invalid_type' ? 'Must be an object' : undefined),
    };
    return context.unknownFields === 'strip' ? z.object(shape, options) : z.strictObject(shape, options);
  },
  jsonSchema: (spec, inner, direction) => {
    const fields = Object.entries(spec.shape as Record<string, AnyField>);
    const isRequiredMember = ({ spec: own }: AnyField) =>
      direction === 'output' ? own.required || 'default' in own : own.required && !('default' in own);
    const required = fields.filter(([, field]) => isRequiredMember(field)).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(fields.map(([name, field]) => [name, inner(field.spec)])),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
    };
  },
  jsonType: 'object',
  freeText: true,
  operators: [],
  comparisons: () => ['exists'],
  modifiers: ['filterable', 'encrypted'],
  toColumn: (value) => JSON.stringify(value),
} satisfies FieldType;
