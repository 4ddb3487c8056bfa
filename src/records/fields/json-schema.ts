import type { FieldSpec } from '../../declare/field.ts';

/** A JSON Schema (draft 2020-12, as used by OpenAPI 3.1). */
export type JsonSchema = Record<string, unknown>;

/** Whether a schema describes a body, a response, or an operand of a query. */
export type Direction = 'input' | 'output' | 'query';

/** The declared bounds of a field under the keywords of its type. */
export function boundsJsonSchema(
  { min, max }: FieldSpec,
  least: string,
  greatest: string,
  convert: (value: number | string | Date) => unknown = Number,
): JsonSchema {
  return {
    ...(min === undefined ? {} : { [least]: convert(min.value) }),
    ...(max === undefined ? {} : { [greatest]: convert(max.value) }),
  };
}

/**
 * The keywords of a text: length and pattern. The keywords describe the stored text: if the field is trimmed, the sent text may have more
 * surrounding space.
 */
export function textJsonSchema(spec: FieldSpec, direction: Direction): JsonSchema {
  const bounds = boundsJsonSchema(spec, 'minLength', 'maxLength');
  // An empty text counts as missing.
  if (spec.required && !(Number(bounds.minLength) >= 1)) bounds.minLength = 1;
  // A body may hold the text in either case, which a pattern for the stored text would refuse.
  const anyCase = direction !== 'output' && (spec.lowercase || spec.uppercase);
  const { pattern } = spec;
  const expressible = pattern !== undefined && !anyCase && /^[dguy]*$/.test(pattern.regex.flags);
  return { type: 'string', ...bounds, ...(expressible ? { pattern: pattern.regex.source } : {}) };
}
