import type { Database } from '../../platform/data/postgres/database.ts';
import { runInLazyTransaction } from '../../platform/data/postgres/lazy-transaction.ts';
import { retryConflicts } from '../../platform/data/postgres/retry.ts';
import { leaveTransaction } from '../../platform/data/postgres/transaction-watch.ts';
import type { KeyedQueue } from '../../platform/helpers/concurrency/serial-queue.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { RecordsContext } from '../operations/context.ts';
import type { Entity } from '../store/entity.ts';
import type { OperationTransaction } from '../writes/transaction.ts';
import { createService, createServiceLookup } from './service.ts';
import type { TransactionGuard } from './transaction-guard.ts';

/** The work to run after a transaction commits. */
interface AfterCommitQueue {
  /** Queues work until the commit. After the commit, runs the work immediately. */
  add(work: () => unknown): void;
  /** Runs all queued work in order. Call it after the commit. */
  run(): Promise<void>;
}

/**
 * The after-commit queue of one transaction. Errors are logged, because the changes are committed and must not look failed to the caller.
 */
export function createAfterCommitQueue(log: Logger): AfterCommitQueue {
  const queue: (() => unknown)[] = [];
  let committed = false;
  const runAndLogError = async (work: () => unknown) => {
    try {
      // This transaction may have run inside a hook of another one, which is still open.
      await leaveTransaction(work);
    } catch (error) {
      log.error({ err: error }, 'an after-commit task failed');
    }
  };
  return {
    add: (work) => void (committed ? runAndLogError(work) : queue.push(work)),
    async run() {
      committed = true;
      for (const work of queue) await runAndLogError(work);
    },
  };
}

/**
 * The context of operations in a transaction. `before` hooks run in the transaction, and so do calls of the `service` that they receive;
 * events and `after` hooks follow the commit.
 */
export function createTransactionContext(outside: RecordsContext, transaction: OperationTransaction): RecordsContext {
  const { database, afterCommit } = transaction;
  const bindEntityToTransaction = (entity: Entity): Entity => {
    const store = entity.store.on(database);
    // Lock the row instead of using the queue: other writers wait for the row lock anyway, and waiting in the queue could deadlock with
    // them.
    const queue: KeyedQueue = async (id, work) => {
      await store.lock(id);
      return work();
    };
    return { ...entity, store, queue, archive: entity.archive?.on(database) };
  };
  const entities = new Map<string, Entity>();
  const getEntityInTransaction = (name: string) => {
    const known = entities.get(name);
    const entity = known === undefined ? outside.entities.get(name) : undefined;
    if (entity === undefined) return known;
    const entityInTransaction = bindEntityToTransaction(entity);
    entities.set(name, entityInTransaction);
    return entityInTransaction;
  };
  const context: RecordsContext = {
    ...outside,
    database,
    entities: { get: getEntityInTransaction },
    push: { ...outside.push, enqueue: (message) => outside.push.enqueueWithin({ database, afterCommit }, message) },
    service: createServiceLookup((name) => {
      const entity = getEntityInTransaction(name);
      return entity && createService(context, entity);
    }, outside.names),
    transaction,
    assertOutsideTransaction: () => undefined,
    async afterCommit(work) {
      afterCommit(() => work(outside));
    },
    withTransaction: (entity, operation, work) => work(context, entity, operation),
  };
  return context;
}

/** The key of an entity's queue of transactions to retry. The other keys are ids. */
const RETRIES = 'retries';

/**
 * Creates `withTransaction` for operations outside of any transaction: it combines a write with the writes of its `before` hook. The first
 * write of the hook's service begins a transaction, and the record is then written in it. A hook that writes nothing needs no transaction.
 *
 * @param outside the context outside of any transaction
 */
export function createWithTransaction(
  outside: () => RecordsContext,
  database: Database,
  transactions: TransactionGuard,
): RecordsContext['withTransaction'] {
  return async (entity, operation, work, { always = false } = {}) => {
    const { log } = outside();
    const attemptTransaction = async () => {
      const afterCommit = createAfterCommitQueue(log);
      const result = await runInLazyTransaction(database, (lazy) => {
        const transaction = { database: lazy.opening, afterCommit: afterCommit.add, abort: lazy.abort };
        const context = createTransactionContext(outside(), transaction);
        const entityInTransaction = { ...entity, store: entity.store.on(always ? lazy.opening : lazy.following) };
        const operationInTransaction = { ...operation, service: context.service };
        return transactions.run(
          transaction,
          () => work(context, entityInTransaction, operationInTransaction),
          lazy.isOpen,
        );
      });
      if (result !== undefined) await afterCommit.run();
      return result;
    };
    // Retry after a conflict, as a single statement would be. Hooks run again, as they do when their record changes in the meantime.
    return retryConflicts(attemptTransaction, () => entity.queue(RETRIES, attemptTransaction));
  };
}
