import { createOnce } from '../../../platform/helpers/concurrency/once.ts';
import { policyConditionsForWrite } from '../../access/authorize.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import { scopeConditions } from '../../access/scope.ts';
import type { Condition } from '../../query/list-query.ts';
import { locksReferences } from '../../references/check-references.ts';
import type { Entity } from '../../store/entity.ts';
import { hasFieldRules, hasWritableByFunction } from '../../writes/validate.ts';
import type { RecordsContext } from '../context.ts';
import { authorizeCreate } from '../create.ts';
import { createUpdateGuard, derivesChanges } from '../update.ts';
import type { BatchItem } from './item.ts';

type WriteAction = 'update' | 'delete';

/** The access of a batch's caller: policies and scope, evaluated once for all items. */
export interface BatchAccess {
  /** @throws ApiError UNAUTHORIZED or FORBIDDEN */
  assertMayCreate(): Promise<void>;
  /**
   * The conditions that records must meet to be written; undefined if a function in the policy needs each record.
   *
   * @throws ApiError UNAUTHORIZED if a user is required
   */
  conditionsFor(action: WriteAction): Promise<Condition[] | undefined>;
  /** The conditions of the scope filter. */
  scope(): Promise<Condition[]>;
  /**
   * Whether an item can be written together with others. Two kinds of items run alone:
   *
   * - Items with functions that may read records, because these must see the result of earlier items: hooks, functions in policies and
   *   `writableBy`, guards, steps of deletions.
   * - Items that change more than their own record: they attach files, lock the records of a list of references, or delete records that
   *   others refer to.
   */
  canWriteTogether(item: BatchItem): Promise<boolean>;
  /** Whether an item is a create that can be authorized and validated before any item is written. */
  canValidateBefore(item: BatchItem): boolean;
}

/**
 * Creates the access of a batch.
 *
 * @param rulesRunAlone whether updates of fields with a `check` or `schema` run alone: outside of a transaction, these functions may call
 *   any service
 */
export function createBatchAccess(
  context: RecordsContext,
  { resource }: Entity,
  operation: OperationContext,
  rulesRunAlone: boolean,
): BatchAccess {
  const { hooks = {} } = resource.declaration;
  const { system } = operation;
  const createConditionsLoader = (action: WriteAction) =>
    createOnce(async () => (system ? [] : policyConditionsForWrite(resource, action, operation)));
  const conditions = { update: createConditionsLoader('update'), delete: createConditionsLoader('delete') };

  /** Whether the policy of an action can be checked without a function. An error counts: it is the same for each item. */
  const isPlain = (action: WriteAction) =>
    conditions[action]().then(
      (found) => found !== undefined,
      () => true,
    );
  const isSetByFunction = (data: unknown) => !system && hasWritableByFunction(resource, data);

  const changesMore = resource.holdsFiles || locksReferences(resource);

  const canValidateBefore = ({ data }: BatchItem) =>
    !resource.holdsFiles && (system || resource.policies.create.functions.length === 0) && !isSetByFunction(data);
  const canCreateTogether = (item: BatchItem) =>
    hooks.beforeCreate === undefined && !changesMore && canValidateBefore(item);
  const isGuarded = ({ data, by }: BatchItem) => {
    const { [by?.field.name ?? '']: _key, ...changes } = Object(data) as Record<string, unknown>;
    return createUpdateGuard(context, resource, changes, operation) !== undefined;
  };
  const canUpdateTogether = async (item: BatchItem) =>
    canSetTogether(item.data) && !isGuarded(item) && (await isPlain('update'));
  const canSetTogether = (data: unknown) =>
    hooks.beforeUpdate === undefined &&
    !changesMore &&
    !isSetByFunction(data) &&
    !derivesChanges(context, resource, data) &&
    !(rulesRunAlone && hasFieldRules(resource, data));

  return {
    assertMayCreate: createOnce(() => authorizeCreate(resource, operation)),
    conditionsFor: (action) => conditions[action](),
    scope: createOnce(async () => (system ? [] : scopeConditions(resource, operation))),
    canValidateBefore: (item) => item.op === 'create' && canValidateBefore(item),
    async canWriteTogether(item) {
      if (item.op === 'create') return canCreateTogether(item);
      if (item.op === 'update') return canUpdateTogether(item);
      if (item.op === 'upsert')
        return item.by!.field.spec.unique === true && canCreateTogether(item) && canUpdateTogether(item);
      const { name } = resource;
      const affectsOthers = context.deletionSteps.has(name) || context.referrers.has(name);
      return hooks.beforeDelete === undefined && !affectsOthers && (await isPlain('delete'));
    },
  };
}
