import type { CursorMeta, PageMeta } from '../../declare/service.ts';
import type { Replica } from '../../platform/replica/index.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { Entity, RecordsContext } from '../context.ts';
import { addReadTime, readTimeOf } from '../query/cursor.ts';
import type { RawQuery } from '../query/parse.ts';

/** Where a client's list is read: from the read replica or from the primary. */
export interface ListSource {
  entity: Entity;
  /** The context to serialize the records with, which reads references from the same server. */
  context: RecordsContext;
  /** Adds to the cursor of a page that was read from the primary when that was, so that no later page is read from an older state. */
  addReadTime<Meta extends PageMeta | CursorMeta>(meta: Meta): Meta;
}

const ASKS_FOR_NEWEST = /\bno-cache\b|\bno-store\b|\bmax-age=0(?!\d)/i;

/**
 * Chooses where a client's list is read. A list that may lack a change that this client has made or seen is read from the primary.
 */
export function chooseListSource(
  context: RecordsContext,
  entity: Entity,
  { user, req }: Pick<OperationContext, 'user' | 'req'>,
  { after }: RawQuery,
): ListSource | Promise<ListSource> {
  const { replica, replicaEntities } = context;
  if (replica === undefined || replicaEntities === undefined) return { entity, context, addReadTime: (meta) => meta };
  const retries = replica.retries();
  const fresh = ASKS_FOR_NEWEST.test(req?.headers['cache-control'] ?? '');
  return replica.mayServe({ userId: user?.id, notBefore: readTimeOf(after), fresh }).then((isReplica) => ({
    entity: isReplica ? replicaEntities.get(entity.resource.name)! : entity,
    context: isReplica ? { ...context, entities: replicaEntities } : context,
    addReadTime: (meta) => (isReplica && replica.retries() === retries ? meta : withReadTime(meta, replica)),
  }));
}

function withReadTime<Meta extends PageMeta | CursorMeta>(meta: Meta, replica: Replica): Meta {
  if (typeof meta.next !== 'string') return meta;
  return { ...meta, next: addReadTime(meta.next, replica.primaryNow()) };
}
