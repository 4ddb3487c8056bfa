import { z } from 'zod';
import { recordShapes } from '../../declare/record-shape.ts';
import type { StandardSchema } from '../../declare/standard-schema.ts';
import type { Components, Json } from './schema.ts';

type Direction = 'input' | 'output';

/** A schema that knows how it is written as JSON Schema: https://standardschema.dev/json-schema */
interface Convertible {
  jsonSchema?: Record<Direction, (options: { target: 'draft-2020-12' }) => Json>;
}

const OPEN_OBJECT: Json = { type: 'object', additionalProperties: true };

/** Applies `change` to every object of a schema, innermost first. */
function mapObjects(value: unknown, change: (one: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return change(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapObjects(inner, change)])));
}

/**
 * Moves what a schema defines inside itself to the document's components, itself as well when it is recursive.
 *
 * @param name for definitions without a name of their own
 */
function settle(converted: Json, name: string, components: Components): Json {
  const { $schema: _dialect, $defs = {}, ...root } = converted;
  const parts = new Map(Object.entries($defs as Record<string, Json>).map(([key, part]) => [`#/$defs/${key}`, part]));
  const recursive = JSON.stringify(root).includes('"$ref":"#"');
  if (recursive) parts.set('#', root);
  const names = new Map(
    [...parts].map(([ref, part]) => {
      const own = ref.slice('#/$defs/'.length);
      return [ref, components.reserve('schemas', own === '' || own.startsWith('__') ? name : own, part)];
    }),
  );
  const point = (one: Json): Json => {
    const place = names.get(one.$ref as string);
    return place === undefined ? one : { ...one, $ref: `#/components/schemas/${place}` };
  };
  for (const [ref, part] of parts) components.set('schemas', names.get(ref)!, mapObjects(part, point) as Json);
  return recursive ? { $ref: `#/components/schemas/${names.get('#')}` } : (mapObjects(root, point) as Json);
}

/** What zod cannot say in JSON Schema stays open; records are referred to; an answer may gain members later. */
function zodSchema(schema: z.ZodType, direction: Direction, components: Components): Json {
  return z.toJSONSchema(schema, {
    io: direction,
    unrepresentable: 'any',
    override({ zodSchema: one, jsonSchema }) {
      const record = recordShapes.get(one as unknown as z.ZodType);
      if (record !== undefined) Object.assign(jsonSchema, components.record(record));
      // The format says it; zod's expression for it fills a screen.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
      // Bounds that every whole number in JSON has.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (direction === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  }) as Json;
}

function convert(schema: StandardSchema, direction: Direction, components: Components): Json {
  if ('_zod' in schema) return zodSchema(schema as unknown as z.ZodType, direction, components);
  const { jsonSchema } = schema['~standard'] as Convertible;
  try {
    return jsonSchema?.[direction]({ target: 'draft-2020-12' }) ?? OPEN_OBJECT;
  } catch {
    // By the convention it throws for what JSON Schema has no words for.
    return OPEN_OBJECT;
  }
}

/**
 * The schema of a shape as the document writes it: zod, or any Standard Schema that offers its JSON Schema; an open object
 * for another.
 *
 * @param name for parts of it that need one
 */
export function shapeSchema(schema: StandardSchema, direction: Direction, name: string, components: Components): Json {
  return settle(convert(schema, direction, components), name, components);
}
