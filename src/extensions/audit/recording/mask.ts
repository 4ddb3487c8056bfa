import { type FieldSpec, fieldTypeOf, isPersonalField } from '../../../extension/index.ts';

const MASK = '***';
// Shorter texts are masked as a whole, because their first letter would reveal too much.
const MIN_LENGTH = 5;

/** Masks a personal text except for its first letter. */
export function maskText(text: string): string {
  const letters = [...text];
  return letters.length < MIN_LENGTH ? MASK : `${letters[0]}${MASK}`;
}

function maskValue(value: unknown, spec: FieldSpec): unknown {
  if (value === null || value === undefined) return value;
  return typeof value === 'string' && !fieldTypeOf(spec).maskedWhole ? maskText(value) : MASK;
}

/** Returns a value with its personal parts masked. */
export function maskPersonalValues(name: string, spec: FieldSpec, value: unknown): unknown {
  const { shape, ...own } = spec;
  if (isPersonalField(name, own)) return maskValue(value, spec);
  if (spec.inner !== undefined && Array.isArray(value)) {
    const item = spec.inner.spec;
    return value.map((element) => maskPersonalValues(name, item, element));
  }
  if (shape === undefined || typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([member, memberValue]) => {
    const field = Object.hasOwn(shape, member) ? shape[member] : undefined;
    return [member, field === undefined ? memberValue : maskPersonalValues(member, field.spec, memberValue)];
  });
  return Object.fromEntries(members);
}
