import type { Schema } from './document.ts';

/** Maximum length of a line. */
const MAX_LINE = 120;
/** Maximum nesting of references in schemas, which may refer to themselves. */
const MAX_DEPTH = 12;
/** Maximum nesting of schemas, with and without references. */
const MAX_LEVEL = 500;
/** Maximum length of all types of a file. Also bounds the time of schemas whose alternatives are written only once. */
const MAX_CHARACTERS = 5_000_000;

/** How a schema is converted. */
export interface TypeContext {
  /** `input`: values that clients send, so dates may also be a number or a Date. */
  direction: 'input' | 'output';
  /** Returns the type of a reference; undefined for one that is replaced by its schema. */
  typeOfReference(name: string): string | undefined;
  /** The schemas that references name. */
  schemas: Readonly<Record<string, Schema>>;
  /** The characters written so far, of all types of the file. */
  written: { characters: number };
  depth?: number;
  level?: number;
}

/** Writes a name as a property: quoted unless it is an identifier. */
function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name);
}

/** Writes a text as a literal. */
export function quote(text: string): string {
  const content = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  // JSON.stringify does not escape these line ends.
  return `'${content.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`;
}

/** Writes a description as a comment with a line end. No text can end the comment. */
export function writeComment(description: unknown): string {
  if (typeof description !== 'string' || description === '') return '';
  return `/** ${description.replaceAll(/\s+/g, ' ').replaceAll('*/', '*\\/')} */\n`;
}

const indent = (text: string) => text.replaceAll('\n', '\n  ');

/** The parts of a union, outside of brackets, texts and comments. */
function unionParts(type: string): string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (const match of type.matchAll(/\/\*\*.*?\*\/|'(?:[^'\\]|\\.)*'|[([{<]|[)\]}>]| \| /g)) {
    const [text] = match;
    if (/^[([{<]$/.test(text)) depth++;
    else if (/^[)\]}>]$/.test(text)) depth--;
    else if (text === ' | ' && depth === 0) {
      parts.push(type.slice(start, match.index));
      start = match.index + text.length;
    }
  }
  return [...parts, type.slice(start)];
}

/** Writes a property with its type; a long union gets a line for each part. */
export function writeProperty(
  name: string,
  type: string,
  { optional = false, description }: { optional?: boolean; description?: unknown } = {},
): string {
  const comment = writeComment(description);
  const line = `${propertyName(name)}${optional ? '?' : ''}: ${type};`;
  const parts = unionParts(type);
  if (line.length <= MAX_LINE - 4 || parts.length < 2) return comment + line;
  return `${comment}${propertyName(name)}${optional ? '?' : ''}:\n${parts.map((part) => `  | ${indent(part)}`).join('\n')};`;
}

/** Writes the members of an object type, one in a line. */
export function writeMembers(properties: readonly string[]): string {
  return properties.length === 0 ? '{}' : `{\n${properties.map((property) => `  ${indent(property)}`).join('\n')}\n}`;
}

/** Writes an object type: in one line if it is short. */
export function writeObject(properties: readonly string[]): string {
  if (properties.length === 0) return 'Record<string, never>';
  const short = `{ ${properties.join(' ').replace(/;$/, '')} }`;
  if (properties.length <= 2 && short.length <= 80 && !short.includes('\n')) return short;
  return writeMembers(properties);
}

function unite(types: readonly string[]): string {
  const parts = [...new Set(types.flatMap(unionParts))];
  return parts.includes('unknown') ? 'unknown' : parts.join(' | ');
}

