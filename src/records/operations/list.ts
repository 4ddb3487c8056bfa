import type { StoredRecord } from '../../declare/host.ts';
import type { CursorMeta, PageMeta } from '../../declare/service.ts';
import { ApiError } from '../../platform/errors.ts';
import { isTooSlow } from '../../platform/postgres/errors.ts';
import { listConditions } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { CompiledResource } from '../compiled.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { Condition } from '../query/condition.ts';
import { cursorBehind } from '../query/cursor.ts';
import type { ListQuery, Position } from '../query/list-query.ts';
import { badQuery } from '../query/parameter.ts';
import { parseListQuery, type RawQuery } from '../query/parse.ts';
import { scopeConditions } from '../query/scope.ts';
import type { Slice } from '../query/statements.ts';

/** A page of stored records, and the query that it answers. */
export interface StoredPage {
  records: StoredRecord[];
  query: ListQuery;
  meta: PageMeta | CursorMeta;
}

/** Where a list goes on. A cursor that names a record stands where that record is now, if the caller may list it. */
async function positionOf(
  { resource, store }: Entity,
  { after, sort }: ListQuery,
  allowed: readonly Condition[],
): Promise<Position | undefined> {
  if (after === undefined || !('record' in after)) return after;
  const record = await store.read(after.record, allowed);
  if (record === undefined) {
    throw badQuery(`The query parameter "after" stands at a ${resource.name} that is gone; begin the list anew`);
  }
  return sort.map((term) => record[term.field] ?? null);
}

/** The records of a slice, and how many there are in all. */
async function counted({ store }: Entity, query: ListQuery, slice: Slice): Promise<[StoredRecord[], number]> {
  if (slice.offset === 0 || !query.slow) {
    return Promise.all([store.list(query, slice, query.slow), store.count(query, query.slow)]);
  }
  // Passing over rows takes time: beyond the end nobody needs to.
  const total = await store.count(query, query.slow);
  return [slice.offset < total ? await store.list(query, slice, query.slow) : [], total];
}

async function load(entity: Entity, query: ListQuery, after: Position | undefined): Promise<Omit<StoredPage, 'query'>> {
  const { resource, store } = entity;
  const { page, limit } = query;
  const offset = (page - 1) * limit;
  if (query.counted) {
    const [records, total] = await counted(entity, query, { limit, offset, after });
    const more = records.length === limit && offset + limit < total;
    const next = more ? { next: cursorBehind(resource, query, records.at(-1)!) } : {};
    return { records, meta: { total, page, limit, pages: Math.ceil(total / limit), ...next } };
  }
  const records = await store.list(query, { limit: limit + 1, offset, after }, query.slow);
  const more = records.length > limit;
  if (more) records.pop();
  return { records, meta: { limit, next: more ? cursorBehind(resource, query, records.at(-1)!) : null } };
}

/** What policy and scope leave of the collection. */
async function reachable(resource: CompiledResource, acting: Acting): Promise<Condition[]> {
  const allowed = await listConditions(resource, acting);
  const scope = scopeConditions(resource, acting);
  return [...allowed, ...(scope instanceof Promise ? await scope : scope)];
}

/** Lists the records that the caller may list: policy, scope filter, then the query. */
export async function list(
  context: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  acting: Acting,
): Promise<StoredPage> {
  const { resource } = entity;
  const allowed = acting.system ? [] : await reachable(resource, acting);
  const query = parseListQuery(resource, raw, acting.system ? 'system' : acting.user, {
    limits: context.settings.pagination,
    resourceOf: (name) => context.entities.get(name)!.resource,
  });
  const whole = { ...query, conditions: [...allowed, ...query.conditions] };
  try {
    return { ...(await load(entity, whole, await positionOf(entity, query, allowed))), query };
  } catch (error) {
    if (!isTooSlow(error)) throw error;
    const hint = 'narrow it by a filter, search for a longer text, or leave out the total with count=none';
    throw new ApiError('UNAVAILABLE', `This list takes too long; ${hint}`, { cause: error });
  }
}
