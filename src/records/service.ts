import type { StoredRecord } from '../declare/host.ts';
import type { ActAs, ActAsOn, AnyService } from '../declare/service.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { Acting } from './acting.ts';
import type { Entity, RecordsContext } from './context.ts';
import { create } from './operations/create.ts';
import { count, first, list } from './operations/list.ts';
import { read } from './operations/read.ts';
import { remove } from './operations/remove.ts';
import { restore } from './operations/restore.ts';
import { update } from './operations/update.ts';
import { serviceError } from './service-error.ts';
import { versionOfTime } from './version.ts';

function acting({ service }: RecordsContext, as: ActAs | undefined): Acting {
  const requestId = as?.req === undefined ? undefined : requestIdOf(as.req);
  // `{ user: ctx.user }` of a visitor who is not signed in must not become the system.
  const system = as === undefined || !Object.hasOwn(as, 'user');
  return { user: as?.user, req: as?.req, requestId, system, service };
}

function guarded(who: Acting, as: ActAsOn | undefined): Acting {
  return as?.ifMatch === undefined ? who : { ...who, ifMatch: [versionOfTime(as.ifMatch)] };
}

/** The records of a resource, for code: `app.service(name)`. Every error of the database is an ApiError. */
export function createService(context: RecordsContext, entity: Entity): AnyService {
  async function run(as: ActAs | undefined, work: (who: Acting) => Promise<unknown>) {
    context.assertReach();
    const who = acting(context, as);
    try {
      return (await work(who)) as StoredRecord & never;
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
    first: (query, as) => run(as, (who) => first(context, entity, { ...query }, who)),
    count: (query, as) => run(as, (who) => count(context, entity, { ...query }, who)),
    update: (id, input, as) => run(as, (who) => update(context, entity, id, input, guarded(who, as))),
    delete: (id, as) => run(as, (who) => remove(context, entity, id, guarded(who, as))),
    restore: (id, as) => run(as, (who) => restore(context, entity, id, who)),
  };
}
