import type { FieldSpec } from '../../declare/field.ts';
import { fieldTypeOf } from '../../records/fields/field-type.ts';
import { isPersonal } from '../../records/fields/personal-data.ts';

const MASK = '***';
// Of a shorter text the first letter would be much.
const SHORTEST_TOLD = 5;

/** What is told of a text that is personal: how it begins. */
export function maskText(text: string): string {
  const letters = [...text];
  return letters.length < SHORTEST_TOLD ? MASK : `${letters[0]}${MASK}`;
}

function masked(value: unknown, spec: FieldSpec): unknown {
  if (value === null || value === undefined) return value;
  return typeof value === 'string' && !fieldTypeOf(spec).maskedWhole ? maskText(value) : MASK;
}

/** A value as the audit trail holds it: what is personal in it is masked. */
export function withoutPersonal(name: string, spec: FieldSpec, value: unknown): unknown {
  const { shape, ...own } = spec;
  if (isPersonal(name, own)) return masked(value, spec);
  if (spec.inner !== undefined && Array.isArray(value)) {
    const item = spec.inner.spec;
    return value.map((one) => withoutPersonal(name, item, one));
  }
  if (shape === undefined || typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([member, held]) => {
    const field = Object.hasOwn(shape, member) ? shape[member] : undefined;
    return [member, field === undefined ? held : withoutPersonal(member, field.spec, held)];
  });
  return Object.fromEntries(members);
}
