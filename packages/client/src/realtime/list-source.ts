import { encodeSelection, encodeWhere, type RecordSelection, type Where } from '../records/list-query.ts';
import type { PageMeta } from '../records/page.ts';
import { ApiError } from '../request/errors.ts';
import type { QueryParameters, Requester } from '../request/request.ts';
import type { ListRules, LoadedList } from './list-state.ts';
import { createSortOrder, type ListRecord } from './sort-order.ts';

/** The query of a live list. */
export interface LiveListQuery extends RecordSelection {
  where?: Where | undefined;
  /** Finds records that contain the text in a searchable field. The list is loaded again after each change that may concern it. */
  q?: string | undefined;
  /** The fields by which records are sorted; a `-` before a name reverses the order. Default `-createdAt`. */
  sort?: readonly string[] | string | undefined;
  /** The number of records, and of those that `loadMore` adds. Default 20. */
  limit?: number | undefined;
  /** How to count the total. Default: as the resource declares it, usually `exact`. */
  count?: 'exact' | 'capped' | 'none' | undefined;
}

/** What to load of a list. */
interface ListRequest {
  path: string;
  /** The parameters, without those of a page. */
  query: QueryParameters;
  /** The number of records to load. */
  size: number;
  /** The number of records that the server certainly returns in one page. */
  pageSize: number;
  signal: AbortSignal;
}

const DEFAULT_SORT = '-createdAt';
/** The default `pagination.maxLimit` of the server. */
const DEFAULT_MAX_LIMIT = 100;
/** A search may examine many records without a match, and return pages with few records. */
const MAX_SHORT_PAGES = 20;

/** Creates the function that loads the beginning of a list, in as many pages as necessary. */
function createListLoader({ send }: Pick<Requester, 'send'>): (request: ListRequest) => Promise<LoadedList> {
  let maxLimit = DEFAULT_MAX_LIMIT;

  async function loadPage({ path, query, signal }: ListRequest, limit: number, after: string | undefined) {
    return send<ListRecord[], PageMeta>({
      method: 'GET',
      path,
      // The total is that of the first page.
      query: { ...query, limit, after, ...(after !== undefined && { count: undefined }) },
      // A replica of the database may not have the changes yet that the events were about.
      headers: { 'Cache-Control': 'no-cache' },
      signal,
    });
  }

  /** Loads a page with a limit that may be too high for the server. */
  async function loadLargePage(
    request: ListRequest,
    limit: number,
    after: string | undefined,
  ): ReturnType<typeof loadPage> {
    try {
      return await loadPage(request, limit, after);
    } catch (error) {
      const isTooMuch = error instanceof ApiError && error.status === 400 && limit > request.pageSize;
      if (!isTooMuch) throw error;
      maxLimit = Math.max(request.pageSize, Math.floor(limit / 2));
      return loadLargePage(request, maxLimit, after);
    }
  }

  return async (request) => {
    const records: ListRecord[] = [];
    let counted: Pick<LoadedList, 'total' | 'isTotalCapped'> | undefined;
    let after: string | undefined;
    for (let shortPages = 0; ; ) {
      const limit = Math.min(request.size - records.length, maxLimit);
      const { data, meta } = await loadLargePage(request, limit, after);
      records.push(...data);
      counted ??= { total: meta.total, isTotalCapped: meta.totalCapped === true };
      if (data.length < Math.min(limit, maxLimit)) shortPages += 1;
      const isComplete = !meta.next;
      if (isComplete || records.length >= request.size || shortPages === MAX_SHORT_PAGES)
        return { records, isComplete, ...counted };
      after = meta.next!;
    }
  };
}

/** Leaves every place in the list to the server. */
const UNKNOWN_ORDER: ListRules['order'] = { compare: () => undefined, hasSameKeys: () => false };

/** Where the records of a live list come from. */
export type ListSource = ReturnType<typeof createListSource>;

/**
 * Creates the function that loads the beginning of a list, and the rules by which the list is kept.
 *
 * @param path the path of the resource
 * @param pageSize the number of records that the server certainly returns in one page
 */
export function createListSource(requester: Requester, path: string, query: LiveListQuery, pageSize: number) {
  const { where, q, count, include = [], fields } = query;
  const sort = [query.sort ?? DEFAULT_SORT].flat().flatMap((text) => text.split(','));
  const order = createSortOrder(sort);
  const load = createListLoader(requester);
  /** Fields that are loaded for the order of the list, but not shown. */
  let keyFields = fields === undefined ? [] : [...(order.fields ?? []), 'updatedAt'];

  function loadWithKeys(size: number, signal: AbortSignal): Promise<LoadedList> {
    const selected = fields && [...new Set([...fields, ...keyFields])];
    const selection = encodeSelection({ include, fields: selected });
    return load({
      path,
      size,
      pageSize,
      signal,
      query: { ...encodeWhere(where), q, sort: sort.join(), count, ...selection },
    });
  }

  return {
    rules: (capacity: number): ListRules => ({
      order: fields !== undefined && keyFields.length === 0 ? UNKNOWN_ORDER : order,
      capacity,
      canUseData: !q && include.length === 0 && order.fields !== undefined,
    }),
    async load(size: number, signal: AbortSignal): Promise<LoadedList> {
      try {
        return await loadWithKeys(size, signal);
      } catch (cause) {
        if (!(cause instanceof ApiError) || cause.status !== 400 || keyFields.length === 0) throw cause;
        // The fields for the order may not exist, because the resource has no timestamps.
        keyFields = [];
        return loadWithKeys(size, signal);
      }
    },
    learn: order.learn,
  };
}
