import { Field, type FieldSpec } from '../../declare/field.ts';
import { defaultOrder, fieldSchema, fieldTypeOf, possibleOperators, TYPED_MODIFIERS } from '../fields/field-type.ts';
import { freshDefault } from '../fields/missing-values.ts';
import type { SlowPattern } from './slow-pattern.ts';
import { visibilityMistakes } from './visibility-errors.ts';

type Fault = (text: string) => void;

/** What compares values, or needs to find them. */
const COMPARED = ['filterable', 'sortable', 'searchable', 'unique', 'index', 'owner'] as const;
/** What holds for a record's own fields only. */
const OUTERMOST = [
  ...COMPARED,
  'populate',
  'encrypted',
  'hidden',
  'writeOnly',
  'readOnly',
  'immutable',
  'renamedFrom',
] as const;

function operatorMistakes(spec: FieldSpec, fault: Fault): void {
  if (spec.filterable === undefined) return;
  const possible = possibleOperators(spec);
  const named = spec.filterable === true ? fieldTypeOf(spec).operators : spec.filterable;
  if (!Array.isArray(named)) {
    fault(`filterable() takes a list of operators; they can be ${possible.join(', ')}`);
    return;
  }
  if (named.length === 0) fault(`filterable() must name its operators here; they can be ${possible.join(', ')}`);
  if (new Set(named).size < named.length) fault('filterable() names an operator twice; keep one');
  for (const operator of new Set(named)) {
    if (!possible.includes(operator)) fault(`filterable() includes "${operator}"; it can be ${possible.join(', ')}`);
  }
}

function modifierMistakes(spec: FieldSpec, fault: Fault): void {
  const type = fieldTypeOf(spec);
  for (const modifier of TYPED_MODIFIERS) {
    if (!spec[modifier] || type.modifiers.includes(modifier)) continue;
    if (modifier === 'encrypted') fault(`${spec.type.kind} fields cannot be encrypted; remove encrypted()`);
    else fault(`${modifier}() does nothing on a ${spec.type.kind} field; remove it`);
  }
  if (spec.encrypted) {
    for (const modifier of COMPARED) {
      if (spec[modifier])
        fault(`encrypted() and ${modifier} exclude each other: a ciphertext cannot be compared; remove one`);
    }
  }
  if (type.modifiers.includes('filterable') && !spec.encrypted) operatorMistakes(spec, fault);
  if (spec.lowercase && spec.uppercase) fault('lowercase() and uppercase() exclude each other; remove one');
}

function boundMistakes(spec: FieldSpec, fault: Fault): void {
  const { min, max } = spec;
  const type = fieldTypeOf(spec);
  const own = type.errors?.(spec) ?? [];
  own.forEach(fault);
  if (own.length > 0 || min === undefined || max === undefined) return;
  const { bound = Number, order = defaultOrder } = type;
  if (order(bound(min.value), bound(max.value)) > 0) fault('min() is greater than max(): no value would pass');
}

function ruleMistakes(spec: FieldSpec, isSlow: SlowPattern, fault: Fault): void {
  const { pattern, checks = [], standard } = spec;
  if (pattern !== undefined && !(pattern.regex instanceof RegExp)) fault('pattern() takes a regular expression');
  else if (pattern !== undefined && isSlow(pattern.regex, Number(spec.max?.value ?? Infinity))) {
    fault(
      `pattern(${pattern.regex}) takes for ever on a hostile text: parts that repeat overlap; make them exclusive, or set a lower max()`,
    );
  }
  if (checks.some(({ check }) => typeof check !== 'function')) fault('check() takes a function');
  if ('standard' in spec && typeof standard?.['~standard']?.validate !== 'function')
    fault('schema() takes a Standard Schema: an object with "~standard"');
}

/** @param testable whether its schema makes sense, that of what stands inside it included */
function defaultMistakes(spec: FieldSpec, testable: boolean, fault: Fault): void {
  if (!('default' in spec) || typeof spec.default === 'function') return;
  if (spec.default === undefined || spec.default === null) {
    if (spec.required) fault(`default(${spec.default}) is no value, and the field is required; remove it`);
    return;
  }
  if (fieldTypeOf(spec).concealed) fault(`default(): a ${spec.type.kind} that stands in the code is none; remove it`);
  if (spec.unique) fault('unique() and a default that is always the same exclude each other; remove one');
  let value: unknown;
  try {
    value = freshDefault(spec);
  } catch (error) {
    const reason = (error as Error).message;
    fault(`default(): no record can get a copy of it (${reason}); give plain data, or a function that makes the value`);
    return;
  }
  if (!testable) return;
  const parsed = fieldSchema(spec, 'reject').safeParse(value);
  const broken = parsed.success ? brokenRule(spec, parsed.data) : parsed.error.issues[0]?.message;
  if (broken !== undefined) fault(`default() does not pass the field's own rules: ${broken}`);
}

