import { type Constraint, declaredConstraints } from '../../declare/constraint.ts';
import type { Fields } from '../../declare/field.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { fieldTypeOf } from '../fields/field-type.ts';
import { compileConstraint } from '../schema/constraints.ts';

const KINDS: readonly unknown[] = ['exclude', 'unique', 'check'];
const BUILDERS = 'c.exclude(…), c.check(…) or c.unique(…)';

/** Throws an error if the values of a unique constraint may not fit into its index. */
function assertFitsIntoIndex(constraint: Constraint, { fields }: AnyResource): void {
  if (constraint.kind !== 'unique') return;
  for (const name of constraint.fields) {
    const spec = (fields as Fields)[name]?.spec;
    if (spec !== undefined && fieldTypeOf(spec).indexedBytes === undefined)
      throw new Error(`"${name}" is not a field that can be indexed`);
  }
  if (new Set(constraint.fields).size < constraint.fields.length) throw new Error('a field is named twice; keep one');
}

/** Checks the constraints of a resource with valid fields. */
export function checkConstraints(resource: AnyResource, errors: ConfigErrors): void {
  let constraints: readonly Constraint[];
  try {
    constraints = declaredConstraints(resource);
  } catch (error) {
    errors.at('constraints').report(`the function threw an error: ${(error as Error).message}`);
    return;
  }
  if (!Array.isArray(constraints)) {
    errors.at('constraints').report(`must return a list of ${BUILDERS}`);
    return;
  }
  for (const [i, constraint] of constraints.entries()) {
    const at = errors.at(`constraints[${i}]`);
    if (!KINDS.includes(constraint?.kind)) {
      at.report(`must be created with ${BUILDERS}`);
      continue;
    }
    if (
      constraint.message !== undefined &&
      (typeof constraint.message !== 'string' || constraint.message.trim() === '')
    )
      at.report('the message must be a text');
    try {
      compileConstraint(resource, constraint);
      assertFitsIntoIndex(constraint, resource);
    } catch (error) {
      at.report((error as Error).message);
    }
  }
}
