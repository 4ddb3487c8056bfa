import {
  type ErasurePlan,
  type Hooks,
  type Host,
  isStatementTimeout,
  isTransient,
  newId,
  type ResourceGateway,
  type StoredRecord,
  scanRows,
  type Transaction,
} from '../../../extension/index.ts';
import type { Statement } from '../../../platform/data/postgres/connection.ts';
import { createRecordStatements } from './record-statements.ts';
import { ADD_TO_COUNT } from './sql.ts';

// Records per transaction without delete hooks.
const BATCH_ROWS = 500;
// Records per transaction if the resource has delete hooks. Small, because hooks may be slow, and the records stay locked meanwhile.
const BATCH_ROWS_WITH_HOOKS = 50;

/** A `beforeDelete` hook threw; `record` is the id of its record. */
class HookFailure extends Error {
  readonly record: string;

  constructor(record: string, cause: unknown) {
    super('a beforeDelete hook failed', { cause });
    this.record = record;
  }
}

/** A running erasure and its user. */
export interface RunningErasure {
  /** The id of the erasure, whose counts the transaction of each batch updates. */
  id: string;
  userId: string;
}

/** Deletes or anonymizes the records of one resource that belong to a user. */
export interface RecordEraser {
  gateway: ResourceGateway;
  plan: ErasurePlan;
  /** Erases the user's records in batches until none is left. Returns the number of erased records. */
  eraseRecords(erasing: RunningErasure): Promise<number>;
  /**
   * Runs `work` in a transaction in which it can delete records, even if the plan keeps them; their events contain no personal data. If
   * a `beforeDelete` hook throws, the transaction runs again without the hook for that record.
   */
  runRemovalTransaction<T>(work: (tx: Transaction, removeRecords: RemoveRecords) => Promise<T>): Promise<T>;
  /** Returns the number of the user's records; null if counting them takes too long. */
  count(userId: string): Promise<number | null>;
}

/**
 * Deletes records in the transaction of an erasure.
 *
 * @param rows locked rows with the columns of `gateway.columns`
 */
type RemoveRecords = (rows: readonly unknown[][]) => Promise<void>;
type EraserHost = Pick<Host, 'database' | 'transaction' | 'events' | 'wake' | 'log' | 'service' | 'push' | 'senders'>;
type Json = Record<string, unknown>;

function emitRecordEvents(
  { events, wake }: EraserHost,
  gateway: ResourceGateway,
  action: 'deleted' | 'updated',
  changes: readonly Json[][],
): void {
  wake.hint();
  const name = `${gateway.name}.${action}`;
  if (!events.has(name)) return;
  for (const [record, previous] of changes) {
    const states = { record: gateway.fromOutbox(record!), previous: previous && gateway.fromOutbox(previous) };
    events.emit(name, { resource: gateway.name, action, ...states, user: undefined, requestId: undefined });
  }
}

/**
 * Creates `runRemovalTransaction` of an eraser.
 *
 * @param hooks undefined: the resource has no delete hooks
 * @param removeSql the statement that deletes records, with their events
 */
function createRemoval(
  host: EraserHost,
  gateway: ResourceGateway,
  hooks: Hooks<never> | undefined,
  removeSql: string,
): RecordEraser['runRemovalTransaction'] {
  const logHookFailure = (record: string, hook: string, error: unknown) =>
    host.log.error(
      { err: error, resource: gateway.name, record, hook },
      'A hook failed during the erasure of an account',
    );

  /** Converts rows to the records that hooks receive. Rows that cannot be decrypted are logged and left out. */
  function decodeForHooks(rows: readonly unknown[][]): StoredRecord[] {
    return rows.flatMap((row) => {
      try {
        return [gateway.fromRow(row)];
      } catch (error) {
        logHookFailure(row[0] as string, 'beforeDelete', error);
        return [];
      }
    });
  }

  /** @param withoutHook ids of records whose `beforeDelete` hook threw in an earlier attempt; the hook is skipped for these */
  async function removeInTransaction(
    tx: Transaction,
    rows: readonly unknown[][],
    withoutHook: ReadonlySet<string>,
  ): Promise<void> {
    const records = hooks === undefined ? [] : decodeForHooks(rows);
    const context = { user: undefined, req: undefined, as: 'system' as const, restored: false, ...host.senders };
    const push = { ...host.push, ...tx.push };
    for (const record of records) {
      if (hooks?.beforeDelete === undefined || withoutHook.has(record.id)) continue;
      try {
        await hooks.beforeDelete(record as never, { ...context, service: tx.service, push });
      } catch (error) {
        // A database outage is not the hook's fault: retry the whole batch.
        if (isTransient(error)) throw error;
        throw new HookFailure(record.id, error);
      }
    }
    const ids = rows.map(([id]) => id as string);
    await gateway.releaseReferences(ids, tx);
    const deletedRecords = await tx.database.write<Json[]>({
      text: removeSql,
      values: [ids, ids.map(() => newId())],
    });
    tx.afterCommit(() => emitRecordEvents(host, gateway, 'deleted', deletedRecords));
    tx.afterCommit(async () => {
      for (const record of records) {
        try {
          await hooks?.afterDelete?.(record as never, { ...context, service: host.service, push: host.push });
        } catch (error) {
          logHookFailure(record.id, 'afterDelete', error);
        }
      }
    });
  }

  return async <T>(work: (tx: Transaction, removeRecords: RemoveRecords) => Promise<T>): Promise<T> => {
    const withoutHook = new Set<string>();
    for (;;) {
      try {
        return await host.transaction((tx) => work(tx, (rows) => removeInTransaction(tx, rows, withoutHook)));
      } catch (error) {
        if (!(error instanceof HookFailure)) throw error;
        // A hook cannot prevent an erasure: delete the record without it.
        logHookFailure(error.record, 'beforeDelete', error.cause);
        withoutHook.add(error.record);
      }
    }
  };
}

