import { Field, type FieldSpec } from '../../declare/field.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import {
  compareScalars,
  fieldSchema,
  fieldTypeOf,
  supportedOperatorsOf,
  TYPED_MODIFIERS,
} from '../fields/field-type.ts';
import { createDefaultValue } from '../fields/missing-values.ts';
import { checkFieldDeprecation } from './deprecation-errors.ts';
import type { SlowPatternCheck } from './patterns/slow-pattern.ts';
import { checkVisibility } from './visibility-errors.ts';

/** Returns the collector for configuration errors at a path inside a field; the empty path is the field itself. */
type FieldErrors = (path: string) => ConfigErrors;

/** Modifiers that compare or find values. */
const COMPARING_MODIFIERS = [
  'filterable',
  'sortable',
  'searchable',
  'aggregatable',
  'unique',
  'index',
  'owner',
] as const;
/** Modifiers that only apply to a record's top-level fields. */
const TOP_LEVEL_ONLY = [
  ...COMPARING_MODIFIERS,
  'populate',
  'encrypted',
  'hidden',
  'writeOnly',
  'readOnly',
  'immutable',
  'renamedFrom',
] as const;

function checkFilterOperators(spec: FieldSpec, errors: ConfigErrors): void {
  if (spec.filterable === undefined) return;
  const possible = supportedOperatorsOf(spec);
  const named = spec.filterable === true ? fieldTypeOf(spec).operators : spec.filterable;
  if (!Array.isArray(named)) {
    errors.report(`filterable() takes a list of operators; choose from ${possible.join(', ')}`);
    return;
  }
  if (named.length === 0)
    errors.report(`filterable() needs a list of operators on this field; choose from ${possible.join(', ')}`);
  if (new Set(named).size < named.length) errors.report('filterable() names an operator twice; keep one');
  for (const operator of new Set(named)) {
    if (!possible.includes(operator))
      errors.report(`filterable() includes "${operator}"; it can be ${possible.join(', ')}`);
  }
}

function checkModifiers(spec: FieldSpec, errors: ConfigErrors): void {
  const type = fieldTypeOf(spec);
  for (const modifier of TYPED_MODIFIERS) {
    if (!spec[modifier] || type.modifiers.includes(modifier)) continue;
    if (modifier === 'encrypted') errors.report(`${spec.type.kind} fields cannot be encrypted; remove encrypted()`);
    else errors.report(`${modifier}() does nothing on a ${spec.type.kind} field; remove it`);
  }
  if (spec.aggregatable && fieldTypeOf(spec).aggregations === undefined)
    errors.report(`aggregatable() does nothing on a ${spec.type.kind} field: such values form no groups; remove it`);
  if (spec.encrypted) {
    for (const modifier of COMPARING_MODIFIERS) {
      if (spec[modifier])
        errors.report(`encrypted() and ${modifier} cannot be combined: a ciphertext cannot be compared; remove one`);
    }
  }
  if (type.modifiers.includes('filterable') && !spec.encrypted) checkFilterOperators(spec, errors);
  if (spec.lowercase && spec.uppercase) errors.report('lowercase() and uppercase() cannot be combined; remove one');
}

function checkLabel({ label }: FieldSpec, errors: ConfigErrors): void {
  if (label === undefined) return;
  if (typeof label !== 'string' || label.trim() === '' || label.length > 100)
    errors.report('label() takes a text of 1 to 100 characters');
}

function checkDeprecated(spec: FieldSpec, errors: ConfigErrors): void {
  if (!('deprecated' in spec)) return;
  checkFieldDeprecation(spec.deprecated, errors.at('deprecated()'));
  if (spec.hidden) errors.report('hidden() and deprecated() cannot be combined: no client uses the field; remove one');
}

function checkBounds(spec: FieldSpec, errors: ConfigErrors): void {
  const { min, max } = spec;
  const type = fieldTypeOf(spec);
  const own = type.errors?.(spec) ?? [];
  for (const text of own) errors.report(text);
  if (own.length > 0 || min === undefined || max === undefined) return;
  const { bound = Number, order = compareScalars } = type;
  if (order(bound(min.value), bound(max.value)) > 0) errors.report('min() is greater than max(); no value would pass');
}

