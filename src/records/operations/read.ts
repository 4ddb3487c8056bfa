import type { StoredRecord } from '../../declare/host.ts';
import type { CursorMeta, PageMeta } from '../../declare/service.ts';
import { isStatementTimeout } from '../../platform/data/postgres/errors.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { runAsActor } from '../../rules/acting.ts';
import { loadAuthorizedRecord, policyConditionsForList } from '../access/authorize.ts';
import { policyConditionsForDeletedList } from '../access/deleted-under.ts';
import { actorOf, type OperationContext } from '../access/operation-context.ts';
import { checkRelatedVisibility, checkSortVisibility } from '../access/related-visibility.ts';
import { scopeConditions } from '../access/scope.ts';
import {
  BY_ID,
  type Condition,
  type ListCondition,
  type ListQuery,
  MAX_FAST_OFFSET,
  type Position,
  sortsByRelated,
} from '../query/list-query.ts';
import { queryError } from '../query/parameter.ts';
import { parseListQuery, type RawQuery } from '../query/parse.ts';
import { fieldsSortableBySomeClient } from '../query/sort.ts';
import type { Slice } from '../query/sql/list-statements.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import type { Entity } from '../store/entity.ts';
import type { Store } from '../store/store.ts';
import type { RecordsContext } from './context.ts';
import type { ListSource } from './list-source.ts';
import { readPage } from './read-page.ts';

/** Reads a record that the caller may read. */
export async function readRecord(
  { resource, store }: Entity,
  id: string,
  operation: OperationContext,
): Promise<StoredRecord> {
  if (operation.system) {
    const record = isId(id) ? await store.read(id) : undefined;
    if (record === undefined) throw new ApiError('NOT_FOUND');
    return record;
  }
  return loadAuthorizedRecord(resource, store, id, 'read', resource.policies.read, operation);
}

// Maximum records in a list that code reads: the whole list is held in memory. For longer lists, code uses `each`.
const MAX_LIMIT_OF_CODE = 1000;
// The number of records that `each` holds at a time.
const EACH_PAGE_LENGTH = 100;

/** A page of stored records, and its query. */
interface StoredPage {
  records: StoredRecord[];
  query: ListQuery;
  meta: PageMeta | CursorMeta;
}

/** The position of a record in a list. */
function getSortPosition(sort: ListQuery['sort'], record: StoredRecord): Position {
  return sort.map((term) => record[term.field] ?? null);
}

/**
 * The position after which a list continues. For a cursor that names a record, it is the record's current position; throws if the record no
 * longer exists or the caller may not list it.
 */
async function resolveStartPosition(
  { resource }: Entity,
  store: Store,
  { after, sort }: ListQuery,
  allowed: readonly ListCondition[],
): Promise<Position | undefined> {
  if (after === undefined || !('record' in after)) return after;
  const position = await readPosition(store, after.record, sort, allowed);
  if (position === undefined) {
    throw queryError(
      `The query parameter "after" refers to a ${resource.name} that no longer exists; start again from the first page`,
    );
  }
  return position;
}

async function readPosition(
  store: Store,
  id: string,
  sort: ListQuery['sort'],
  allowed: readonly ListCondition[],
): Promise<Position | undefined> {
  if (sortsByRelated(sort)) return store.positionOf(id, sort, allowed);
  const record = await store.read(id, allowed);
  return record && getSortPosition(sort, record);
}

/** The conditions that list policy and scope filter put on a list. */
async function policyAndScopeConditions(resource: CompiledResource, operation: OperationContext): Promise<Condition[]> {
  const allowed = await policyConditionsForList(resource, operation);
  const scope = scopeConditions(resource, operation);
  return [...allowed, ...(scope instanceof Promise ? await scope : scope)];
}

/**
 * Parses a list query, and adds its conditions to the conditions of the list policy and the scope filter.
 *
 * @returns `whole`: the query with all conditions; `allowed`: only the conditions of the list policy and the scope filter
 */
export async function parseAndAuthorizeList(
  { settings, entities }: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  operation: OperationContext,
  byCode: boolean,
) {
  const { resource } = entity;
  const allowed = operation.system ? [] : await policyAndScopeConditions(resource, operation);
  const { maxLimit } = settings.pagination;
  const query = parseListQuery(resource, raw, operation.system ? 'system' : operation.user, {
    limits: { ...settings.pagination, maxLimit: byCode ? Math.max(maxLimit, MAX_LIMIT_OF_CODE) : maxLimit },
    getResource: (name) => entities.get(name)!.resource,
    byCode,
  });
  const wanted = operation.system ? query.conditions : await checkRelatedVisibility(query.conditions, operation);
  const sort = sortsByRelated(query.sort) ? await checkSortVisibility(query.sort, operation) : query.sort;
  const narrowed = [...allowed, ...(await policyConditionsForDeletedList(resource, query.deleted, operation))];
  return {
    query: { ...query, sort },
    allowed: narrowed,
    whole: { ...query, sort, conditions: [...narrowed, ...wanted] },
    from: chooseStore(entity, query),
  };
}

/** The store with the records that a query asks for: those that exist, or deleted ones too. */
export function chooseStore({ store, archive }: Entity, { deleted }: ListQuery): Store {
  return deleted === undefined ? store : archive![deleted];
}

