import type { KeyedQueue } from '../../platform/serial-queue.ts';
import type { Entity, OperationTransaction, RecordsContext } from '../context.ts';
import { createService } from '../service.ts';
import { servicesBy } from '../services.ts';

/**
 * What operations in a transaction work with. `before` hooks run in it, and so does what they do through their own `service`;
 * events and `after` hooks follow the commit.
 */
export function contextWithin(outside: RecordsContext, transaction: OperationTransaction): RecordsContext {
  const { database, afterCommit } = transaction;
  const within = (entity: Entity): Entity => {
    const store = entity.store.on(database);
    // What it changes others wait for anyway; in turn with them it could wait for those who wait for it.
    const queue: KeyedQueue = async (id, work) => {
      await store.lock(id);
      return work();
    };
    return { ...entity, store, queue, archive: entity.archive?.on(database) };
  };
  const made = new Map<string, Entity>();
  const get = (name: string) => {
    const known = made.get(name);
    const entity = known === undefined ? outside.entities.get(name) : undefined;
    if (entity === undefined) return known;
    const own = within(entity);
    made.set(name, own);
    return own;
  };
  const context: RecordsContext = {
    ...outside,
    entities: { get },
    push: { ...outside.push, enqueue: (message) => outside.push.enqueueWithin({ database, afterCommit }, message) },
    service: servicesBy((name) => {
      const entity = get(name);
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