function checkPatternAndCustomRules(spec: FieldSpec, isSlow: SlowPatternCheck, errors: ConfigErrors): void {
  const { pattern, checks = [], standard } = spec;
  if (pattern !== undefined && !(pattern.regex instanceof RegExp))
    errors.report('pattern() takes a regular expression');
  else if (pattern !== undefined && isSlow(pattern.regex, Number(spec.max?.value ?? Infinity))) {
    errors.report(
      `pattern(${pattern.regex}) can take very long to match hostile input, because its repeated parts overlap; make them exclusive, or set a lower max()`,
    );
  }
  if (checks.some(({ check }) => typeof check !== 'function')) errors.report('check() takes a function');
  if ('content' in spec && typeof spec.content?.['~standard']?.validate !== 'function')
    errors.report('json() takes a Standard Schema, an object with "~standard", or nothing');
  if ('standard' in spec && typeof standard?.['~standard']?.validate !== 'function')
    errors.report('schema() takes a Standard Schema: an object with "~standard"');
}

/**
 * Checks that a constant default passes the field's own rules.
 *
 * @param testable whether the field's schema is valid, including nested schemas
 */
function checkDefaultValue(spec: FieldSpec, testable: boolean, errors: ConfigErrors): void {
  if (!('default' in spec) || typeof spec.default === 'function') return;
  if (spec.default === undefined || spec.default === null) {
    if (spec.required) errors.report(`default(${spec.default}) is not a value, and the field is required; remove it`);
    return;
  }
  if (fieldTypeOf(spec).concealed)
    errors.at('default()').report(`a ${spec.type.kind} in the source code is not secret; remove it`);
  if (spec.unique) errors.report('unique() and a constant default cannot be combined; remove one');
  let value: unknown;
  try {
    value = createDefaultValue(spec);
  } catch (error) {
    const reason = (error as Error).message;
    errors
      .at('default()')
      .report(`it cannot be copied for each record (${reason}); use plain data, or a function that returns the value`);
    return;
  }
  if (!testable) return;
  const parsed = fieldSchema(spec, 'reject').safeParse(value);
  const broken = parsed.success ? findCustomRuleError(spec, parsed.data) : parsed.error.issues[0]?.message;
  if (broken !== undefined) errors.report(`default() violates the field's own rules: ${broken}`);
}

/**
 * The error that a field's custom rules return for its default; undefined if it passes. Rules that need a record or are asynchronous are
 * skipped.
 */
function findCustomRuleError({ content, checks = [], standard }: FieldSpec, preset: unknown): string | undefined {
  const validated = content === undefined ? { value: preset } : validateSync(content, preset);
  if (validated === undefined) return undefined;
  if (validated.issues !== undefined) return validated.issues[0]?.message;
  const { value } = validated;
  for (const { check, message } of checks) {
    const verdict = check.length > 1 ? true : tryCallSync(() => (check as (value: unknown) => unknown)(value));
    if (verdict === false || typeof verdict === 'string') return message ?? (verdict || 'Must be valid');
  }
  return standard === undefined ? undefined : validateSync(standard, value)?.issues?.[0]?.message;
}

/** The result of a Standard Schema; undefined if it is asynchronous or throws. */
function validateSync(
  schema: StandardSchema,
  value: unknown,
): Awaited<ReturnType<StandardSchema['~standard']['validate']>> | undefined {
  return tryCallSync(() => schema['~standard'].validate(value)) as ReturnType<typeof validateSync>;
}

/** The result of a synchronous function; undefined if it returns a promise or throws. */
function tryCallSync(run: () => unknown): unknown {
  try {
    const result = run();
    if (!(result instanceof Promise)) return result;
    result.catch(() => undefined);
    return undefined;
  } catch {
    return undefined;
  }
}