/** Advice that makes a list query faster, for its client. */
function speedAdvice(
  resource: CompiledResource,
  { page, limit, sort, count }: ListQuery,
  { q, after }: RawQuery,
): string {
  const isDeep = after === undefined && (page - 1) * limit > MAX_FAST_OFFSET;
  const fastSorts = fieldsSortableBySomeClient(resource).filter(
    (field) => resource.indexedSorts.has(field) && resource.field.get(field)?.visibleTo === undefined,
  );
  const advice = [
    'add a filter',
    ...(typeof q === 'string' && q !== '' ? ['search for a longer text (three letters or more)'] : []),
    ...(isDeep ? ['continue with "after" instead of a high "page"'] : []),
    ...(resource.indexedSorts.has(sort[0]!.field) || fastSorts.length === 0 ? [] : [`sort by ${fastSorts.join(', ')}`]),
    ...(count === 'exact' ? ['limit the total with count=capped or count=none'] : []),
  ];
  return advice.length < 2 ? advice.join() : `${advice.slice(0, -1).join(', ')} or ${advice.at(-1)}`;
}

/**
 * Runs the statements of a list. A statement timeout becomes the ApiError UNAVAILABLE, with advice for the client.
 *
 * @param raw the query as requested
 */
async function runListWithTimeoutError<T>(
  resource: CompiledResource,
  query: ListQuery,
  raw: RawQuery,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    const message = `This list takes too long to read; ${speedAdvice(resource, query, raw)}`;
    throw new ApiError('UNAVAILABLE', message, { cause: error });
  }
}

/**
 * Lists the records that the caller may list.
 *
 * @param options `byCode`: code passes the query, with typed values, rather than a client with texts; `source`: where to read the
 *   list, by default from the primary; `maxBytes`: maximum bytes of the page, by default unlimited for code
 */
export async function listRecords(
  context: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  operation: OperationContext,
  {
    byCode = false,
    source,
    maxBytes = byCode ? undefined : context.settings.http.pageBytes,
  }: { byCode?: boolean; source?: ListSource | Promise<ListSource>; maxBytes?: number | undefined } = {},
): Promise<StoredPage> {
  const { allowed, query, whole } = await parseAndAuthorizeList(context, entity, raw, operation, byCode);
  const from = chooseStore((await source)?.entity ?? entity, query);
  return runListWithTimeoutError(entity.resource, query, raw, async () => {
    const after = await resolveStartPosition(entity, from, query, allowed);
    const pageRead = { store: from, query: whole, after, operation, bytes: maxBytes };
    return { ...(await readPage(entity.resource, pageRead)), query };
  });
}

/** The first record of a list for code, among the records that the caller may list. */
export async function readFirstRecord(
  context: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  operation: OperationContext,
): Promise<StoredRecord | undefined> {
  const { allowed, query, whole, from } = await parseAndAuthorizeList(context, entity, raw, operation, true);
  return runListWithTimeoutError(entity.resource, query, raw, async () => {
    const slice: Slice = { limit: 1, offset: 0, after: await resolveStartPosition(entity, from, query, allowed) };
    return (await from.list(whole, slice, whole.slow))[0];
  });
}

/** The total of a list for code, among the records that the caller may list. */
export async function countRecords(
  context: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  operation: OperationContext,
): Promise<number> {
  const { whole, from } = await parseAndAuthorizeList(context, entity, raw, operation, true);
  return runListWithTimeoutError(entity.resource, whole, raw, () => from.count(whole, whole.slow));
}

const PAGING_PARAMETERS = ['page', 'limit', 'after'];

/** The position after a record that was just read. */
async function positionAfterPage(
  { resource }: Entity,
  store: Store,
  sort: ListQuery['sort'],
  record: StoredRecord,
): Promise<Position> {
  if (!sortsByRelated(sort)) return getSortPosition(sort, record);
  const position = await store.positionOf(record.id, sort, []);
  if (position !== undefined) return position;
  throw new ApiError(
    'CONFLICT',
    `A ${resource.name} was deleted while the list was read in an order that depends on it`,
  );
}

/**
 * Reads a whole list page by page, for code. Each page continues after the last record of the previous page. Policy and scope are evaluated
 * once, at the beginning.
 */
export async function* readRecordPages(
  context: RecordsContext,
  entity: Entity,
  raw: RawQuery,
  operation: OperationContext,
): AsyncGenerator<StoredRecord[]> {
  const part = PAGING_PARAMETERS.find((name) => raw[name] !== undefined);
  if (part !== undefined) throw queryError(`each() reads every record of a list; leave out "${part}"`);
  const { whole, from } = await runAsActor(actorOf(operation), () =>
    parseAndAuthorizeList(context, entity, raw, operation, true),
  );
  const ordered = { ...whole, sort: raw.sort === undefined ? BY_ID : whole.sort };
  let after: Position | undefined;
  for (;;) {
    const slice: Slice = { limit: EACH_PAGE_LENGTH, offset: 0, after };
    const records = await runListWithTimeoutError(entity.resource, ordered, raw, () =>
      from.list(ordered, slice, ordered.slow),
    );
    yield records;
    if (records.length < EACH_PAGE_LENGTH) return;
    after = await positionAfterPage(entity, from, ordered.sort, records.at(-1)!);
  }
}

/**
 * The conditions of all records that match a filter of code and that the caller may list.
 *
 * @param where only filters
 */
export async function parseSelectedRecords(
  context: RecordsContext,
  entity: Entity,
  where: RawQuery,
  operation: OperationContext,
): Promise<readonly ListCondition[]> {
  return (await parseAndAuthorizeList(context, entity, where, operation, true)).whole.conditions;
}
