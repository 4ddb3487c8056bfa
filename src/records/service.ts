import type { StoredRecord } from '../declare/host.ts';
import type { ActAs, ActAsOn, AnyService } from '../declare/service.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { Acting } from './acting.ts';
import type { Entity, RecordsContext } from './context.ts';
import { create } from './operations/create.ts';
import { count, first, list } from './operations/list.ts';
import { read } from './operations/read.ts';
import { remove } from './operations/remove.ts';
import { update } from './operations/update.ts';
import { versionOfTime } from './version.ts';

function acting({ service }: RecordsContext, as: ActAs | undefined): Acting {
  const requestId = as?.req === undefined ? undefined : requestIdOf(as.req);
  // `{ user: ctx.user }` of a visitor who is not signed in must not become the system.
  const system = as === undefined || !Object.hasOwn(as, 'user');
  return { user: as?.user, req: as?.req, requestId, system, service };
}

function guarded(context: RecordsContext, as: ActAsOn | undefined): Acting {
  const plain = acting(context, as);
  return as?.ifMatch === undefined ? plain : { ...plain, ifMatch: [versionOfTime(as.ifMatch)] };
}

/** The records of a resource, for code: `app.service(name)`. */
export function createService(context: RecordsContext, entity: Entity): AnyService {
  return {
    create: (input, as) => create(context, entity, input, acting(context, as)) as Promise<StoredRecord & never>,
    read: (id, as) => read(entity, id, acting(context, as)) as Promise<StoredRecord & never>,
    async list(query, as) {
      const { records, meta } = await list(context, entity, { ...query }, acting(context, as), true);
      return { data: records as (StoredRecord & never)[], meta: meta as never };
    },
    first: (query, as) => first(context, entity, { ...query }, acting(context, as)) as Promise<StoredRecord & never>,
    count: (query, as) => count(context, entity, { ...query }, acting(context, as)),
    update: (id, input, as) =>
      update(context, entity, id, input, guarded(context, as)) as Promise<StoredRecord & never>,
    delete: (id, as) => remove(context, entity, id, guarded(context, as)) as Promise<StoredRecord & never>,
  };
}
