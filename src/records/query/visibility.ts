import { allowsEveryRecord, type Viewer } from '../../declare/policy.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { Condition } from './condition.ts';

/** Who asks: a viewer, nobody, or the system, which sees every field. */
export type QueryViewer = Viewer | 'system' | undefined;

/**
 * Records whose field this viewer may see, as a condition; undefined when they see it on every one. A query must not reveal
 * values that an answer would leave out.
 */
export function visibilityCondition(
  resource: CompiledResource,
  field: CompiledField,
  viewer: QueryViewer,
): Condition | undefined {
  const policy = field.visibleTo;
  if (viewer === 'system' || policy === undefined || allowsEveryRecord(policy, viewer)) return undefined;
  if (policy.owner && viewer !== undefined && resource.ownerField !== undefined) {
    return { field: resource.ownerField, op: 'eq', value: viewer.id };
  }
  return { never: true };
}
