import type { StoredRecord } from '../../../declare/host.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import type { ListCondition } from '../../query/list-query.ts';
import { isFilter, type RawQuery } from '../../query/parse.ts';
import type { Entity } from '../../store/entity.ts';
import { findGuard } from '../../writes/guard.ts';
import type { RecordsContext } from '../context.ts';
import { parseSelectedRecords } from '../read.ts';
import type { BatchItem, BatchOperation, Outcome, Room } from './item.ts';
import { fieldsToUpsertBy, parseUpsertKey } from './parse.ts';
import { runAtomicBatch } from './run.ts';

/** Maximum records that `updateMany` and `deleteMany` hold at a time. */
const MAX_ROWS = 500;

/** Code decides itself how many records it loads; `updateMany` and `deleteMany` limit each of their steps. */
const UNLIMITED: Room = { bytes: Number.MAX_SAFE_INTEGER };

function createItem(
  place: number,
  op: BatchOperation,
  operation: OperationContext,
  given: Partial<BatchItem>,
): BatchItem {
  return { place, op, id: undefined, data: undefined, by: undefined, operation, ...given };
}

function getRecord(outcome: Outcome | undefined): StoredRecord {
  return (outcome as Exclude<Outcome, { error: unknown }>).record;
}

/**
 * Creates records, all or none.
 *
 * @throws ApiError of the first invalid input, with details by the index of the input (`3.title`)
 */
export async function createRecords(
  context: RecordsContext,
  entity: Entity,
  inputs: readonly unknown[],
  operation: OperationContext,
): Promise<StoredRecord[]> {
  if (!Array.isArray(inputs)) throw new TypeError('createMany() takes a list of inputs');
  const items = inputs.map((data, place) => createItem(place, 'create', operation, { data }));
  const outcomes = await runAtomicBatch(context, entity, items, { operation, prefix: '', room: UNLIMITED });
  return outcomes.map(getRecord);
}

/**
 * Updates the record with the same value of a unique field, or creates one.
 *
 * @throws TypeError if `by` is not a unique field that the caller can see
 */
export async function upsertRecord(
  context: RecordsContext,
  entity: Entity,
  by: string,
  data: unknown,
  operation: OperationContext,
): Promise<StoredRecord> {
  const fields = fieldsToUpsertBy(entity.resource, operation);
  const field = fields.find(({ name }) => name === by);
  if (field === undefined) {
    const names = fields.map(({ name }) => `"${name}"`).join(', ') || 'none';
    throw new TypeError(
      `upsert() needs a unique field of "${entity.resource.name}", not "${by}"; unique fields: ${names}`,
    );
  }
  const item = createItem(0, 'upsert', operation, { data, by: parseUpsertKey(field, data) });
  try {
    const [outcome] = await runAtomicBatch(context, entity, [item], { operation, prefix: '', room: UNLIMITED });
    return getRecord(outcome);
  } catch (error) {
    // The call fails with the error of its only item.
    throw error instanceof ApiError && error.cause instanceof ApiError ? error.cause : error;
  }
}

/** @throws TypeError if the filter is missing or is not a filter: then it would match other records than intended */
function assertFilter(
  { resource }: Entity,
  method: string,
  where: unknown,
  { system, user }: OperationContext,
): asserts where is RawQuery {
  if (typeof where !== 'object' || where === null || Array.isArray(where))
    throw new TypeError(`${method}() needs a filter such as { status: 'draft' }; pass {} for all records`);
  const viewer = system ? 'system' : user;
  const parameter = Object.entries(where).find(([name, value]) => !isFilter(resource, name, value, viewer))?.[0];
  if (parameter !== undefined)
    throw new TypeError(
      `${method}() takes only filters, so leave out "${parameter}"; it works on every matching record`,
    );
}

/**
 * Changes all records that match a filter and that the caller may list, in the order of their ids. Each step locks some records and changes
 * them in one transaction, so the call needs little memory however many records match.
 *
 * @returns the number of changed records
 */
async function changeMatching(
  context: RecordsContext,
  entity: Entity,
  where: unknown,
  operation: OperationContext,
  { method, op, data }: { method: string; op: 'update' | 'delete'; data?: unknown },
): Promise<number> {
  assertFilter(entity, method, where, operation);
  const conditions = await parseSelectedRecords(context, entity, where, operation);
  const { name } = entity.resource;
  let after: string | undefined;
  let changed = 0;
  for (;;) {
    const rest: ListCondition[] = after === undefined ? [] : [{ field: 'id', op: 'gt', value: after }];
    const step = await context.withTransaction(
      entity,
      operation,
      async (inside, _entity, operationInside) => {
        const own = inside.entities.get(name)!;
        await findGuard(inside, own.resource, operationInside)?.lock(inside.database);
        const limits = { rows: MAX_ROWS, bytes: context.settings.http.batchBytes };
        const { records, isCut } = await own.store.lockMany([...conditions, ...rest], limits);
        const items = records.map(({ id }, place) => createItem(place, op, operationInside, { id, data }));
        await runAtomicBatch(inside, own, items, { operation: operationInside, prefix: '', room: { ...UNLIMITED } });
        return { count: records.length, last: records.at(-1)?.id, isLast: records.length < MAX_ROWS && !isCut };
      },
      { always: true },
    );
    changed += step.count;
    after = step.last;
    if (step.isLast) return changed;
  }
}

/** Updates all records that match a filter. Returns their number. */
export function updateRecords(
  context: RecordsContext,
  entity: Entity,
  where: unknown,
  data: unknown,
  operation: OperationContext,
): Promise<number> {
  return changeMatching(context, entity, where, operation, { method: 'updateMany', op: 'update', data });
}

/** Deletes all records that match a filter. Returns their number. */
export function deleteRecords(
  context: RecordsContext,
  entity: Entity,
  where: unknown,
  operation: OperationContext,
): Promise<number> {
  return changeMatching(context, entity, where, operation, { method: 'deleteMany', op: 'delete' });
}
