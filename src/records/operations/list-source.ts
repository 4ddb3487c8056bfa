import type { CursorMeta, PageMeta } from '../../declare/service.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { addReadTime, parseReadTime } from '../query/cursor.ts';
import type { RawQuery } from '../query/parse.ts';
import type { Entity } from '../store/entity.ts';
import type { RecordsContext } from './context.ts';

/** Where a client's list is read: from the read replica or from the primary. */
export interface ListSource {
  entity: Entity;
  /** The context to serialize the records with, which reads references from the same server. */
  context: RecordsContext;
  /**
   * Adds a time to the cursor of a page that was read from the primary: the time of the first such page. No later page is then read from an
   * older state.
   */
  addReadTime<Meta extends PageMeta | CursorMeta>(meta: Meta): Meta;
}

const REQUESTS_NEWEST = /\bno-cache\b/i;

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
  const notBefore = parseReadTime(after);
  const newestRequested = REQUESTS_NEWEST.test(req?.headers['cache-control'] ?? '');
  // The first page sets the time for all that follow: with a new one for each, fast paging would never return to the replica.
  const addTime = <Meta extends PageMeta | CursorMeta>(meta: Meta) =>
    withReadTime(meta, newestRequested || notBefore === undefined ? replica.primaryNow() : notBefore);
  return replica.chooseServer({ userId: user?.id, notBefore, newestRequested }).then((server) => {
    if (server === 'primary') return { entity, context, addReadTime: addTime };
    let retried = false;
    const reads = replica.createReads(() => {
      retried = true;
    });
    return {
      entity: { ...entity, store: entity.store.on(reads), archive: entity.archive?.on(reads) },
      context: { ...context, entities: replicaEntities },
      addReadTime: (meta) => (retried ? addTime(meta) : meta),
    };
  });
}

function withReadTime<Meta extends PageMeta | CursorMeta>(meta: Meta, time: number): Meta {
  if (typeof meta.next !== 'string') return meta;
  return { ...meta, next: addReadTime(meta.next, time) };
}
