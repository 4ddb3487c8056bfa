/** Types and limits of schemas in words. Nothing here depends on a browser. */
import type { Schema } from './document.ts';

const ID_PATTERN = /^\^\[0-9a-f(A-F)?\]\{24\}\$$/i;

/** Whether a schema is that of an id. */
export const isIdSchema = ({ pattern }: Schema): boolean =>
  pattern !== undefined && ID_PATTERN.test(pattern.replace('a-fA-F', 'a-f'));

/** The name of a schema's type, for people. */
export function typeText(schema: Schema, alternatives: readonly Schema[] = []): string {
  if (alternatives.length > 0) return 'one of';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return 'enum';
  if (schema.contentMediaType !== undefined) return 'file';
  if (isIdSchema(schema)) return 'id';
  const type = Array.isArray(schema.type)
    ? schema.type.join(' or ')
    : (schema.type ?? (schema.properties ? 'object' : 'any'));
  return schema.format === undefined ? type : `${type} (${schema.format})`;
}

const count = (n: number, noun: string) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`;

const LIMITS = [
  ['minLength', (n: number) => `at least ${count(n, 'character')}`],
  ['maxLength', (n: number) => `at most ${count(n, 'character')}`],
  ['minItems', (n: number) => `at least ${count(n, 'item')}`],
  ['maxItems', (n: number) => `at most ${count(n, 'item')}`],
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
    ...(schema.uniqueItems ? ['no duplicates'] : []),
    ...(schema.pattern !== undefined && typeText(schema) !== 'id' ? [`matches ${schema.pattern}`] : []),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
}
