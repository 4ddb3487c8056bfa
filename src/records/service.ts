import { runAs } from '../declare/actor.ts';
import type { StoredRecord } from '../declare/host.ts';
import type { ActAs, ActAsOn, AnyService } from '../declare/service.ts';
import { actorOf, type OperationContext, serviceCallContext } from './access/operation-context.ts';
import type { Entity, RecordsContext } from './context.ts';
import { createRecord } from './operations/create.ts';
import { countRecords, firstRecord, listRecords, recordPages } from './operations/list.ts';
import { readRecord } from './operations/read.ts';
import { deleteRecord } from './operations/remove.ts';
import { restoreRecord } from './operations/restore.ts';
import { updateRecord } from './operations/update.ts';
import { versionOfTime } from './operations/version.ts';
import { serviceError } from './service-error.ts';

function guarded(operation: OperationContext, as: ActAsOn | undefined): OperationContext {
  return as?.ifMatch === undefined ? operation : { ...operation, ifMatch: [versionOfTime(as.ifMatch)] };
}

/** The records of a resource, for code: `app.service(name)`. Every error of the database is an ApiError. */
export function createService(context: RecordsContext, entity: Entity): AnyService {
  async function run(as: ActAs | undefined, work: (operation: OperationContext) => Promise<unknown>) {
    context.assertOutsideTransaction();
    const operation = serviceCallContext(as, context.service);
    try {
      // Hooks and policies of the call carry the actor that it names.
      const done = as === undefined ? work(operation) : runAs(actorOf(operation), () => work(operation));
      return (await done) as StoredRecord & never;
    } catch (error) {
      throw serviceError(error, operation.system);
    }
  }

  async function* records(operation: OperationContext, query: object | undefined) {
    try {
      for await (const page of recordPages(context, entity, { ...query }, operation)) {
        yield* page as (StoredRecord & never)[];
        context.assertOutsideTransaction();
      }
    } catch (error) {
      throw serviceError(error, operation.system);
    }
  }

  return {
    create: (input, as) => run(as, (operation) => createRecord(context, entity, input, operation)),
    read: (id, as) => run(as, (operation) => readRecord(entity, id, operation)),
    list: (query, as) =>
      run(as, async (operation) => {
        const { records, meta } = await listRecords(context, entity, { ...query }, operation, true);
        return { data: records, meta };
      }),
    each(query, as) {
      context.assertOutsideTransaction();
      return records(serviceCallContext(as, context.service), query);
    },
    first: (query, as) => run(as, (operation) => firstRecord(context, entity, { ...query }, operation)),
    count: (query, as) => run(as, (operation) => countRecords(context, entity, { ...query }, operation)),
    update: (id, input, as) => run(as, (operation) => updateRecord(context, entity, id, input, guarded(operation, as))),
    delete: (id, as) => run(as, (operation) => deleteRecord(context, entity, id, guarded(operation, as))),
    restore: (id, as) => run(as, (operation) => restoreRecord(context, entity, id, operation)),
  };
}
