import { isDeepStrictEqual } from 'node:util';
import { isTransient } from '../../../platform/data/postgres/errors.ts';
import { listPrivilegesThatAllowedDeletion } from '../../access/deleted-under.ts';
import type { OperationContext } from '../../access/operation-context.ts';
import type { CompiledResource } from '../../schema/compiled.ts';
import { countJsonBytes } from '../../serialize/response-bytes.ts';
import type { Entity } from '../../store/entity.ts';
import type { WriteResult } from '../../store/store.ts';
import { toConflictError } from '../../writes/conflict-errors.ts';
import { createChangeCause } from '../../writes/write-steps.ts';
import type { RecordsContext } from '../context.ts';
import { runAfterCreate } from '../create.ts';
import { runAfterDelete } from '../delete.ts';
import { runAfterUpdate } from '../update.ts';
import type { BatchItem, Outcome, Preparation, PreparedChange } from './item.ts';

/** Maximum changes of one statement, and maximum bytes of their values. */
const MAX_CHANGES = 500;
const MAX_BYTES = 2 ** 20;

/** Writes prepared changes in order, as many as possible in each statement. */
interface BatchWriter {
  add(prepared: PreparedChange): Promise<void>;
  /** Writes the changes that wait. */
  flush(): Promise<void>;
}

interface WriterOptions {
  operation: OperationContext;
  onOutcome(item: BatchItem, outcome: Outcome): void;
  /** Prepares an upsert again after another request has created its record. */
  prepareAgain(item: BatchItem): Promise<Preparation>;
}

/** The fields whose values may conflict with other records. */
function uniqueFieldsOf({ indexes, constraints }: CompiledResource): string[] {
  const indexed = indexes.filter(({ unique }) => unique).flatMap(({ terms }) => terms.map(({ field }) => field));
  const constrained = constraints.filter(({ kind }) => kind !== 'check').flatMap(({ used }) => used);
  return [...indexed, ...constrained];
}

/**
 * Whether a change must not share a statement with others: it gives up a unique value, which another change may take, and the order of the
 * changes inside a statement is not defined.
 */
function replacesUniqueValue({ change, before }: PreparedChange, unique: readonly string[]): boolean {
  if (change.action !== 'updated') return false;
  return unique.some(
    (name) =>
      Object.hasOwn(change.values, name) &&
      !isDeepStrictEqual(change.values[name] ?? undefined, before![name] ?? undefined),
  );
}

/** Creates the writer of a batch. The records of the changes are locked. */
export function createBatchWriter(context: RecordsContext, entity: Entity, options: WriterOptions): BatchWriter {
  const { resource, store } = entity;
  const { operation, onOutcome, prepareAgain } = options;
  const unique = uniqueFieldsOf(resource);
  const cause = createChangeCause(context, operation);
  const under = listPrivilegesThatAllowedDeletion(resource, operation);
  let waiting: PreparedChange[] = [];
  let bytes = 0;

  async function reportWritten({ item, change }: PreparedChange, written: WriteResult): Promise<void> {
    const { action } = change;
    const { record, previous } = written;
    if (action === 'updated') {
      onOutcome(item, { action, record, previous });
      await runAfterUpdate(context, entity, written, item.operation);
    } else {
      onOutcome(item, { action, record });
      const runAfter = action === 'created' ? runAfterCreate : runAfterDelete;
      await runAfter(context, entity, record, item.operation);
    }
  }

  async function writeOne({ change }: PreparedChange): Promise<WriteResult> {
    if (change.action === 'updated') return (await store.update(change.id, change.values, [], cause, change))!;
    const record =
      change.action === 'created'
        ? await store.insert(change.id, change.values, cause, change.times)
        : (await store.remove(change.id, [], cause, under))!;
    return { record, previous: record, isChanged: true };
  }

  /** Writes a change by itself, which also finds the error of a change that failed among others. */
  async function writeAlone(prepared: PreparedChange): Promise<void> {
    let written: WriteResult;
    try {
      written = await writeOne(prepared);
    } catch (error) {
      if (isTransient(error)) throw error;
      onOutcome(prepared.item, { error: toConflictError(resource, error) });
      return;
    }
    await reportWritten(prepared, written);
  }

  /** Handles a create that conflicts with a record, which another request may have created in the meantime. */
  async function resolveConflict(prepared: PreparedChange): Promise<void> {
    const { item } = prepared;
    const again = item.op === 'upsert' ? await prepareAgain(item) : prepared;
    if (again !== 'alone' && 'error' in again) onOutcome(item, again);
    else await writeAlone(again === 'alone' ? prepared : again);
  }

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = [];
    bytes = 0;
    if (batch.length === 0) return;
    let written: (WriteResult | undefined)[];
    try {
      written = await store.writeMany(
        batch.map(({ change }) => change),
        cause,
        under,
      );
    } catch (error) {
      if (isTransient(error)) throw error;
      for (const prepared of batch) await writeAlone(prepared);
      return;
    }
    for (const [i, prepared] of batch.entries()) {
      const result = written[i];
      if (result === undefined) await resolveConflict(prepared);
      else await reportWritten(prepared, result);
    }
  }

  /** Whether a change and a waiting one could depend on each other: a deletion gives up unique values, and a create takes them. */
  function dependsOnWaiting({ change: { action } }: PreparedChange): boolean {
    if (unique.length === 0 || action === 'updated') return false;
    const other = action === 'created' ? 'deleted' : 'created';
    return waiting.some(({ change }) => change.action === other);
  }

  return {
    async add(prepared) {
      const isAlone = replacesUniqueValue(prepared, unique);
      if (isAlone || dependsOnWaiting(prepared)) await flush();
      if (isAlone) {
        await writeAlone(prepared);
        return;
      }
      waiting.push(prepared);
      bytes += prepared.change.action === 'deleted' ? 0 : countJsonBytes(prepared.change.values);
      if (waiting.length >= MAX_CHANGES || bytes >= MAX_BYTES) await flush();
    },
    flush,
  };
}
