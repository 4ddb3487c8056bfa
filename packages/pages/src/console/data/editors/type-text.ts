import type { FieldInfo } from '../app-info.ts';
import { resourceOf } from '../schema.ts';

/** Whether a value is neither undefined nor null. */
export const isGiven = (value: unknown) => value !== undefined && value !== null;

/** What the bounds of a field count; undefined for types whose values are compared themselves. */
function unitOf(type: string) {
  if (['string', 'text', 'email', 'url', 'password'].includes(type)) return 'characters';
  return type === 'array' || type === 'refs' ? 'items' : undefined;
}

/** What the types are for people who fill in a form; a type that is not listed has its own name. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'Text',
  text: 'Long text',
  email: 'E-mail address',
  url: 'Web address',
  number: 'Number',
  integer: 'Whole number',
  decimal: 'Decimal number',
  boolean: 'Yes or no',
  enum: 'Choice',
  date: 'Date and time',
  file: 'File',
  json: 'JSON',
  object: 'Group',
  password: 'Password',
  id: 'Id',
};

/** Says in words which values a field takes: `Text, at most 200 characters`. */
export function typeText({ type, target, inner, min, max }: FieldInfo): string {
  const targetName = target && (resourceOf(target)?.label ?? target);
  const kind = type === 'array' && inner ? `List: ${typeText(inner)}` : (targetName ?? TYPE_WORDS[type] ?? type);
  const unit = unitOf(type);
  const bounds = [isGiven(min) && `at least ${min}`, isGiven(max) && `at most ${max}`].filter(Boolean);
  if (bounds.length === 0) return kind;
  const text = `${bounds.join(', ')}${unit === undefined ? '' : ` ${unit}`}`;
  return type === 'array' ? `${kind}; ${text}` : `${kind}, ${text}`;
}