function objectType(schema: Schema, context: TypeContext): string {
  const {
    properties = {},
    required = [],
    additionalProperties,
  } = schema as {
    properties?: Record<string, Schema>;
    required?: string[];
    additionalProperties?: unknown;
  };
  const entries = Object.entries(properties);
  if (entries.length === 0) {
    const isSchema = typeof additionalProperties === 'object' && additionalProperties !== null;
    return additionalProperties === false
      ? 'Record<string, never>'
      : `Record<string, ${isSchema ? typeOfSchema(additionalProperties as Schema, context) : 'unknown'}>`;
  }
  return writeObject(
    entries.map(([name, property]) =>
      writeProperty(name, typeOfSchema(property, context), {
        optional: !required.includes(name),
        description: property.description,
      }),
    ),
  );
}

function arrayType({ prefixItems, items }: Schema, context: TypeContext): string {
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((item) => typeOfSchema(item, context)).join(', ')}]`;
  const item = items === undefined || items === false ? 'unknown' : typeOfSchema(items as Schema, context);
  return unionParts(item).length > 1 ? `(${item})[]` : `${item}[]`;
}

const isDate = ({ type, format }: Schema) => type === 'string' && (format === 'date-time' || format === 'date');

/** Converts the alternatives of a schema. A date of an input may be a Date. */
function alternativesType(alternatives: readonly Schema[], context: TypeContext): string {
  const isDateInput = context.direction === 'input' && alternatives.some(isDate);
  const types = alternatives.map((one) => (isDate(one) ? 'string' : typeOfSchema(one, context)));
  return unite(isDateInput ? [...types, 'Date'] : types);
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

/**
 * Converts a JSON Schema to a TypeScript type. What TypeScript cannot express, such as bounds, is left out.
 *
 * @throws Error if schemas are nested too deeply, or the types of the file become too long
 */
export function typeOfSchema(schema: Schema, context: TypeContext): string {
  const level = (context.level ?? 0) + 1;
  if (level > MAX_LEVEL)
    throw new Error(`The document has schemas that are nested more than ${MAX_LEVEL} levels deep.`);
  const { written } = context;
  const before = written.characters;
  const type = convert(schema, { ...context, level });
  // The type contains those of the nested schemas, which are counted already.
  written.characters = Math.max(written.characters + 1, before + type.length);
  if (written.characters > MAX_CHARACTERS)
    throw new Error('The types of the document are too long. Do its schemas refer to themselves many times?');
  return type;
}

function convert(schema: Schema, context: TypeContext): string {
  const {
    $ref,
    enum: values,
    anyOf,
    oneOf,
    allOf,
    type,
  } = schema as {
    $ref?: string;
    enum?: readonly unknown[];
    anyOf?: readonly Schema[];
    oneOf?: readonly Schema[];
    allOf?: readonly Schema[];
    type?: string | readonly string[];
  };
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!;
    const { depth = 0 } = context;
    const found = Object.hasOwn(context.schemas, name) ? context.schemas[name] : undefined;
    return (
      context.typeOfReference(name) ??
      (found === undefined || depth > MAX_DEPTH ? 'unknown' : typeOfSchema(found, { ...context, depth: depth + 1 }))
    );
  }
  if ('const' in schema) return literalType(schema.const);
  if (values !== undefined) return unite(values.map(literalType));
  if (anyOf ?? oneOf) return alternativesType((anyOf ?? oneOf)!, context);
  if (allOf !== undefined) {
    const types = allOf.map((one) => typeOfSchema(one, context)).filter((one) => one !== 'unknown');
    return types.length === 0
      ? 'unknown'
      : types.map((one) => (unionParts(one).length > 1 ? `(${one})` : one)).join(' & ');
  }
  if (Array.isArray(type)) return unite(type.map((one) => typeOfSchema({ ...schema, type: one }, context)));
  if (type === 'object') return objectType(schema, context);
  if (type === 'array') return arrayType(schema, context);
  if (context.direction === 'input' && isDate(schema)) return 'string | Date';
  return Object.hasOwn(SIMPLE, type as string) ? SIMPLE[type as string]! : 'unknown';
}

function literalType(value: unknown): string {
  return typeof value === 'string'
    ? quote(value)
    : typeof value === 'object' && value !== null
      ? 'unknown'
      : String(value);
}
