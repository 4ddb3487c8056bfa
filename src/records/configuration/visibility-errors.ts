import type { FieldSpec } from '../../declare/field.ts';
import { allowsNobody, compilePolicy, type Policy } from '../../declare/policy.ts';
import { fieldTypeOf } from '../fields/field-type.ts';

type Fault = (text: string) => void;

const QUERIES = ['filterable', 'sortable', 'searchable'] as const;

/** What keeps a field from everybody, in the words of the declaration. */
function secretOf(spec: FieldSpec): string | undefined {
  if (spec.hidden) return 'hidden()';
  if (spec.writeOnly) return 'writeOnly()';
  return fieldTypeOf(spec).concealed ? `a ${spec.type.kind}` : undefined;
}

function asksFunctions({ visibleTo }: FieldSpec): boolean {
  return visibleTo !== undefined && compilePolicy(visibleTo, () => undefined).functions.length > 0;
}

/** Whether a policy that is well formed allows nobody. */
export function isForNobody(policy: Policy): boolean {
  let whole = true;
  const compiled = compilePolicy(policy, () => {
    whole = false;
  });
  return whole && allowsNobody(compiled);
}

function queryMistakes(spec: FieldSpec, secret: string | undefined, fault: Fault): void {
  const unseen = spec.visibleTo !== undefined && isForNobody(spec.visibleTo);
  for (const query of QUERIES) {
    if (!spec[query]) continue;
    if (unseen) fault(`visibleTo("none") excludes ${query}(): nobody could use it; remove one`);
    if (secret !== undefined) fault(`${secret} excludes ${query}(): a query would tell the value; remove one`);
    if (asksFunctions(spec))
      fault(
        `visibleTo(function) excludes ${query}(): a query cannot ask a function per record; use role words or remove one`,
      );
  }
  if (secret !== undefined && spec.populate) fault(`${secret} excludes populate(); remove one`);
}

/** Rules next to which another one never gets a word. */
function emptyRules(spec: FieldSpec, secret: string | undefined, fault: Fault): void {
  if (spec.hidden && (spec.writeOnly || spec.readOnly))
    fault('hidden() already says that it is never returned and never accepted; remove the other');
  else if (spec.writeOnly && spec.readOnly) fault('writeOnly() and readOnly() together leave nothing; write hidden()');
  if (secret !== undefined && spec.visibleTo !== undefined)
    fault(`${secret} leaves visibleTo() nobody to whom it is shown; remove one`);
  const closed = spec.hidden ? 'hidden()' : spec.readOnly ? 'readOnly()' : spec.owner ? 'owner()' : undefined;
  if (closed !== undefined && spec.writableBy !== undefined)
    fault(`${closed} leaves writableBy() nobody who may set it; remove one`);
  if (closed !== undefined && spec.immutable)
    fault(`${closed} is never taken from clients, and immutable() binds nobody else; remove it`);
  if (spec.owner && spec.writeOnly) fault('owner() is never accepted, writeOnly() never returned; write hidden()');
}

/** The mistakes in who may see and set a field. */
export function visibilityMistakes(spec: FieldSpec, fault: Fault): void {
  for (const rule of ['visibleTo', 'writableBy'] as const) {
    if (rule in spec && spec[rule] === undefined)
      fault(`${rule}(undefined) would open the field to everybody; give it a policy`);
    else if (spec[rule] !== undefined) compilePolicy(spec[rule], (text) => fault(`${rule}: ${text}`));
  }
  const secret = secretOf(spec);
  queryMistakes(spec, secret, fault);
  emptyRules(spec, secret, fault);
}
