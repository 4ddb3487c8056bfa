/** The parts of OpenAPI 3.1 documents that the reference reads (https://spec.openapis.org/oas/v3.1.1.html). Nothing here depends on a browser. */

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A part of the document that may stand for another one, with members of its own. */
interface Referable {
  $ref?: string;
}

export interface Schema extends Referable {
  type?: string | string[];
  format?: string;
  pattern?: string;
  description?: string;
  const?: Json;
  enum?: Json[];
  default?: Json;
  example?: Json;
  examples?: Json[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  uniqueItems?: boolean;
  contentMediaType?: string;
  readOnly?: boolean;
  writeOnly?: boolean;
  deprecated?: boolean;
  'x-personal-data'?: boolean;
}

/** The schema of each media type. */
export type Content = Record<string, { schema?: Schema }>;

export interface Parameter extends Referable {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema?: Schema;
}

export interface RequestBody extends Referable {
  description?: string;
  required?: boolean;
  content: Content;
}

export interface ResponseObject extends Referable {
  description?: string;
  headers?: Record<string, object>;
  content?: Content;
}

export interface RateLimit {
  limit: number;
  windowMs: number;
}

export interface OperationObject {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  deprecated?: boolean;
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses?: Record<string, ResponseObject>;
  security?: Record<string, string[]>[];
  'x-policy'?: string;
  'x-required-scope'?: string;
  'x-rate-limit'?: RateLimit;
  'x-recent-sign-in'?: boolean;
}

export const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Every scheme of an app is a token in the `Authorization` header. */
export interface SecurityScheme {
  bearerFormat?: string;
  description?: string;
}

/** What the typed client offers for a resource. */
export interface ResourceFacts {
  name: string;
  /** Below `/api`. */
  path: string;
  actions: string[];
  /** The custom routes: `POST /:id/publish`. */
  routes: string[];
}

export interface OpenApiDocument {
  info: { title: string; version: string; description?: string };
  paths?: Record<string, Partial<Record<(typeof METHODS)[number], OperationObject>>>;
  webhooks?: Record<string, { post: OperationObject }>;
  components?: { securitySchemes?: Record<string, SecurityScheme> };
  'x-resources'?: ResourceFacts[];
}

/** Whether a value is an object of JSON, not a list. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the part of the document to which a reference such as `#/components/schemas/Post` leads. */
function findPart($ref: string, document: OpenApiDocument): object | undefined {
  let part: unknown = document;
  for (const segment of $ref.replace(/^#\//, '').split('/')) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    part = isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined;
  }
  return isObject(part) ? part : undefined;
}

/** Follows `$ref`. Members beside it, such as a description, take precedence. */
export function resolve<T extends Referable>(part: T, document: OpenApiDocument): T {
  let current = part;
  // A chain of references in a correct document is short; the limit ends a circular one.
  for (let step = 0; step < 8 && current.$ref !== undefined; step++) {
    const { $ref, ...own } = current;
    // A reference leads to a part of the same kind.
    current = { ...findPart($ref, document), ...own } as T;
  }
  return current;
}

/** The name of the schema that a reference leads to. */
export const refName = ({ $ref }: Schema): string | undefined => $ref?.slice($ref.lastIndexOf('/') + 1);

const MAX_PARTS_DEPTH = 8;

/** Merges `allOf` into one schema, and follows references. */
export function flatten(schema: Schema, document: OpenApiDocument, depth = 0): Schema {
  const { allOf, ...own } = resolve(schema, document);
  // A schema may contain itself.
  if (allOf === undefined || depth === MAX_PARTS_DEPTH) return own;
  const parts = [...allOf.map((part) => flatten(part, document, depth + 1)), own];
  const properties: Record<string, Schema> = Object.assign({}, ...parts.map((part) => part.properties));
  const required = parts.flatMap((part) => part.required ?? []);
  return Object.assign(
    {},
    ...parts,
    Object.keys(properties).length > 0 && { properties },
    required.length > 0 && { required },
  );
}

const isNull = (schema: Schema) => schema.type === 'null' || schema.const === null;

/** A schema without `null`. */
export interface SimpleSchema {
  schema: Schema;
  isNullable: boolean;
  /** More than one, or none. */
  alternatives: Schema[];
}

/** Separates `null` from the other alternatives of a schema, and unwraps an alternative that remains alone. */
export function simplify(given: Schema, document: OpenApiDocument): SimpleSchema {
  const flat = flatten(given, document);
  const { anyOf, oneOf, ...own } = flat;
  if (Array.isArray(flat.type)) {
    const types = flat.type.filter((type) => type !== 'null');
    const [only] = types;
    return {
      schema: { ...flat, type: types.length === 1 && only !== undefined ? only : types },
      isNullable: types.length < flat.type.length,
      alternatives: [],
    };
  }
  const options = anyOf ?? oneOf;
  if (options === undefined) return { schema: flat, isNullable: isNull(flat), alternatives: [] };
  const rest = options.filter((option) => !isNull(resolve(option, document)));
  const isNullable = rest.length < options.length;
  const [first] = rest;
  if (first === undefined || rest.length > 1) return { schema: own, isNullable, alternatives: rest };
  const inner = simplify(first, document);
  return {
    schema: { ...inner.schema, ...own },
    isNullable: isNullable || inner.isNullable,
    alternatives: inner.alternatives,
  };
}

/** The media types of a body or response, the usual one first. */
export const mediaTypes = (part: { content?: Content } | undefined): string[] => Object.keys(part?.content ?? {});
