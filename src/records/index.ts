import type { PgTable } from 'drizzle-orm/pg-core';
import type { ResourceGateway } from '../declare/host.ts';
import type { TransactionalPushSender } from '../declare/push.ts';
import type { Route } from '../declare/route.ts';
import type { Senders } from '../declare/senders.ts';
import type { AnyService, Services } from '../declare/service.ts';
import type { Queryable } from '../platform/data/postgres/queryable.ts';
import { createKeyedQueue } from '../platform/helpers/concurrency/serial-queue.ts';
import type { Platform } from '../platform/platform.ts';
import { createResourceGateway } from './gateway.ts';
import { aggregateRoutes } from './operations/aggregate/route.ts';
import type { RecordsContext } from './operations/context.ts';
import { crudRoutes, customRoutes, openToOrganisationKeys, removeShadowingBatchRoutes } from './routes.ts';
import type { CompiledResource } from './schema/compiled.ts';
import { compileReferrers } from './schema/references.ts';
import { createResourceTable } from './schema/table.ts';
import { createService, createServiceLookup } from './service/service.ts';
import { createWithTransaction } from './service/transaction.ts';
import { createTransactionGuard, type TransactionGuard } from './service/transaction-guard.ts';
import { createArchive, withArchives } from './store/archive.ts';
import { createCodec } from './store/codec.ts';
import { createStore } from './store/create-store.ts';
import type { Entity } from './store/entity.ts';
import { createStatementBuilder } from './store/statements.ts';
import { createVersionReader } from './store/versions.ts';
import type { RecordFiles } from './writes/files.ts';

export { compileResources } from './schema/compile.ts';
export { withArchives } from './store/archive.ts';

/** The runtime of an app's resources. */
export interface Records {
  context: RecordsContext;
  entities: ReadonlyMap<string, Entity>;
  gateways: readonly ResourceGateway[];
  service: Services;
  routes: readonly Route[];
  transactions: TransactionGuard;
}

/** The drizzle tables of compiled resources, by table name. */
export function createResourceTables(resources: readonly CompiledResource[]): Record<string, PgTable> {
  const byResource = new Map<string, PgTable>();
  const tableOf = (name: string) => byResource.get(name)!;
  return Object.fromEntries(
    withArchives(resources).map((resource) => {
      const table = createResourceTable(resource, tableOf);
      if (!resource.archived) byResource.set(resource.name, table);
      return [resource.table, table];
    }),
  );
}

/** Creates the stores, services, gateways and routes of compiled resources. Reads and writes no records. */
export function createRecordsRuntime(
  platform: Platform,
  resources: readonly CompiledResource[],
  hashPassword: (password: string) => Promise<string>,
  push: TransactionalPushSender,
  senders: Senders,
  files?: RecordFiles,
): Records {
  const entities = new Map<string, Entity>();
  for (const resource of resources) {
    const codec = createCodec(resource, platform.keyring, platform.log);
    const store = createStore(resource, codec, platform.database);
    const archive = resource.softDelete ? createArchive(resource, platform, platform.database) : undefined;
    const own = { versionOf: createVersionReader(resource), queue: createKeyedQueue(), archive };
    entities.set(resource.name, { resource, codec, store, ...own });
  }
  const reads = platform.replica?.createReads();
  const readFromReplica = ([name, entity]: [string, Entity], from: Queryable) =>
    [name, { ...entity, store: entity.store.on(from), archive: entity.archive?.on(from) }] as const;
  const names = [...entities.keys()];
  const services = new Map<string, AnyService>();
  const service = createServiceLookup((name) => services.get(name), names);
  const transactions = createTransactionGuard();
  const context: RecordsContext = {
    ...platform,
    entities,
    replicaEntities: reads && new Map([...entities].map((each) => readFromReplica(each, reads))),
    statement: createStatementBuilder(),
    referrers: compileReferrers(resources),
    names,
    service,
    push,
    senders,
    hashPassword,
    deletionSteps: new Map(),
    derivedChanges: new Map(),
    changeGuards: new Map(),
    files,
    transaction: undefined,
    assertOutsideTransaction: transactions.assertOutside,
    afterCommit: (work) => work(context),
    withTransaction: createWithTransaction(() => context, platform.database, transactions),
  };
  for (const [name, entity] of entities) services.set(name, createService(context, entity));
  const all = [...entities.values()];
  return {
    context,
    entities,
    gateways: all.map((entity) => createResourceGateway(context, entity)),
    service,
    transactions,
    routes: removeShadowingBatchRoutes(
      all.flatMap((entity) =>
        openToOrganisationKeys(entity, [
          // Before the others, because `/:id` also matches the path.
          ...aggregateRoutes(context, entity),
          ...customRoutes(entity),
          ...crudRoutes(context, entity),
        ]),
      ),
    ),
  };
}
