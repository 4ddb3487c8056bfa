import type { RecordSubscription, SubscriptionRequest } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { loadAuthorizedRecord, policyConditionsForList, requiresUser } from '../access/authorize.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { checkRelatedVisibility } from '../access/related-visibility.ts';
import type { Condition } from '../query/list-query.ts';
import { assertGivenOnce } from '../query/parameter.ts';
import { parseFilters } from '../query/parse-filters.ts';
import type { Entity } from '../store/entity.ts';

/** The condition for one record that the viewer may read. A resumed subscription does not fail if the record no longer exists. */
async function authorizeSingleRecord(
  { resource, store }: Entity,
  id: string,
  viewContext: ResolvedViewContext,
  isResumed: boolean,
) {
  const { read } = resource.policies;
  if (!isResumed) await loadAuthorizedRecord(resource, store, id, 'read', read, viewContext);
  else if (viewContext.user === undefined && requiresUser(read)) throw new ApiError('UNAUTHORIZED');
  else if (!isId(id)) throw new ApiError('NOT_FOUND');
  return [{ field: 'id', op: 'eq', value: id }] satisfies Condition[];
}

/**
 * Subscribes to the records of a list, or to a single record, narrowed down by the filters of lists.
 *
 * @throws ApiError the errors of a list or of reading a record; BAD_REQUEST naming a filter that this viewer may not use
 */
export async function subscribeToRecords(
  entity: Entity,
  { id, filters, resumed: isResumed = false }: SubscriptionRequest,
  viewContext: ResolvedViewContext,
): Promise<RecordSubscription> {
  const { resource, store } = entity;
  assertGivenOnce(Object.keys(filters));
  const filterConditions = await checkRelatedVisibility(
    parseFilters(resource, Object.entries(filters), viewContext.user, false),
    viewContext,
  );
  const allowed =
    id === undefined
      ? await policyConditionsForList(resource, viewContext)
      : await authorizeSingleRecord(entity, id, viewContext, isResumed);
  const conditions = [...allowed, ...filterConditions];
  return {
    key: JSON.stringify(conditions),
    includes: (record) => store.meets(conditions, record),
    async mayInclude(record, unknown) {
      return (await store.meets(allowed, record)) && store.meets(filterConditions, record, unknown);
    },
  };
}
