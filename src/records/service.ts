import { runAs } from '../declare/actor.ts';
import type { StoredRecord } from '../declare/host.ts';
import type { ActAs, ActAsOn, AnyService } from '../declare/service.ts';
import { actorOf, type OperationContext, operationContext } from './access/operation-context.ts';
import type { Entity, RecordsContext } from './context.ts';
import { create } from './operations/create.ts';
import { count, first, list, pages } from './operations/list.ts';
import { read } from './operations/read.ts';
import { remove } from './operations/remove.ts';
import { restore } from './operations/restore.ts';
import { update } from './operations/update.ts';
import { versionOfTime } from './operations/version.ts';
import { serviceError } from './service-error.ts';

function guarded(who: OperationContext, as: ActAsOn | undefined): OperationContext {
  return as?.ifMatch === undefined ? who : { ...who, ifMatch: [versionOfTime(as.ifMatch)] };
}

/** The records of a resource, for code: `app.service(name)`. Every error of the database is an ApiError. */
export function createService(context: RecordsContext, entity: Entity): AnyService {
  async function run(as: ActAs | undefined, work: (who: OperationContext) => Promise<unknown>) {
    context.assertOutsideTransaction();
    const who = operationContext(as, context.service);
    try {
      // Hooks and policies of the call carry the actor that it names.
      const done = as === undefined ? work(who) : runAs(actorOf(who), () => work(who));
      return (await done) as StoredRecord & never;
    } catch (error) {
      throw serviceError(error, who.system);
    }
  }

  async function* records(who: OperationContext, query: object | undefined) {
    try {
      for await (const page of pages(context, entity, { ...query }, who)) {
        yield* page as (StoredRecord & never)[];
        context.assertOutsideTransaction();
      }
    } catch (error) {
      throw serviceError(error, who.system);
    }
  }

  return {
    create: (input, as) => run(as, (who) => create(context, entity, input, who)),
    read: (id, as) => run(as, (who) => read(entity, id, who)),
    list: (query, as) =>
      run(as, async (who) => {
        const { records, meta } = await list(context, entity, { ...query }, who, true);
        return { data: records, meta };
      }),
    each(query, as) {
      context.assertOutsideTransaction();
      return records(operationContext(as, context.service), query);
    },
    first: (query, as) => run(as, (who) => first(context, entity, { ...query }, who)),
    count: (query, as) => run(as, (who) => count(context, entity, { ...query }, who)),
    update: (id, input, as) => run(as, (who) => update(context, entity, id, input, guarded(who, as))),
    delete: (id, as) => run(as, (who) => remove(context, entity, id, guarded(who, as))),
    restore: (id, as) => run(as, (who) => restore(context, entity, id, who)),
  };
}
