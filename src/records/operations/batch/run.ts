import { findConstraintViolation } from '../../../platform/data/postgres/errors.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import { countJsonBytes } from '../../serialize/response-bytes.ts';
import type { Entity } from '../../store/entity.ts';
import { findGuard } from '../../writes/guard.ts';
import type { RecordsContext } from '../context.ts';
import { type BatchAccess, createBatchAccess } from './access.ts';
import { runItemAlone } from './alone.ts';
import { createBatchError, type ItemFailure } from './errors.ts';
import type { BatchItem, Outcome, Preparation, Room } from './item.ts';
import { catchItemError, createTooLargeError, hashPasswordsAhead, prepareCreates, prepareItems } from './prepare.ts';
import { type Segment, splitIntoSegments } from './segments.ts';
import { createBatchWriter } from './write.ts';

/** Maximum items that one transaction of a non-atomic batch writes. The limit keeps its locks short. */
const MAX_ITEMS_OF_TRANSACTION = 500;

interface BatchOptions {
  operation: OperationContext;
  /** The beginning of the names in the details of an error. */
  prefix: string;
  room: Room;
}

/** The parts of one attempt to run a batch. */
interface Attempt {
  context: RecordsContext;
  entity: Entity;
  access: BatchAccess;
  operation: OperationContext;
  room: Room;
  onOutcome(item: BatchItem, outcome: Outcome): void;
}

function isReady(preparation: Preparation): preparation is Exclude<Preparation, 'alone' | { error: unknown }> {
  return preparation !== 'alone' && !('error' in preparation);
}

/** Creates the access of a batch. The scope filter is evaluated before the transaction, because it may call any service. */
async function openBatchAccess(
  context: RecordsContext,
  entity: Entity,
  items: readonly BatchItem[],
  operation: OperationContext,
  rulesRunAlone: boolean,
): Promise<BatchAccess> {
  const access = createBatchAccess(context, entity, operation, rulesRunAlone);
  // An error of the filter is reported by each item that needs it.
  if (items.some(({ op }) => op !== 'create')) await access.scope().catch(() => undefined);
  return access;
}

/** Writes prepared items in order. Items that cannot be written together run alone, where their turn is. */
async function writeItems(attempt: Attempt, prepared: ReadonlyMap<BatchItem, Preparation>): Promise<void> {
  const { context, entity, access, operation, room, onOutcome } = attempt;
  const writer = createBatchWriter(context, entity, {
    operation,
    onOutcome,
    async prepareAgain(item) {
      return (await prepareItems({ context, entity, access, room, created: new Map() }, [item])).get(item)!;
    },
  });
  for (const [item, preparation] of prepared) {
    if (isReady(preparation)) await writer.add(preparation);
    else if (preparation !== 'alone') onOutcome(item, preparation);
    else {
      await writer.flush();
      onOutcome(item, await catchItemError(() => runAloneWithin(context, entity, item, room)));
    }
  }
  await writer.flush();
}

/** Runs an item by itself. The record that it returns counts against the room of the batch. */
async function runAloneWithin(context: RecordsContext, entity: Entity, item: BatchItem, room: Room): Promise<Outcome> {
  if (room.bytes <= 0) throw createTooLargeError();
  const outcome = await runItemAlone(context, entity, item);
  if (!('error' in outcome)) room.bytes -= countJsonBytes(outcome.record);
  return outcome;
}

/** Locks the records of all items in the order of their ids: two batches over the same records wait instead of deadlocking. */
async function lockRecords({ entity, access, room }: Attempt, items: readonly BatchItem[]): Promise<void> {
  const ids = items.flatMap(({ op, id }) => ((op === 'update' || op === 'delete') && id !== undefined ? [id] : []));
  if (ids.length === 0) return;
  await entity.store.lockMany([{ field: 'id', op: 'in', value: ids }, ...(await access.scope())], {
    rows: ids.length,
    bytes: Math.max(room.bytes, 1),
  });
}

/** One attempt to run all items in the transaction of the context. Throws the error of the batch at the first failure. */
async function attemptAtomic(
  attempt: Omit<Attempt, 'onOutcome'>,
  segments: readonly Segment[],
  created: ReadonlyMap<BatchItem, Preparation>,
  { prefix, state, known }: { prefix: string; state: { isWriting: boolean }; known: readonly ItemFailure[] },
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const fail = (failures: readonly ItemFailure[]): never => {
    throw createBatchError(failures, prefix);
  };
  const onOutcome = ({ place }: BatchItem, outcome: Outcome) => {
    if ('error' in outcome) fail([{ place, error: outcome.error }]);
    outcomes[place] = outcome;
  };
  const writing = { ...attempt, onOutcome };
  const { context, entity, operation } = attempt;
  // Before any row is locked, as in the requests that change one record.
  if (segments.some(({ isAlone }) => isAlone))
    await findGuard(context, entity.resource, operation)?.lock(context.database);
  if (segments.length > 1)
    await lockRecords(
      writing,
      segments.flatMap(({ items }) => items),
    );
  const prepare = ({ items }: Segment) => prepareItems({ ...attempt, created }, items);
  const first = segments[0]!.isAlone ? undefined : await prepare(segments[0]!);
  // Report every error that is known before anything is written.
  const failures = [...created, ...(first ?? [])].flatMap(([{ place }, preparation]) =>
    preparation !== 'alone' && 'error' in preparation ? [{ place, error: preparation.error }] : [],
  );
  const all = new Map([...known, ...failures].map((failure) => [failure.place, failure]));
  if (all.size > 0) fail([...all.values()]);
  state.isWriting = true;
  for (const segment of segments) {
    if (segment.isAlone) await writeItems(writing, new Map([[segment.items[0]!, 'alone']]));
    else await writeItems(writing, segment === segments[0] ? first! : await prepare(segment));
  }
  return outcomes;
}

