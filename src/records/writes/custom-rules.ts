import type { FieldSpec, Fields } from '../../declare/field.ts';
import type { ErrorDetails } from '../../platform/helpers/errors.ts';
import { issuePath, type StandardSchema } from '../../platform/helpers/standard-schema.ts';
import { assertJsonOutput } from './json-output.ts';

interface RulePlace {
  record: Record<string, unknown>;
  path: string;
  details: ErrorDetails;
}

/** The value that rules returned, and whether they passed. */
interface RuleResult {
  value: unknown;
  passed: boolean;
}

async function runStandardSchema(
  schema: StandardSchema,
  value: unknown,
  { path, details }: RulePlace,
): Promise<RuleResult> {
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return { value: result.value, passed: true };
  for (const issue of result.issues) details[[path, ...issuePath(issue)].join('.')] ??= issue.message;
  if (result.issues.length === 0) details[path] ??= 'Must be valid';
  return { value, passed: false };
}

async function runOwnRules(spec: FieldSpec, sent: unknown, place: RulePlace): Promise<RuleResult> {
  const { record, path, details } = place;
  let value = sent;
  if (spec.content !== undefined) {
    const content = await runStandardSchema(spec.content, value, place);
    if (!content.passed) return content;
    value = assertJsonOutput(content.value, path);
  }
  for (const { check, message } of spec.checks ?? []) {
    const verdict = await (check as (value: unknown, record: Record<string, unknown>) => unknown)(value, record);
    if (verdict !== true) {
      details[path] ??= message ?? (typeof verdict === 'string' ? verdict : 'Must be valid');
      return { value, passed: false };
    }
  }
  return spec.standard === undefined ? { value, passed: true } : runStandardSchema(spec.standard, value, place);
}

/** Runs the rules of the values inside an array or object. */
async function runNestedRules(spec: FieldSpec, value: unknown, place: RulePlace): Promise<RuleResult> {
  const placeOfNestedValue = (key: string | number) => ({ ...place, path: `${place.path}.${key}` });
  if (spec.inner !== undefined && Array.isArray(value)) {
    const item = spec.inner.spec;
    const results = await Promise.all(value.map((one, i) => applyFieldRules(item, one, placeOfNestedValue(i))));
    return { value: results.map((one) => one.value), passed: results.every((one) => one.passed) };
  }
  if (spec.shape === undefined || typeof value !== 'object' || value === null) return { value, passed: true };
  const names = Object.keys(value).filter((name) => (value as Record<string, unknown>)[name] !== undefined);
  const results = await Promise.all(
    names.map((name) =>
      applyFieldRules(
        (spec.shape as Fields)[name]!.spec,
        (value as Record<string, unknown>)[name],
        placeOfNestedValue(name),
      ),
    ),
  );
  return {
    value: Object.fromEntries(names.map((name, i) => [name, results[i]!.value])),
    passed: results.every((one) => one.passed),
  };
}

/**
 * Runs the custom rules (the schema of a json field, `check`, then `schema`) of a value and of its nested values, innermost first. The
 * rules of a value run only if its nested values pass.
 *
 * @param place the path of the value, and the object that collects validation errors
 * @returns the value, or the output of a Standard Schema
 */
export async function applyFieldRules(spec: FieldSpec, value: unknown, place: RulePlace): Promise<RuleResult> {
  const inner = await runNestedRules(spec, value, place);
  return inner.passed ? runOwnRules(spec, inner.value, place) : inner;
}
