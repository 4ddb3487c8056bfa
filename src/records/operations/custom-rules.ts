import type { FieldSpec, Fields } from '../../declare/field.ts';
import { issuePath } from '../../declare/field.ts';
import type { ErrorDetails } from '../../platform/errors.ts';

interface Place {
  record: Record<string, unknown>;
  path: string;
  details: ErrorDetails;
}

/** The value that rules returned, and whether they passed. */
interface Ruled {
  value: unknown;
  holds: boolean;
}

async function ownRules(spec: FieldSpec, value: unknown, { record, path, details }: Place): Promise<Ruled> {
  for (const { check, message } of spec.checks ?? []) {
    const verdict = await (check as (value: unknown, record: Record<string, unknown>) => unknown)(value, record);
    if (verdict !== true) {
      details[path] ??= message ?? (typeof verdict === 'string' ? verdict : 'Must be valid');
      return { value, holds: false };
    }
  }
  if (spec.standard === undefined) return { value, holds: true };
  const result = await spec.standard['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value, holds: true };
  for (const issue of result.issues) details[[path, ...issuePath(issue)].join('.')] ??= issue.message;
  if (result.issues.length === 0) details[path] ??= 'Must be valid';
  return { value, holds: false };
}

/** Runs the rules of the values inside an array or object. */
async function innerRules(spec: FieldSpec, value: unknown, place: Place): Promise<Ruled> {
  const at = (key: string | number) => ({ ...place, path: `${place.path}.${key}` });
  if (spec.inner !== undefined && Array.isArray(value)) {
    const item = spec.inner.spec;
    const ruled = await Promise.all(value.map((one, i) => applyRules(item, one, at(i))));
    return { value: ruled.map((one) => one.value), holds: ruled.every((one) => one.holds) };
  }
  if (spec.shape === undefined || typeof value !== 'object' || value === null) return { value, holds: true };
  const names = Object.keys(value).filter((name) => (value as Record<string, unknown>)[name] !== undefined);
  const ruled = await Promise.all(
    names.map((name) =>
      applyRules((spec.shape as Fields)[name]!.spec, (value as Record<string, unknown>)[name], at(name)),
    ),
  );
  return {
    value: Object.fromEntries(names.map((name, i) => [name, ruled[i]!.value])),
    holds: ruled.every((one) => one.holds),
  };
}

/**
 * Runs the custom rules (`check`, then `schema`) of a value and of its nested values, innermost first. The rules of a value run only if
 * those of its nested values pass.
 *
 * @param place the path of the value, and the object that collects validation errors
 * @returns the value, or the output of a Standard Schema
 */
export async function applyRules(spec: FieldSpec, value: unknown, place: Place): Promise<Ruled> {
  const inner = await innerRules(spec, value, place);
  return inner.holds ? ownRules(spec, inner.value, place) : inner;
}