/**
 * Runs a batch in one transaction: all items or none. Outside of a transaction it is retried after a conflict with other transactions.
 *
 * @throws ApiError of the first failed item, with the details of all items whose failure is known before anything is written
 */
export async function runAtomicBatch(
  context: RecordsContext,
  entity: Entity,
  items: readonly BatchItem[],
  { operation, prefix, room, known = [] }: BatchOptions & { known?: readonly ItemFailure[] },
): Promise<Outcome[]> {
  if (items.length === 0) {
    if (known.length > 0) throw createBatchError(known, prefix);
    return [];
  }
  const access = await openBatchAccess(context, entity, items, operation, false);
  const segments = await splitIntoSegments(entity.resource, items, access, Number.POSITIVE_INFINITY);
  // A create with a hook runs alone, but its input can be validated now.
  const creates = segments.flatMap(({ items }) => items.filter(access.canValidateBefore));
  const created = await prepareCreates(context, entity, access, creates);
  await hashPasswordsAhead(context, entity, access, items);
  return context.withTransaction(
    entity,
    operation,
    async (inside, _entity, operationInside) => {
      const attempt = {
        context: inside,
        entity: inside.entities.get(entity.resource.name)!,
        access,
        operation: operationInside,
        room: { ...room },
      };
      const state = { isWriting: false };
      try {
        return await attemptAtomic(attempt, segments, created, { prefix, state, known });
      } catch (error) {
        // In a transaction of the caller, earlier items of this batch may be written: they must not be committed without the others.
        if (state.isWriting) await inside.transaction!.abort(error);
        throw error;
      }
    },
    { always: true },
  );
}

/** Runs the items of a segment in one transaction. Each item succeeds or fails alone. */
async function runSegment(
  context: RecordsContext,
  entity: Entity,
  items: readonly BatchItem[],
  access: BatchAccess,
  { operation, room }: BatchOptions,
): Promise<Map<BatchItem, Outcome | 'alone'>> {
  const created = await prepareCreates(context, entity, access, items);
  await hashPasswordsAhead(context, entity, access, items);
  const run = async (inside: RecordsContext, own: Entity, operationInside: OperationContext) => {
    const outcomes = new Map<BatchItem, Outcome | 'alone'>();
    const left = { ...room };
    const attempt: Attempt = {
      context: inside,
      entity: own,
      access,
      operation: operationInside,
      room: left,
      onOutcome: (item, outcome) => outcomes.set(item, outcome),
    };
    const prepared = await prepareItems({ ...attempt, created }, items);
    for (const [item, preparation] of prepared) {
      if (preparation !== 'alone') continue;
      outcomes.set(item, 'alone');
      prepared.delete(item);
    }
    await writeItems(attempt, prepared).catch((error: unknown) => {
      // Outside of a transaction, the outcomes so far are final: these records are stored.
      if (inside.transaction !== undefined) throw error;
      for (const item of prepared.keys()) if (!outcomes.has(item)) outcomes.set(item, { error });
    });
    room.bytes = left.bytes;
    return outcomes;
  };
  // A statement that only creates records needs no transaction.
  if (items.every(({ op }) => op === 'create')) return run(context, entity, operation);
  return context.withTransaction(
    entity,
    operation,
    (inside, _entity, operationInside) => run(inside, inside.entities.get(entity.resource.name)!, operationInside),
    { always: true },
  );
}

/** Runs a batch whose items succeed or fail alone. */
export async function runBatchPerItem(
  context: RecordsContext,
  entity: Entity,
  items: readonly BatchItem[],
  options: BatchOptions,
): Promise<Outcome[]> {
  const access = await openBatchAccess(context, entity, items, options.operation, true);
  const outcomes: Outcome[] = [];
  const runAlone = async (item: BatchItem) => {
    outcomes[item.place] = await runAloneWithin(context, entity, item, options.room).catch((error: unknown) => ({
      error,
    }));
  };
  for (const { items: own, isAlone } of await splitIntoSegments(
    entity.resource,
    items,
    access,
    MAX_ITEMS_OF_TRANSACTION,
  )) {
    if (isAlone) {
      await runAlone(own[0]!);
      continue;
    }
    const results = await runSegment(context, entity, own, access, options).catch((error: unknown) => {
      // The commit found the violation of a deferred constraint, which says nothing about the item: only the items alone show which one it is.
      const isAlone =
        findConstraintViolation(error) !== undefined && context.transaction === undefined && own.length > 1;
      return new Map(own.map((item) => [item, isAlone ? ('alone' as const) : { error }]));
    });
    for (const [item, outcome] of results) {
      if (outcome === 'alone') await runAlone(item);
      else outcomes[item.place] = outcome;
    }
  }
  return outcomes;
}