/** Returns the number of rows that a statement counts; null if it takes too long. */
async function countUnlessSlow(
  { database, log }: EraserHost,
  resource: string,
  count: Statement,
): Promise<number | null> {
  try {
    for await (const [row] of scanRows<[number]>(database, count)) return Number(row![0]);
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    // Kept records that are too many to count must not stop the erasure of the account.
    log.warn({ err: error, resource }, 'Could not count the records that are kept after the erasure of an account');
  }
  return null;
}

/**
 * Creates the eraser for the records of one resource.
 *
 * @param plan the erasure plan of a resource whose records have an owner
 */
export function createRecordEraser(host: EraserHost, gateway: ResourceGateway, plan: ErasurePlan): RecordEraser {
  const statements = createRecordStatements(gateway, plan);
  const hooks = (gateway.declaration.hooks ?? {}) as Hooks<never>;
  const anonymizes = plan.action === 'anonymize';
  const hasDeleteHooks = !anonymizes && (hooks.beforeDelete !== undefined || hooks.afterDelete !== undefined);
  const batchRows = hasDeleteHooks ? BATCH_ROWS_WITH_HOOKS : BATCH_ROWS;
  const runRemovalTransaction = createRemoval(host, gateway, hasDeleteHooks ? hooks : undefined, statements.remove);

  async function anonymizeInTransaction(tx: Transaction, rows: readonly unknown[][]): Promise<void> {
    const ids = rows.map(([id]) => id as string);
    const values = [ids, ids.map(() => newId()), ...statements.replacementValues(ids)];
    const changed = await tx.database.write<Json[]>({ text: statements.anonymize, values });
    tx.afterCommit(() => emitRecordEvents(host, gateway, 'updated', changed));
  }

  const addToErasureCount = (tx: Transaction, { id }: RunningErasure, count: number) =>
    tx.database.write({
      text: ADD_TO_COUNT,
      values: [id, `${anonymizes ? 'anonymized' : 'deleted'}:${gateway.name}`, count],
    });

  const eraseBatch = (erasing: RunningErasure, lockBatchSql: string) =>
    runRemovalTransaction(async (tx, removeRecords) => {
      const rows = await tx.database.write({ text: lockBatchSql, values: [erasing.userId, batchRows] });
      if (rows.length === 0) return 0;
      await (anonymizes ? anonymizeInTransaction(tx, rows) : removeRecords(rows));
      await addToErasureCount(tx, erasing, rows.length);
      return rows.length;
    });

  async function eraseArchivedRecords(erasing: RunningErasure): Promise<number> {
    const { findArchived, anonymizeArchived, removeArchived, replacementValues } = statements;
    if (findArchived === undefined) return 0;
    const text = anonymizes ? anonymizeArchived! : removeArchived!;
    let total = 0;
    for (let after: string | null = ''; after !== null; ) {
      const values = [erasing.userId, after, BATCH_ROWS];
      after = await host.transaction(async (tx): Promise<string | null> => {
        const ids = (await tx.database.write<[id: string]>({ text: findArchived, values })).flat();
        if (ids.length === 0) return null;
        const changed = await tx.database.write({ text, values: [ids, ...(anonymizes ? replacementValues(ids) : [])] });
        await addToErasureCount(tx, erasing, changed.length);
        total += changed.length;
        return ids.length < BATCH_ROWS ? null : ids.at(-1)!;
      });
    }
    return total;
  }

  return {
    gateway,
    plan,
    runRemovalTransaction,
    async eraseRecords(erasing) {
      let total = 0;
      for (const lockBatchSql of [statements.lockBatch, statements.lockBatchWaiting]) {
        for (let found = 1; found > 0; total += found) found = await eraseBatch(erasing, lockBatchSql);
      }
      return total + (await eraseArchivedRecords(erasing));
    },
    count: (userId) => countUnlessSlow(host, gateway.name, { text: statements.count, values: [userId] }),
  };
}
