import type { z } from 'zod';
import { recordShapes } from '../../declare/route.ts';
import { type SchemaDirection, toJsonSchema } from '../../platform/helpers/json-schema.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import type { Components, Json } from './schema.ts';

const OPEN_OBJECT: Json = { type: 'object', additionalProperties: true };

/** Applies `change` to every object inside a schema, innermost first. */
export function mapObjects(value: unknown, change: (object: Json) => Json): unknown {
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

/**
 * Converts a declared schema to JSON Schema for the document: a schema of zod, or any Standard Schema that provides JSON Schema. Other
 * schemas become `fallback`, an open object if it is left out. Records become references.
 *
 * @param name the name for parts of the schema that are stored as components and have no name
 * @param fallback the result for a schema that cannot be converted
 */
export function shapeSchema(
  schema: StandardSchema,
  direction: SchemaDirection,
  name: string,
  components: Components,
  fallback = OPEN_OBJECT,
): Json {
  const converted = toJsonSchema(schema, direction, (part, json) => {
    const record = recordShapes.get(part as unknown as z.ZodType);
    if (record !== undefined) Object.assign(json, components.recordReference(record));
  });
  return moveDefinitions(converted ?? fallback, name, components);
}
