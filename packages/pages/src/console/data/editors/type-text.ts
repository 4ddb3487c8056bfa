import { texts } from '../../texts.ts';
import type { FieldInfo } from '../app-info.ts';
import { resourceOf } from '../schema.ts';

/** Whether a value is neither undefined nor null. */
export const isGiven = (value: unknown) => value !== undefined && value !== null;

/** What the bounds of a field count; undefined for types whose values are compared themselves. */
function unitOf(type: string) {
  if (['string', 'text', 'email', 'url', 'password'].includes(type)) return texts.editors.units.characters;
  return type === 'array' || type === 'refs' ? texts.editors.units.items : undefined;
}

/** What the types are for people who fill in a form; a type that is not listed has its own name. */
const TYPE_WORDS: Readonly<Record<string, string>> = texts.editors.types;

/** Says in words which values a field takes: `Text, at most 200 characters`. */
export function typeText({ type, target, inner, min, max }: FieldInfo): string {
  const targetName = target && (resourceOf(target)?.label ?? target);
  const kind =
    type === 'array' && inner ? texts.editors.list(typeText(inner)) : (targetName ?? TYPE_WORDS[type] ?? type);
  const unit = unitOf(type);
  const bounds = [isGiven(min) && texts.editors.atLeast(min), isGiven(max) && texts.editors.atMost(max)].filter(
    Boolean,
  );
  if (bounds.length === 0) return kind;
  const text = `${bounds.join(', ')}${unit === undefined ? '' : ` ${unit}`}`;
  return type === 'array' ? `${kind}; ${text}` : `${kind}, ${text}`;
}