/** Reports modifiers that have no meaning inside an array or object. */
function checkNestedModifiers(inner: FieldSpec, isItem: boolean, errors: ConfigErrors): void {
  for (const mark of TOP_LEVEL_ONLY) {
    if (inner[mark]) errors.report(`${mark} has no effect inside an array or object; set it on the outer field`);
  }
  if (inner.visibleTo ?? inner.writableBy)
    errors.report('visibleTo() and writableBy() have no effect inside an array or object; set them on the outer field');
  if (isItem && 'default' in inner)
    errors.report('default() has no effect on the items of an array; set it on the array');
  if (isItem && inner.deprecated !== undefined)
    errors.report('deprecated() has no effect on the items of an array; set it on the array');
  else if (inner.deprecated !== undefined && inner.required && !('default' in inner))
    errors.report(
      'with required() and deprecated(), clients cannot stop sending it; remove required(), or give it a default()',
    );
  if (fieldTypeOf(inner).concealed) errors.report(`a ${inner.type.kind} cannot be inside an array or object`);
}

/** Reports files at places where records cannot refer to them. */
function checkNestedFile(outer: FieldSpec, inner: FieldSpec, isItem: boolean, errors: ConfigErrors): void {
  if (inner.file !== undefined && !isItem)
    errors.report('a file cannot be inside an object; declare it as a field of the record');
  const isNestedList = inner.inner?.spec.file !== undefined;
  if (isNestedList)
    errors.report(`a list of files cannot be inside an ${outer.type.kind}; declare it as a field of the record`);
}

/** The fields inside an array or object, with their paths; undefined for a value that is not a field. */
function nestedFieldsOf(spec: FieldSpec): [path: string, inner: FieldSpec | undefined][] {
  const specOf = (field: unknown) => (field instanceof Field ? (field.spec as FieldSpec) : undefined);
  if ('inner' in spec) return [['[]', specOf(spec.inner)]];
  return Object.entries(spec.shape ?? {}).map(([name, field]) => [`.${name}`, specOf(field)]);
}

/** Checks the fields inside an array or object. Returns whether the field as a whole can be checked. */
function checkNestedFields(spec: FieldSpec, isSlow: SlowPatternCheck, at: FieldErrors): boolean {
  if ('shape' in spec && (typeof spec.shape !== 'object' || spec.shape === null)) {
    at('').report('object() takes its fields, such as { city: f.string() }');
    return false;
  }
  if (spec.shape !== undefined && Object.keys(spec.shape).length === 0)
    at('').report('object() has no fields, so it accepts only {}; add fields, or use json()');
  let isWellFormed = true;
  for (const [path, inner] of nestedFieldsOf(spec)) {
    if (inner === undefined) {
      at(path).report('it is not a field; create it with f, such as f.string()');
      isWellFormed = false;
      continue;
    }
    if (path === '.' || path.slice(1) in Object.prototype) at(path).report('the name is reserved; choose another');
    checkNestedModifiers(inner, path === '[]', at(path));
    checkNestedFile(spec, inner, path === '[]', at(path));
    isWellFormed = checkField(inner, isSlow, (deeper) => at(path + deeper)) && isWellFormed;
  }
  return isWellFormed;
}

/**
 * Checks one field, including nested fields in arrays and objects.
 *
 * @returns whether the field and its nested fields are well-formed enough for a schema
 */
export function checkField(spec: FieldSpec, isSlow: SlowPatternCheck, at: FieldErrors): boolean {
  const errors = at('');
  const errorCount = () => errors.lines.length;
  const atFirst = errorCount();
  if (!checkNestedFields(spec, isSlow, at)) return false;
  const isSoundInside = errorCount() === atFirst;
  checkVisibility(spec, errors);
  checkModifiers(spec, errors);
  checkDeprecated(spec, errors);
  checkLabel(spec, errors);
  const beforeRules = errorCount();
  checkBounds(spec, errors);
  checkPatternAndCustomRules(spec, isSlow, errors);
  // Check the default only if the field's rules are valid: otherwise its schema would not give a meaningful result.
  if (errorCount() === beforeRules) checkDefaultValue(spec, isSoundInside, errors);
  return true;
}
