import type { StoredRecord } from '../../declare/host.ts';
import { listConditions } from '../access.ts';
import type { Acting } from '../acting.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { ListQuery } from '../query/list-query.ts';
import { parseListQuery, type RawQuery } from '../query/parse.ts';
import { scopeConditions } from '../query/scope.ts';

/** A page of stored records, and the query that it answers. */
export interface StoredPage {
  records: StoredRecord[];
  query: ListQuery;
  meta: { total: number; page: number; limit: number; pages: number };
}

/** Lists the records that the caller may list: policy, scope filter, then the query. */
export async function list(
  context: RecordsContext,
  { resource, store }: Entity,
  raw: RawQuery,
  acting: Acting,
): Promise<StoredPage> {
  const allowed = acting.system
    ? []
    : [...(await listConditions(resource, acting)), ...scopeConditions(resource, acting)];
  const query = parseListQuery(resource, raw, acting.system ? 'system' : acting.user, context.settings.pagination);
  const { records, total } = await store.list({ ...query, conditions: [...allowed, ...query.conditions] });
  const { page, limit } = query;
  return { records, query, meta: { total, page, limit, pages: Math.ceil(total / limit) } };
}
