import type { StoredRecord } from '../../../declare/host.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import { authorizeLoadedRecord } from '../../access/authorize.ts';
import { scopeConditions } from '../../access/scope.ts';
import { BY_ID, type Condition, createComparison } from '../../query/list-query.ts';
import type { CompiledField, Values } from '../../schema/compiled.ts';
import type { Entity } from '../../store/entity.ts';
import { createHookContext } from '../../writes/hooks.ts';
import type { RecordsContext } from '../context.ts';
import { createRecord } from '../create.ts';
import { deleteRecord } from '../delete.ts';
import { updateRecordWithPrevious } from '../update.ts';
import type { BatchItem, Outcome } from './item.ts';
import { tenantOfUniqueField } from './parse.ts';
import { toUpdateData } from './prepare.ts';

/** Maximum attempts of an upsert while other requests create and delete its record. */
const MAX_ATTEMPTS = 5;

/**
 * The condition that the record of an upsert belongs to the organisation where a create would place it. For a field that is unique within
 * organisations.
 *
 * @param tenant the field that holds the organisation
 * @throws ApiError as a create would, if the organisation of the record cannot be determined
 */
async function organisationCondition(
  context: RecordsContext,
  { name, spec, schema }: CompiledField,
  { data, operation }: BatchItem,
): Promise<Condition> {
  const given = (data as Values)[name] ?? undefined;
  // An invalid value identifies no organisation. The validation of the create then reports it.
  if (given !== undefined && !schema.safeParse(given).success) return { never: true };
  return createComparison(name, spec, 'eq', await spec.chooseTenant!(given, createHookContext(context, operation)));
}

/**
 * The record of an upsert; undefined if there is none that the caller may read.
 *
 * @param within conditions that limit where the value of the unique field is unique
 */
async function findReadableRecord(
  { resource, store }: Entity,
  item: BatchItem,
  within: readonly Condition[],
): Promise<StoredRecord | undefined> {
  const { field, value } = item.by!;
  if (value === undefined) return undefined;
  const { operation } = item;
  const scope = operation.system ? [] : await scopeConditions(resource, operation);
  const conditions = [createComparison(field.name, field.spec, 'eq', value), ...within, ...scope];
  const [record] = await store.list({ conditions, sort: BY_ID }, { limit: 1, offset: 0, after: undefined }, false);
  if (record === undefined || operation.system) return record;
  try {
    return await authorizeLoadedRecord(resource, store, record, 'read', resource.policies.read, operation);
  } catch (error) {
    if (error instanceof ApiError && (error.code === 'NOT_FOUND' || error.code === 'UNAUTHORIZED')) return undefined;
    throw error;
  }
}

/**
 * Updates the record with this unique value, or creates one. Other requests may create or delete the record between the steps: then the
 * upsert begins again.
 */
async function upsertAlone(context: RecordsContext, entity: Entity, item: BatchItem): Promise<Outcome> {
  const { id, times, hashes, data, operation } = item;
  const tenant = tenantOfUniqueField(entity.resource, item.by!.field);
  const within = tenant === undefined ? [] : [await organisationCondition(context, tenant, item)];
  const { [tenant?.name ?? '']: _organisation, ...changes } = toUpdateData(item);
  let found = await findReadableRecord(entity, item, within);
  for (let attempt = 1; ; attempt++) {
    try {
      if (found === undefined)
        return {
          action: 'created',
          record: await createRecord(context, entity, data, operation, { id, times, hashes }),
        };
      const written = await updateRecordWithPrevious(context, entity, found.id, changes, operation);
      return { action: 'updated', ...written };
    } catch (error) {
      const expected = found === undefined ? 'CONFLICT' : 'NOT_FOUND';
      if (!(error instanceof ApiError && error.code === expected) || attempt === MAX_ATTEMPTS) throw error;
      const now = await findReadableRecord(entity, item, within);
      if (now?.id === found?.id) throw error;
      found = now;
    }
  }
}

/** Runs an item by itself, exactly as its own route does. */
export async function runItemAlone(context: RecordsContext, entity: Entity, item: BatchItem): Promise<Outcome> {
  // Inside a transaction, the functions of the declaration use its services.
  const operation = { ...item.operation, service: context.service };
  const { op, id, times, hashes, data } = item;
  if (op === 'create')
    return { action: 'created', record: await createRecord(context, entity, data, operation, { id, times, hashes }) };
  if (op === 'upsert') return upsertAlone(context, entity, { ...item, operation });
  if (op === 'delete') return { action: 'deleted', record: await deleteRecord(context, entity, id!, operation) };
  return { action: 'updated', ...(await updateRecordWithPrevious(context, entity, id!, data, operation)) };
}
