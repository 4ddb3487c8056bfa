/** Examples for schemas. Nothing here depends on a browser. */
import { flatten, type Json, type OpenApiDocument, refName, type Schema, simplify } from './document.ts';
import { isIdSchema } from './schema-text.ts';

/** Whether clients send or receive a value. */
export type Direction = 'input' | 'output';

/** Values that look real, by `format`. */
const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-01-15T09:30:00.000Z',
  date: '2026-01-15',
  email: 'ada@example.com',
  uri: 'https://example.com',
  url: 'https://example.com',
  uuid: '7f8c2f6e-5f0a-4c1c-9d2a-0c1e5b1f7a10',
  password: 'a bell rings at noon',
};
const EXAMPLE_ID = '65f0c1d2e3a4b5c6d7e8f901';

/** Texts by the name of the member, because "string" says nothing. */
const BY_NAME = [
  [/e-?mail/i, 'ada@example.com'],
  [/url|website|link/i, 'https://example.com'],
  [/phone/i, '+41 44 668 18 00'],
  [/(^|first|full|display)name$/i, 'Ada Lovelace'],
  [/title|subject|headline/i, 'A title'],
  [/token|secret|code|ticket/i, '…'],
] as const;

/** Texts that common patterns accept, such as codes and colours. */
const CANDIDATES = [
  'text',
  'TEXT',
  'Text',
  'a-1',
  'A-1',
  'AB-123',
  'abc123',
  '123',
  '1.50',
  '12345',
  '#1e90ff',
  '/path',
  'a',
  'A',
  '1',
  'en',
];

/** A text that a pattern accepts, if one of the usual texts does. */
function matchingText(pattern: string): string | undefined {
  try {
    const expression = new RegExp(pattern, 'u');
    return CANDIDATES.find((text) => expression.test(text));
  } catch {
    // The pattern is written for another engine.
    return undefined;
  }
}

function exampleText(schema: Schema, name: string): string {
  const formatted = schema.format === undefined ? undefined : BY_FORMAT[schema.format];
  if (formatted !== undefined) return formatted;
  if (isIdSchema(schema)) return EXAMPLE_ID;
  const named = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  const text = (schema.pattern === undefined ? named : matchingText(schema.pattern)) ?? named ?? 'text';
  return text.padEnd(schema.minLength ?? 0, 'x').slice(0, schema.maxLength);
}

function exampleNumber({ type, minimum, exclusiveMinimum, maximum }: Schema): number {
  const lowest = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1);
  const value = Math.max(1, lowest);
  const limited = maximum === undefined ? value : Math.min(value, maximum);
  return type === 'integer' ? Math.round(limited) : limited;
}

/** The example that a schema declares itself. */
const declaredExample = (schema: Schema): Json | undefined => schema.example ?? schema.examples?.[0];

interface ExampleOptions {
  /** Leaves out optional members. */
  onlyRequired?: boolean;
  /** The name of the member whose example it is. */
  name?: string;
}

/**
 * Returns an example for a schema: its own one, its default, or a value that the schema allows. Undefined if the schema contains itself.
 *
 * @param within the names of the schemas that contain this one
 */
export function exampleOf(
  given: Schema,
  document: OpenApiDocument,
  direction: Direction,
  { onlyRequired = false, name = '' }: ExampleOptions = {},
  within: readonly string[] = [],
): Json | undefined {
  const own = refName(given);
  if (own !== undefined && within.includes(own)) return undefined;
  const declared = declaredExample(flatten(given, document));
  if (declared !== undefined) return declared;
  const { schema, alternatives } = simplify(given, document);
  const known = declaredExample(schema) ?? schema.default ?? schema.const ?? schema.enum?.[0];
  if (known !== undefined) return known;
  const around = own === undefined ? within : [...within, own];
  const inner = (one: Schema, member: string) =>
    exampleOf(one, document, direction, { onlyRequired, name: member }, around);

  /** Optional members that lead back to a schema that contains them are left out. */
  function exampleObject(): Json {
    const required = new Set(schema.required);
    const members = Object.entries(schema.properties ?? {}).flatMap(([member, one]): [string, Json][] => {
      const { readOnly, writeOnly } = flatten(one, document);
      const isLeftOut = direction === 'input' ? readOnly : writeOnly;
      if (isLeftOut || (onlyRequired && !required.has(member))) return [];
      const value = inner(one, member);
      return value === undefined ? [] : [[member, value]];
    });
    return Object.fromEntries(members);
  }

  const [first] = alternatives;
  if (first !== undefined) return inner(first, name);
  if (schema.properties !== undefined || schema.type === 'object') return exampleObject();
  switch (schema.type) {
    case 'array': {
      const item = schema.items === undefined ? undefined : inner(schema.items, name);
      return item === undefined ? [] : [item];
    }
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return exampleNumber(schema);
    case 'string':
      return exampleText(schema, name);
    case 'null':
      return null;
    default:
      return {};
  }
}

/** The body of an error response with a code. */
export const exampleError = (code: string, message: string): Json => ({
  error: {
    code,
    message,
    ...(code === 'VALIDATION_ERROR' ? { details: { title: 'Is required' } } : {}),
    requestId: '01JB7Y0V4T5QYJ',
  },
});
