import type { FieldSpec } from '../../declare/field.ts';
import { compilePolicy } from '../../declare/policy.ts';
import { parseDate } from '../fields/date.ts';
import type { TypedModifier } from '../fields/field-type.ts';
import { possibleOperators } from '../fields/operators.ts';
import { fieldSchema, fieldTypeOf } from '../fields/registry.ts';
import { isSlowPattern } from './slow-pattern.ts';

type Fault = (text: string) => void;

const TYPED: readonly TypedModifier[] = [
  'min',
  'max',
  'pattern',
  'trim',
  'lowercase',
  'uppercase',
  'unique',
  'index',
  'filterable',
  'sortable',
  'searchable',
  'encrypted',
  'owner',
  'populate',
];
const NOT_ENCRYPTED = ['filterable', 'sortable', 'searchable', 'unique', 'index', 'owner'] as const;
const QUERIES = ['filterable', 'sortable', 'searchable'] as const;

function operatorMistakes(spec: FieldSpec, fault: Fault): void {
  if (spec.filterable === undefined) return;
  const possible = possibleOperators(spec);
  const named = spec.filterable === true ? fieldTypeOf(spec).operators : spec.filterable;
  if (named.length === 0) fault(`filterable() must name its operators here; they can be ${possible.join(', ')}`);
  for (const operator of named) {
    if (!possible.includes(operator)) fault(`filterable() includes "${operator}"; it can be ${possible.join(', ')}`);
  }
}

function modifierMistakes(spec: FieldSpec, fault: Fault): void {
  const type = fieldTypeOf(spec);
  for (const modifier of TYPED) {
    if (!spec[modifier] || type.modifiers.includes(modifier)) continue;
    if (modifier === 'encrypted') fault(`${spec.kind} fields can not be encrypted; remove encrypted()`);
    else fault(`${modifier}() does nothing on a ${spec.kind} field; remove it`);
  }
  if (spec.kind === 'array' && spec.populate && spec.inner!.spec.kind !== 'ref')
    fault('populate() needs an array of references; remove it');
  if (spec.encrypted) {
    for (const modifier of NOT_ENCRYPTED) {
      if (spec[modifier])
        fault(`encrypted() and ${modifier} exclude each other: a ciphertext can not be compared; remove one`);
    }
  }
  if (type.modifiers.includes('filterable') && !spec.encrypted) operatorMistakes(spec, fault);
  if (spec.lowercase && spec.uppercase) fault('lowercase() and uppercase() exclude each other; remove one');
}

function visibilityMistakes(spec: FieldSpec, fault: Fault): void {
  const secret = spec.hidden
    ? 'hidden()'
    : spec.writeOnly
      ? 'writeOnly()'
      : spec.kind === 'password'
        ? 'a password'
        : undefined;
  for (const query of QUERIES) {
    if (!spec[query]) continue;
    if (secret !== undefined) fault(`${secret} excludes ${query}(): a query would tell the value; remove one`);
    if (spec.visibleTo !== undefined && compilePolicy(spec.visibleTo, () => undefined).functions.length > 0) {
      fault(
        `visibleTo(function) excludes ${query}(): a query can not ask a function per record; use role words or remove one`,
      );
    }
  }
  if (secret !== undefined && spec.populate) fault(`${secret} excludes populate(); remove one`);
  if (spec.hidden && (spec.writeOnly || spec.readOnly))
    fault('hidden() already says that it is never returned and never accepted; remove the other');
  if (spec.writeOnly && spec.readOnly) fault('writeOnly() and readOnly() together leave nothing; remove one');
}

function boundMistakes(spec: FieldSpec, fault: Fault): void {
  const number = (bound: FieldSpec['min']) =>
    bound === undefined
      ? undefined
      : spec.kind === 'date'
        ? Date.parse(parseDate(bound.value) ?? '')
        : Number(bound.value);
  const [min, max] = [number(spec.min), number(spec.max)];
  if (Number.isNaN(min)) fault(`min(${String(spec.min?.value)}) is not a ${spec.kind === 'date' ? 'date' : 'number'}`);
  if (Number.isNaN(max)) fault(`max(${String(spec.max?.value)}) is not a ${spec.kind === 'date' ? 'date' : 'number'}`);
  if (min !== undefined && max !== undefined && min > max) fault('min() is greater than max(): no value would pass');
  if (spec.pattern !== undefined && isSlowPattern(spec.pattern.regex, max)) {
    fault(
      `pattern(${spec.pattern.regex}) takes for ever on a hostile text: parts that repeat overlap; make them exclusive, or set a lower max()`,
    );
  }
}

function defaultMistakes(spec: FieldSpec, fault: Fault): void {
  if (!('default' in spec) || typeof spec.default === 'function' || spec.default === undefined || spec.default === null)
    return;
  const parsed = fieldSchema(spec, 'reject').safeParse(
    spec.default instanceof Date ? spec.default.toISOString() : spec.default,
  );
  if (!parsed.success) fault(`default() does not pass the field's own rules: ${parsed.error.issues[0]?.message}`);
}

function innerMistakes(spec: FieldSpec, fault: (path: string, text: string) => void): void {
  const topOnly = (path: string, inner: FieldSpec) => {
    const marks = [
      ...NOT_ENCRYPTED,
      'populate',
      'encrypted',
      'hidden',
      'writeOnly',
      'readOnly',
      'immutable',
      'renamedFrom',
    ] as const;
    for (const mark of marks)
      if (inner[mark]) fault(path, `${mark} has no effect inside an array or object; set it on the outer field`);
    if (inner.visibleTo ?? inner.writableBy)
      fault(path, 'visibleTo() and writableBy() have no effect inside an array or object; set them on the outer field');
    if (path === '[]' && 'default' in inner)
      fault(path, 'default() has no effect on the items of an array; set it on the array');
    if (inner.kind === 'password') fault(path, 'a password can not stand inside an array or object');
  };
  if (spec.inner !== undefined) {
    topOnly('[]', spec.inner.spec);
    specMistakes(spec.inner.spec, (path, text) => fault(`[]${path}`, text));
  }
  for (const [name, field] of Object.entries(spec.shape ?? {})) {
    topOnly(`.${name}`, field.spec);
    specMistakes(field.spec, (path, text) => fault(`.${name}${path}`, text));
  }
}

/**
 * The mistakes of one field, those inside arrays and objects included.
 *
 * @param fault called with the path inside the field (empty for the field itself) and the text of the mistake
 */
export function specMistakes(spec: FieldSpec, fault: (path: string, text: string) => void): void {
  const own = (text: string) => fault('', text);
  modifierMistakes(spec, own);
  visibilityMistakes(spec, own);
  boundMistakes(spec, own);
  if (spec.kind === 'enum' && (spec.values!.length === 0 || new Set(spec.values).size < spec.values!.length)) {
    own('enum() needs at least one value, and each only once');
  }
  for (const policy of [spec.visibleTo, spec.writableBy]) if (policy !== undefined) compilePolicy(policy, own);
  innerMistakes(spec, fault);
  defaultMistakes(spec, own);
}
