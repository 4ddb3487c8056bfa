import type { StoredRecord } from '../../../declare/host.ts';
import { isTransient } from '../../../platform/data/postgres/errors.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import { isId, newId } from '../../../platform/helpers/ids.ts';
import { reserveResponseBytes } from '../../../platform/http/pending-responses.ts';
import { toComparableValue } from '../../query/comparison.ts';
import { BY_ID, type Condition, createComparison, type ListCondition } from '../../query/list-query.ts';
import type { Values } from '../../schema/compiled.ts';
import type { Entity } from '../../store/entity.ts';
import { findGuard } from '../../writes/guard.ts';
import { setsUnseenField } from '../../writes/unseen-fields.ts';
import { authorizeLoadedForWrite, hashPasswords } from '../../writes/write-steps.ts';
import type { RecordsContext } from '../context.ts';
import { validateCreate } from '../create.ts';
import { validateUpdate } from '../update.ts';
import type { BatchAccess } from './access.ts';
import type { BatchItem, Preparation, PreparedChange, Room } from './item.ts';
import { checkReferences } from './references.ts';

/** Dependencies of the preparation of items. The store belongs to the transaction that writes the items. */
interface PreparationContext {
  context: RecordsContext;
  entity: Entity;
  access: BatchAccess;
  room: Room;
  /** The validated values of creates, from before the transaction. */
  created: ReadonlyMap<BatchItem, Preparation>;
}

/** The error of a batch whose records are too large together. */
export function createTooLargeError(): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', 'The records of this batch are too large together; change fewer at once');
}

/** Returns an error as the item's error. Throws transient errors of the database, because they concern the whole batch. */
export async function catchItemError<T>(work: () => Promise<T>): Promise<T | { error: unknown }> {
  try {
    return await work();
  } catch (error) {
    if (isTransient(error)) throw error;
    return { error };
  }
}

async function prepareCreate(
  context: RecordsContext,
  { resource }: Entity,
  access: BatchAccess,
  item: BatchItem,
): Promise<PreparedChange> {
  await access.assertMayCreate();
  const values = await validateCreate(context, resource, item.data, item.operation);
  await findGuard(context, resource, item.operation)?.check({ after: values }, item.operation, undefined);
  item.hashes ??= new Map();
  const hashed = await hashPasswords(context, resource, values, item.hashes);
  const { id = newId(), times } = item;
  return { item, change: { action: 'created', id, values: hashed, times }, before: undefined };
}

/** Authorizes and validates the creates among the items. Needs no stored record, so it can run before the transaction. */
export async function prepareCreates(
  context: RecordsContext,
  entity: Entity,
  access: BatchAccess,
  items: readonly BatchItem[],
): Promise<Map<BatchItem, Preparation>> {
  const prepared = new Map<BatchItem, Preparation>();
  for (const item of items) {
    if (item.op === 'create')
      prepared.set(item, await catchItemError(() => prepareCreate(context, entity, access, item)));
  }
  return prepared;
}

/**
 * Hashes the passwords of items whose records may be created in a transaction, which must not wait for hashes. Passwords that are not valid are
 * left to the validation, and a caller that may create no record computes none.
 */
export async function hashPasswordsAhead(
  context: RecordsContext,
  { resource }: Entity,
  access: BatchAccess,
  items: readonly BatchItem[],
): Promise<void> {
  const passwords = resource.fields.filter(({ type }) => type.concealed);
  if (passwords.length === 0) return;
  for (const item of items) {
    if ((item.op !== 'create' && item.op !== 'upsert') || item.hashes !== undefined) continue;
    if (
      !(await access.assertMayCreate().then(
        () => true,
        () => false,
      ))
    )
      return;
    const valid = passwords.flatMap(({ name, schema }) => {
      const { data } = schema.safeParse(Object(item.data)[name]);
      return typeof data === 'string' ? [[name, data]] : [];
    });
    item.hashes = new Map();
    await hashPasswords(context, resource, Object.fromEntries(valid), item.hashes);
  }
}

/** The records of a batch: those that are locked, and others that the caller may only see. */
interface LoadedRecords {
  locked: ReadonlyMap<string, StoredRecord>;
  seen: ReadonlyMap<string, StoredRecord>;
}

/** The conditions for the records that one of the actions may write. Undefined: any record in the scope. */
async function writableConditions(
  access: BatchAccess,
  actions: readonly ('update' | 'delete')[],
): Promise<Condition[]> {
  const found = await Promise.all(
    actions.map((action) => access.conditionsFor(action).catch(() => [{ never: true }] as Condition[])),
  );
  if (found.length === 1) return found[0] ?? access.scope();
  const scope = await access.scope();
  return [{ any: found.map((conditions) => ({ every: conditions ?? scope })) }];
}

/**
 * Locks the records with these values of a field if the caller may write them, and reads the others that the caller may see.
 *
 * @throws ApiError PAYLOAD_TOO_LARGE if the records are too large together
 */
async function loadRecords(
  { entity: { store }, access, room }: PreparationContext,
  selected: Condition,
  count: number,
  {
    actions,
    keyOf,
    req,
  }: {
    actions: readonly ('update' | 'delete')[];
    keyOf(record: StoredRecord): string;
    req: BatchItem['operation']['req'];
  },
): Promise<LoadedRecords> {
  const byKey = (records: readonly StoredRecord[]) => new Map(records.map((record) => [keyOf(record), record]));
  const page = await store.lockMany([selected, ...(await writableConditions(access, actions))], {
    rows: count,
    bytes: Math.max(room.bytes, 1),
  });
  const locked = byKey(page.records);
  let { bytes } = page;
  let seen: StoredRecord[] = [];
  if (!page.isCut && locked.size < count) {
    const conditions: ListCondition[] = [selected, ...(await access.scope())];
    const others = await store.listWithin(
      { conditions, sort: BY_ID },
      { limit: count, offset: 0, after: undefined },
      false,
      () => Math.max(room.bytes, 1),
    );
    seen = others.records;
    bytes += others.isCut || others.bytes > room.bytes ? room.bytes : 0;
  }
  if (page.isCut || bytes > room.bytes) {
    throw createTooLargeError();
  }
  room.bytes -= bytes;
  reserveResponseBytes(req, bytes);
  return { locked, seen: byKey(seen) };
}

