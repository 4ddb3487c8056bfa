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
type MaskPersonalParts = (value: unknown) => unknown;

const keepValue: MaskPersonalParts = (value) => value;

/** Compiles the mask of a field. Whether a name looks personal is decided here, because that takes longer than everything else. */
export function compileMask(name: string, spec: FieldSpec): MaskPersonalParts {
  const { shape, ...own } = spec;
  if (isPersonalField(name, own)) return (value) => maskValue(value, spec);
  if (spec.inner !== undefined) {
    const maskItem = compileMask(name, spec.inner.spec);
    if (maskItem === keepValue) return keepValue;
    return (value) => (Array.isArray(value) ? value.map((item) => maskItem(item)) : value);
  }
  const members = new Map(
    Object.entries(shape ?? {}).map(([member, field]) => [member, compileMask(member, field.spec)]),
  );
  if ([...members.values()].every((mask) => mask === keepValue)) return keepValue;
  return (value) => {
    if (typeof value !== 'object' || value === null) return value;
    const masked = Object.entries(value).map(([member, inside]) => [member, members.get(member)?.(inside) ?? inside]);
    return Object.fromEntries(masked);
  };
}
