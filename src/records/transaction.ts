import { resourceName } from '../declare/naming.ts';
import type { Transaction } from '../declare/transaction.ts';
import type { RecordsContext } from './context.ts';
import { createService } from './service.ts';

/**
 * The services of a transaction. `before` hooks run in it, and so does what they do through their own `service`; events and
 * `after` hooks follow the commit.
 */
export function servicesWithin(
  outside: RecordsContext,
  { database, afterCommit }: Pick<Transaction, 'database' | 'afterCommit'>,
): Transaction['service'] {
  const entities = new Map(
    [...outside.entities].map(([name, entity]) => [name, { ...entity, store: entity.store.on(database) }]),
  );
  const service: Transaction['service'] = (name) => {
    // An unknown name fails as it does outside.
    outside.service(name);
    return createService(context, entities.get(resourceName(name))!);
  };
  const context: RecordsContext = {
    ...outside,
    entities,
    service,
    async afterCommit(work) {
      afterCommit(() => work(outside));
    },
  };
  return service;
}
