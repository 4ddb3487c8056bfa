import type { FieldSpec } from '../../declare/field.ts';

/** A JSON Schema (draft 2020-12, as OpenAPI 3.1 has it). */
export type JsonSchema = Record<string, unknown>;

/** Whether a schema describes what a body may hold, what a response holds, or what a query compares with. */
export type Direction = 'input' | 'output' | 'query';

/** The bounds of a field under the keywords of its type; none where the declaration has none. */
export function boundKeywords(
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
 * The keywords of a text: length and pattern. They describe the text as it is stored: one that is trimmed may have more space
 * around it when it is sent.
 */
export function textKeywords(spec: FieldSpec, direction: Direction): JsonSchema {
  const bounds = boundKeywords(spec, 'minLength', 'maxLength');
  // An empty text counts as missing.
  if (spec.required && !(Number(bounds.minLength) >= 1)) bounds.minLength = 1;
  // A body may hold the text in either case, which a pattern of the stored text would refuse.
  const anyCase = direction !== 'output' && (spec.lowercase || spec.uppercase);
  const { pattern } = spec;
  const expressible = pattern !== undefined && !anyCase && /^[dguy]*$/.test(pattern.regex.flags);
  return { type: 'string', ...bounds, ...(expressible ? { pattern: pattern.regex.source } : {}) };
}