/** Authorizes the write of a loaded record. Functions of the read policy use the services of the transaction. */
function authorizeItem(
  { context: { service }, entity }: PreparationContext,
  { operation }: BatchItem,
  record: StoredRecord | undefined,
  action: 'update' | 'delete',
): Promise<StoredRecord> {
  return authorizeLoadedForWrite(entity, record, action, { ...operation, service });
}

async function prepareUpdate(
  { context, entity }: PreparationContext,
  item: BatchItem,
  before: StoredRecord,
  data: unknown,
): Promise<PreparedChange> {
  const values = await validateUpdate(context, entity.resource, before, data, item.operation);
  // Functions of `visibleTo` use the services of the transaction.
  const isForced = await setsUnseenField(entity, data, before, { ...item.operation, service: context.service });
  return { item, change: { action: 'updated', id: before.id, values, before, isForced }, before };
}

/** Prepares updates and deletions, whose records are identified by id. */
async function prepareById(
  given: PreparationContext,
  items: readonly BatchItem[],
): Promise<Map<BatchItem, Preparation>> {
  const written = items.filter(({ op }) => op !== 'create');
  const ids = written.map(({ id }) => id!).filter(isId);
  const actions = [...new Set(written.map(({ op }) => op as 'update' | 'delete'))];
  const { locked, seen } =
    ids.length === 0
      ? { locked: new Map<string, StoredRecord>(), seen: new Map<string, StoredRecord>() }
      : await loadRecords(given, { field: 'id', op: 'in', value: ids }, ids.length, {
          actions,
          keyOf: ({ id }) => id,
          req: written[0]!.operation.req,
        });
  const prepared = new Map<BatchItem, Preparation>();
  for (const item of items) {
    if (item.op === 'create') {
      prepared.set(item, given.created.get(item)!);
      continue;
    }
    const preparation = await catchItemError(async (): Promise<Preparation> => {
      const record = locked.get(item.id!) ?? seen.get(item.id!);
      const before = await authorizeItem(given, item, record, item.op as 'update' | 'delete');
      if (!locked.has(item.id!)) return 'alone';
      if (item.op === 'delete') return { item, change: { action: 'deleted', id: before.id }, before };
      return prepareUpdate(given, item, before, item.data);
    });
    prepared.set(item, preparation);
  }
  return prepared;
}

/** The data of an upsert that updates its record, which already has this value of the unique field. */
export function toUpdateData({ data, by }: BatchItem): Values {
  const { [by!.field.name]: _same, ...rest } = data as Values;
  return rest;
}

/**
 * Decides on an upsert whose record is not locked.
 *
 * @param seen the record, if it is in the scope of the caller
 */
async function prepareUnlockedUpsert(
  given: PreparationContext,
  item: BatchItem,
  seen: StoredRecord | undefined,
): Promise<Preparation> {
  if (seen !== undefined) {
    try {
      await authorizeItem(given, item, seen, 'update');
      return 'alone';
    } catch (error) {
      // Do not reveal a record that the caller may not read: the create fails with a conflict, like every create of a taken value.
      const isHidden = error instanceof ApiError && (error.code === 'NOT_FOUND' || error.code === 'UNAUTHORIZED');
      if (!isHidden) throw error;
    }
  }
  return prepareCreate(given.context, given.entity, given.access, item);
}

/** Prepares upserts by one field: records that exist are updated, the others are created. */
async function prepareUpserts(
  given: PreparationContext,
  items: readonly BatchItem[],
): Promise<Map<BatchItem, Preparation>> {
  const { spec, name } = items[0]!.by!.field;
  const values = items.map(({ by }) => by!.value).filter((value) => value !== undefined);
  const toComparisonKey = (value: unknown) => JSON.stringify(toComparableValue(spec, value) ?? null);
  const { locked, seen } =
    values.length === 0
      ? { locked: new Map<string, StoredRecord>(), seen: new Map<string, StoredRecord>() }
      : await loadRecords(given, createComparison(name, spec, 'in', values), values.length, {
          actions: ['update'],
          keyOf: (record) => toComparisonKey(record[name]),
          req: items[0]!.operation.req,
        });
  const prepared = new Map<BatchItem, Preparation>();
  for (const item of items) {
    const key = toComparisonKey(item.by!.value);
    const preparation = await catchItemError(async () => {
      const record = locked.get(key);
      if (record === undefined) return prepareUnlockedUpsert(given, item, seen.get(key));
      const before = await authorizeItem(given, item, record, 'update');
      return prepareUpdate(given, item, before, toUpdateData(item));
    });
    prepared.set(item, preparation);
  }
  return prepared;
}

/**
 * Locks, authorizes and validates items, each with the rules of its own route. The items are independent: no two name the same record, and
 * they are all upserts by one field, or none is.
 */
export async function prepareItems(
  given: PreparationContext,
  items: readonly BatchItem[],
): Promise<Map<BatchItem, Preparation>> {
  const prepared = await (items[0]!.op === 'upsert' ? prepareUpserts(given, items) : prepareById(given, items));
  await checkReferences(given.context, given.entity, prepared);
  return prepared;
}
