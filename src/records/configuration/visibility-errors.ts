import type { FieldSpec } from '../../declare/field.ts';
import { allowsNobody, compilePolicy, type Policy, textOfPolicyFunction } from '../../declare/policy.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { fieldTypeOf } from '../fields/field-type.ts';

const QUERY_MODIFIERS = ['filterable', 'sortable', 'searchable', 'aggregatable'] as const;

/** The modifier or type that hides a field from every viewer, as written in the declaration. */
function findHidingModifier(spec: FieldSpec): string | undefined {
  if (spec.hidden) return 'hidden()';
  if (spec.writeOnly) return 'writeOnly()';
  return fieldTypeOf(spec).concealed ? `a ${spec.type.kind}` : undefined;
}

/** The text of a function that decides for each record if a field is visible; undefined if there is none. */
function findVisibilityFunction({ visibleTo }: FieldSpec): string | undefined {
  const [rule] = visibleTo === undefined ? [] : compilePolicy(visibleTo, () => undefined).functions;
  return rule && textOfPolicyFunction(rule);
}

/** Whether a policy is valid and allows no viewer. */
export function isPolicyForNobody(policy: Policy): boolean {
  let isValid = true;
  const compiled = compilePolicy(policy, () => {
    isValid = false;
  });
  return isValid && allowsNobody(compiled);
}

function checkQueryModifiers(spec: FieldSpec, secret: string | undefined, errors: ConfigErrors): void {
  const unseen = spec.visibleTo !== undefined && isPolicyForNobody(spec.visibleTo);
  const rule = findVisibilityFunction(spec);
  for (const query of QUERY_MODIFIERS) {
    if (!spec[query]) continue;
    if (unseen)
      errors.report(`visibleTo("none") and ${query}() cannot be combined: nobody could use the query; remove one`);
    if (secret !== undefined)
      errors.report(`${secret} cannot be combined with ${query}(): a query would reveal the value; remove one`);
    if (rule !== undefined)
      errors.report(
        `visibleTo(${rule}) and ${query}() cannot be combined: a query cannot call a function for each record; use roles of the app, or remove one`,
      );
  }
  if (secret !== undefined && spec.populate) errors.report(`${secret} cannot be combined with populate(); remove one`);
}

/** Reports rules that make another rule ineffective. */
function checkContradictions(spec: FieldSpec, secret: string | undefined, errors: ConfigErrors): void {
  if (spec.hidden && (spec.writeOnly || spec.readOnly))
    errors.report('hidden() already means never returned and never accepted; remove the other');
  else if (spec.writeOnly && spec.readOnly)
    errors.report('writeOnly() and readOnly() together mean never returned and never accepted; use hidden()');
  if (secret !== undefined && spec.visibleTo !== undefined)
    errors.report(`${secret} is never shown, so visibleTo() has no effect; remove one`);
  const closed = spec.hidden ? 'hidden()' : spec.readOnly ? 'readOnly()' : spec.owner ? 'owner()' : undefined;
  if (closed !== undefined && spec.writableBy !== undefined)
    errors.report(`${closed} is never accepted from clients, so writableBy() has no effect; remove one`);
  if (closed !== undefined && spec.immutable)
    errors.report(`${closed} is never accepted from clients, so immutable() has no effect; remove it`);
  if (spec.owner && spec.writeOnly)
    errors.report('owner() is never accepted and writeOnly() is never returned; use hidden()');
}

/** Checks the rules for reading and setting a field. */
export function checkVisibility(spec: FieldSpec, errors: ConfigErrors): void {
  for (const rule of ['visibleTo', 'writableBy'] as const) {
    if (rule in spec && spec[rule] === undefined)
      errors.report(`${rule}(undefined) would open the field to everyone; give it a policy`);
    else if (spec[rule] !== undefined) compilePolicy(spec[rule], (text) => errors.at(rule).report(text));
  }
  const secret = findHidingModifier(spec);
  checkQueryModifiers(spec, secret, errors);
  checkContradictions(spec, secret, errors);
}
