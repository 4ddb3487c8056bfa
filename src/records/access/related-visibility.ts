import { viewerThroughRelation } from '../../declare/actor.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import { type Condition, type ListSortTerm, RelatedCondition } from '../query/list-query.ts';
import type { CompiledResource, Relation } from '../schema/compiled.ts';
import { listPolicyConditions } from './authorize.ts';
import type { OperationContext, ResolvedViewContext } from './operation-context.ts';
import { scopeConditions } from './scope.ts';

/** The view context of records that relations of other records lead to: an API key may lack the scopes to read them. */
export function relatedViewContext<C extends ResolvedViewContext>(viewContext: C, target: CompiledResource): C {
  const user = viewerThroughRelation(viewContext.user, target.name);
  return user === viewContext.user ? viewContext : { ...viewContext, user };
}

/**
 * The conditions that a policy puts on records which a filter only tests. Policy functions decide about records in memory, so records that only a
 * function allows are not found.
 */
function referencePolicyConditions(
  { ownerField }: CompiledResource,
  policy: CompiledPolicy,
  { user }: ResolvedViewContext,
): Condition[] {
  if (allowsEveryRecord(policy, user)) return [];
  if (!policy.owner || user === undefined || ownerField === undefined) return [{ never: true }];
  return [{ field: ownerField, op: 'eq', value: user.id }];
}

/**
 * The conditions that the viewer may see the related records: for a reference, as if it were expanded in the record; for a reverse relation, as
 * in a list of its records.
 */
async function relatedVisibilityConditions(
  target: CompiledResource,
  { kind }: Relation,
  given: ResolvedViewContext,
): Promise<Condition[]> {
  const viewContext = relatedViewContext(given, target);
  const scope = await scopeConditions(target, viewContext);
  if (kind !== 'reverse')
    return [...scope, ...referencePolicyConditions(target, target.policies.reference, viewContext)];
  return [...scope, ...((await listPolicyConditions(target, viewContext)) ?? [{ never: true as const }])];
}

function hasUncheckedRelation(condition: Condition): boolean {
  if (condition instanceof RelatedCondition)
    return condition.unchecked !== undefined || condition.some.some(hasUncheckedRelation);
  if ('any' in condition) return condition.any.some(hasUncheckedRelation);
  return 'every' in condition && condition.every.some(hasUncheckedRelation);
}

function checkAll(conditions: readonly Condition[], viewContext: ResolvedViewContext): Promise<Condition[]> {
  return Promise.all(conditions.map((one) => checkCondition(one, viewContext)));
}

async function checkCondition(condition: Condition, viewContext: ResolvedViewContext): Promise<Condition> {
  if (!hasUncheckedRelation(condition)) return condition;
  if (condition instanceof RelatedCondition) {
    const { target, join, some, none, unchecked } = condition;
    const visible = unchecked === undefined ? [] : await relatedVisibilityConditions(target, unchecked, viewContext);
    return new RelatedCondition(target, join, [...visible, ...(await checkAll(some, viewContext))], { none });
  }
  if ('any' in condition) return { any: await checkAll(condition.any, viewContext) };
  return 'every' in condition ? { every: await checkAll(condition.every, viewContext) } : condition;
}

/**
 * Completes the filters of a client with the conditions that the viewer may see the related records that the filters test: otherwise a filter would
 * reveal what no response shows.
 */
export async function checkRelatedVisibility<C extends object>(
  conditions: readonly (Condition | C)[],
  viewContext: ResolvedViewContext,
): Promise<(Condition | C)[]> {
  const all = conditions as readonly Condition[];
  return all.some(hasUncheckedRelation) ? checkAll(all, viewContext) : [...all];
}

/** Completes the sort terms of a list with the conditions that the viewer may see the referenced records. */
export function checkSortVisibility(
  sort: readonly ListSortTerm[],
  operation: OperationContext,
): Promise<ListSortTerm[]> {
  return Promise.all(
    sort.map(async ({ related, ...term }): Promise<ListSortTerm> => {
      if (related === undefined) return term;
      const steps = related.steps.map(async (step) => ({
        ...step,
        visible: operation.system ? [] : await relatedVisibilityConditions(step.target, step.relation, operation),
      }));
      return { ...term, related: { steps: await Promise.all(steps), isChecked: true } };
    }),
  );
}
