/** Types and limits of schemas in words. Nothing here depends on a browser. */
import { numberText } from '../kit/numbers.ts';
import type { Schema } from './document.ts';
import { texts } from './texts.ts';

const ID_PATTERN = /^\^\[0-9a-f(A-F)?\]\{24\}\$$/i;

/** Whether a schema is that of an id. */
export const isIdSchema = ({ pattern }: Schema): boolean =>
  pattern !== undefined && ID_PATTERN.test(pattern.replace('a-fA-F', 'a-f'));

/** The name of a schema's type, for people. */
export function typeText(schema: Schema, alternatives: readonly Schema[] = []): string {
  if (alternatives.length > 0) return texts.schema.oneOf;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return texts.schema.enum;
  if (schema.contentMediaType !== undefined) return texts.schema.file;
  if (isIdSchema(schema)) return 'id';
  const type = Array.isArray(schema.type)
    ? schema.type.join(texts.or)
    : (schema.type ?? (schema.properties ? 'object' : texts.schema.any));
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

const LIMITS = [
  ['minLength', (n: number) => texts.schema.minLength(n, numberText(n))],
  ['maxLength', (n: number) => texts.schema.maxLength(n, numberText(n))],
  ['minItems', (n: number) => texts.schema.minItems(n, numberText(n))],
  ['maxItems', (n: number) => texts.schema.maxItems(n, numberText(n))],
  ['minimum', (n: number) => `≥ ${n}`],
  ['exclusiveMinimum', (n: number) => `> ${n}`],
  ['maximum', (n: number) => `≤ ${n}`],
  ['exclusiveMaximum', (n: number) => `< ${n}`],
] as const;

/** The limits of a schema, in words. */
export function limitsOf(schema: Schema): string[] {
  const limits = LIMITS.flatMap(([name, text]) => {
    const value = schema[name];
    return value === undefined || (name === 'minLength' && value === 1) ? [] : [text(value)];
  });
  return [
    ...limits,
    ...(schema.uniqueItems ? [texts.schema.unique] : []),
    ...(schema.pattern !== undefined && typeText(schema) !== 'id' ? [texts.schema.pattern(schema.pattern)] : []),
    ...(schema.default === undefined ? [] : [texts.schema.default(JSON.stringify(schema.default))]),
  ];
}
