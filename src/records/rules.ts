import type { FieldSpec, Fields } from '../declare/field.ts';
import type { ErrorDetails } from '../platform/errors.ts';

interface Place {
  record: Record<string, unknown>;
  path: string;
  details: ErrorDetails;
}

function keyOf(part: PropertyKey | { readonly key: PropertyKey }): string {
  return String(typeof part === 'object' ? part.key : part);
}

async function ownRules(spec: FieldSpec, value: unknown, place: Place): Promise<unknown> {
  for (const { check, message } of spec.checks ?? []) {
    const verdict = (check as (value: unknown, record: Record<string, unknown>) => unknown)(value, place.record);
    if (verdict !== true) {
      place.details[place.path] = message ?? (typeof verdict === 'string' ? verdict : 'Is invalid');
      return value;
    }
  }
  if (spec.standard === undefined) return value;
  const result = await spec.standard['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  for (const issue of result.issues) {
    const path = [place.path, ...(issue.path ?? []).map(keyOf)].join('.');
    place.details[path] ??= issue.message;
  }
  return value;
}

/**
 * Runs the custom rules (`check`, then `schema`) of a value and of what is in it, innermost first.
 *
 * @param place where the value stands, and where faults are written
 * @returns the value, or what a Standard Schema made of it
 */
export async function applyRules(spec: FieldSpec, value: unknown, place: Place): Promise<unknown> {
  let inner = value;
  if (spec.inner !== undefined && Array.isArray(value)) {
    const { spec: itemSpec } = spec.inner;
    inner = await Promise.all(
      value.map((item, i) => applyRules(itemSpec, item, { ...place, path: `${place.path}.${i}` })),
    );
  } else if (spec.shape !== undefined && typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(async ([name, member]) => {
      const memberSpec = (spec.shape as Fields)[name]!.spec;
      return [name, await applyRules(memberSpec, member, { ...place, path: `${place.path}.${name}` })] as const;
    });
    inner = Object.fromEntries(await Promise.all(members));
  }
  return ownRules(spec, inner, place);
}