/** What custom rules say of a default, as far as they can be asked without a record and without waiting. */
function brokenRule({ checks = [], standard }: FieldSpec, value: unknown): string | undefined {
  for (const { check, message } of checks) {
    const verdict = check.length > 1 ? true : settled(() => (check as (value: unknown) => unknown)(value));
    if (verdict === false || typeof verdict === 'string') return message ?? (verdict || 'Must be valid');
  }
  const result = standard === undefined ? undefined : settled(() => standard['~standard'].validate(value));
  return (result as { issues?: readonly { message: string }[] } | undefined)?.issues?.[0]?.message;
}

/** What a function gives at once; undefined where it takes its time, or throws. */
function settled(ask: () => unknown): unknown {
  try {
    const given = ask();
    if (!(given instanceof Promise)) return given;
    given.catch(() => undefined);
    return undefined;
  } catch {
    return undefined;
  }
}

/** What has no meaning for a value inside an array or object. */
function placeMistakes(inner: FieldSpec, isItem: boolean, fault: Fault): void {
  for (const mark of OUTERMOST) {
    if (inner[mark]) fault(`${mark} has no effect inside an array or object; set it on the outer field`);
  }
  if (inner.visibleTo ?? inner.writableBy)
    fault('visibleTo() and writableBy() have no effect inside an array or object; set them on the outer field');
  if (isItem && 'default' in inner) fault('default() has no effect on the items of an array; set it on the array');
  if (fieldTypeOf(inner).concealed) fault(`a ${inner.type.kind} cannot stand inside an array or object`);
}

/** What stands in an array or object, with the path to it; undefined where it is no field. */
function insideOf(spec: FieldSpec): [path: string, inner: FieldSpec | undefined][] {
  const specOf = (field: unknown) => (field instanceof Field ? (field.spec as FieldSpec) : undefined);
  if ('inner' in spec) return [['[]', specOf(spec.inner)]];
  return Object.entries(spec.shape ?? {}).map(([name, field]) => [`.${name}`, specOf(field)]);
}

/** The mistakes of what stands in an array or object. Returns whether the field can be looked at as a whole. */
function innerMistakes(spec: FieldSpec, isSlow: SlowPattern, fault: (path: string, text: string) => void): boolean {
  if ('shape' in spec && (typeof spec.shape !== 'object' || spec.shape === null)) {
    fault('', 'object() takes its fields, as { city: f.string() }');
    return false;
  }
  if (spec.shape !== undefined && Object.keys(spec.shape).length === 0)
    fault('', 'object() has no fields, and takes nothing but {}; name some, or write json()');
  let whole = true;
  for (const [path, inner] of insideOf(spec)) {
    if (inner === undefined) {
      fault(path, 'it is not a field; make it with f, as f.string()');
      whole = false;
      continue;
    }
    if (path === '.' || path.slice(1) in Object.prototype) fault(path, 'the name is reserved; choose another');
    placeMistakes(inner, path === '[]', (text) => fault(path, text));
    whole = specMistakes(inner, isSlow, (deeper, text) => fault(path + deeper, text)) && whole;
  }
  return whole;
}

/**
 * The mistakes of one field, those inside arrays and objects included.
 *
 * @param fault called with the path inside the field (empty for the field itself) and the text of the mistake
 * @returns whether it is made of fields throughout, so that a schema can be made of it
 */
export function specMistakes(
  spec: FieldSpec,
  isSlow: SlowPattern,
  fault: (path: string, text: string) => void,
): boolean {
  const own = (text: string) => fault('', text);
  let isSoundInside = true;
  const inside = (path: string, text: string) => {
    isSoundInside = false;
    fault(path, text);
  };
  if (!innerMistakes(spec, isSlow, inside)) return false;
  visibilityMistakes(spec, own);
  modifierMistakes(spec, own);
  const rules: string[] = [];
  boundMistakes(spec, (text) => rules.push(text));
  ruleMistakes(spec, isSlow, (text) => rules.push(text));
  rules.forEach(own);
  // A schema of rules that make no sense would say nothing of a default; nor would one that fills in a default at fault.
  if (rules.length === 0) defaultMistakes(spec, isSoundInside, own);
  return true;
}
