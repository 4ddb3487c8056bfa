import { z } from 'zod';
import type { StandardSchema } from './standard-schema.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** Whether a schema describes what a caller passes, or what the schema returns. */
export type SchemaDirection = 'input' | 'output';

/** A schema that can convert itself to JSON Schema: https://standardschema.dev/json-schema */
interface Convertible {
  jsonSchema?: Record<SchemaDirection, (options: { target: 'draft-2020-12' }) => JsonSchema>;
}

const DATE_FORMATS: ReadonlySet<string | undefined> = new Set(['date-time', 'date', 'time', 'duration']);

/** Changes the JSON Schema of a part of a zod schema in place. */
type Override = (part: z.core.$ZodType, converted: JsonSchema) => void;

/** Converts a zod schema. Parts that zod cannot express in JSON Schema accept anything; objects in responses may gain members later. */
function convertZodSchema(schema: z.core.$ZodType, direction: SchemaDirection, override?: Override): JsonSchema {
  return z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    override({ zodSchema: part, jsonSchema }) {
      override?.(part, jsonSchema);
      // `format` says enough; zod's regular expressions for dates and times are very long.
      if (DATE_FORMATS.has(jsonSchema.format)) delete jsonSchema.pattern;
      // Omit zod's default bounds, which every integer in JSON has.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (direction === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
}

/** Whether a schema is one of zod 4. */
export const isZodSchema = (schema: object): schema is z.core.$ZodType => '_zod' in schema;

/** Converts a schema of zod, or any Standard Schema that provides JSON Schema. Returns undefined for schemas that cannot be converted. */
export function toJsonSchema(
  schema: StandardSchema,
  direction: SchemaDirection,
  override?: Override,
): JsonSchema | undefined {
  if (isZodSchema(schema)) return convertZodSchema(schema, direction, override);
  const { jsonSchema } = schema['~standard'] as Convertible;
  try {
    return jsonSchema?.[direction]({ target: 'draft-2020-12' });
  } catch {
    // By the convention, `jsonSchema` throws if JSON Schema cannot express the schema.
    return undefined;
  }
}
