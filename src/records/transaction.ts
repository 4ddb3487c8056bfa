import type { Transaction } from '../declare/transaction.ts';
import type { Entity, RecordsContext } from './context.ts';
import type { KeyedQueue } from './keyed-queue.ts';
import { createService } from './service.ts';
import { servicesBy } from './services.ts';

/**
 * The services of a transaction. `before` hooks run in it, and so does what they do through their own `service`; events and
 * `after` hooks follow the commit.
 */
export function servicesWithin(
  outside: RecordsContext,
  { database, afterCommit }: Pick<Transaction, 'database' | 'afterCommit'>,
): Transaction['service'] {
  const within = (entity: Entity): Entity => {
    const store = entity.store.on(database);
    // What it changes others wait for anyway; in turn with them it could wait for those who wait for it.
    const queue: KeyedQueue = async (id, work) => {
      await store.lock(id);
      return work();
    };
    return { ...entity, store, queue };
  };
  const entities = new Map([...outside.entities].map(([name, entity]) => [name, within(entity)]));
  const service = servicesBy((name) => {
    const entity = entities.get(name);
    return entity && createService(context, entity);
  }, entities);
  const context: RecordsContext = {
    ...outside,
    entities,
    service,
    assertReach: () => undefined,
    async afterCommit(work) {
      afterCommit(() => work(outside));
    },
  };
  return service;
}
