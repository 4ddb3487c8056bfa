import { parseDate } from './date.ts';
import { isStorableJson } from './json.ts';
import { comparableText } from './text-rules.ts';

/** JSON as Postgres gives it back. */
function asJson(value: unknown): unknown {
  const text: string | undefined = JSON.stringify(value);
  const copy = text === undefined ? undefined : JSON.parse(text);
  return copy !== undefined && isStorableJson(copy) ? copy : undefined;
}

const HELD: Record<string, (value: unknown) => unknown> = {
  text: comparableText,
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  bigint: (value) => (Number.isSafeInteger(value) ? value : undefined),
  'double precision': (value) => (Number.isFinite(value) ? value : undefined),
  'timestamp(3) with time zone': (value) =>
    typeof value === 'string' || typeof value === 'number' || value instanceof Date ? parseDate(value) : undefined,
  jsonb: asJson,
};

/** What code made of a value, in the form in which a column of this type holds it; undefined when it holds no such value. */
export function columnValue(column: string, value: unknown): unknown {
  if (!column.endsWith('[]')) return HELD[column]!(value);
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item) => columnValue(column.slice(0, -2), item));
  return items.includes(undefined) ? undefined : items;
}
