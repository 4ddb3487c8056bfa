import { z } from 'zod';
import { recordShapes } from '../../declare/route.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import type { Components, Json } from './schema.ts';

type Direction = 'input' | 'output';

/** A schema that can convert itself to JSON Schema: https://standardschema.dev/json-schema */
interface Convertible {
  jsonSchema?: Record<Direction, (options: { target: 'draft-2020-12' }) => Json>;
}

const OPEN_OBJECT: Json = { type: 'object', additionalProperties: true };

/** Applies `change` to every object inside a schema, innermost first. */
function mapObjects(value: unknown, change: (object: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapObjects(inner, change)])));
}

/**
 * Moves the definitions inside a schema to the document's components, and a recursive schema itself as well.
 *
 * @param name the name for definitions without their own name
 */
function moveDefinitions(converted: Json, name: string, components: Components): Json {
  const { $schema: _dialect, $defs = {}, ...root } = converted;
  const parts = new Map(Object.entries($defs as Record<string, Json>).map(([key, part]) => [`#/$defs/${key}`, part]));
  const recursive = JSON.stringify(root).includes('"$ref":"#"');
  if (recursive) parts.set('#', root);
  const names = new Map(
    [...parts].map(([ref, part]) => {
      const own = ref.slice('#/$defs/'.length);
      return [ref, components.reserveName('schemas', own === '' || own.startsWith('__') ? name : own, part)];
    }),
  );
  const withReference = (one: Json): Json => {
    const componentName = names.get(one.$ref as string);
    return componentName === undefined ? one : { ...one, $ref: `#/components/schemas/${componentName}` };
  };
  for (const [ref, part] of parts)
    components.setPart('schemas', names.get(ref)!, mapObjects(part, withReference) as Json);
  return recursive ? { $ref: `#/components/schemas/${names.get('#')}` } : (mapObjects(root, withReference) as Json);
}

const DATE_FORMATS: ReadonlySet<string | undefined> = new Set(['date-time', 'date', 'time', 'duration']);

/**
 * Converts a zod schema. Parts that zod cannot express in JSON Schema accept anything; records become references; objects in responses may
 * gain members later.
 */
function convertZodSchema(schema: z.ZodType, direction: Direction, components: Components): Json {
  return z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    override({ zodSchema: one, jsonSchema }) {
      const record = recordShapes.get(one as unknown as z.ZodType);
      if (record !== undefined) Object.assign(jsonSchema, components.recordReference(record));
      // `format` says enough; zod's regular expressions for dates and times are very long.
      if (DATE_FORMATS.has(jsonSchema.format)) delete jsonSchema.pattern;
      // Omit zod's default bounds, which every integer in JSON has.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (direction === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as Json;
}

function toJsonSchema(schema: StandardSchema, direction: Direction, components: Components, fallback: Json): Json {
  if ('_zod' in schema) return convertZodSchema(schema as unknown as z.ZodType, direction, components);
  const { jsonSchema } = schema['~standard'] as Convertible;
  try {
    return jsonSchema?.[direction]({ target: 'draft-2020-12' }) ?? fallback;
  } catch {
    // By the convention, `jsonSchema` throws if JSON Schema cannot express the schema.
    return fallback;
  }
}

/**
 * Converts a declared schema to JSON Schema for the document: a schema of zod, or any Standard Schema that provides JSON Schema. Other
 * schemas become `fallback`, an open object if it is left out.
 *
 * @param name the name for parts of the schema that are stored as components and have no name
 * @param fallback the result for a schema that cannot be converted
 */
export function shapeSchema(
  schema: StandardSchema,
  direction: Direction,
  name: string,
  components: Components,
  fallback = OPEN_OBJECT,
): Json {
  return moveDefinitions(toJsonSchema(schema, direction, components, fallback), name, components);
}
