import type { PageMeta } from '../records/page.ts';
import { ApiError } from '../request/errors.ts';
import type { QueryParameters, Requester } from '../request/request.ts';
import type { LoadedList } from './list-state.ts';
import type { ListRecord } from './sort-order.ts';

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

/** The default `pagination.maxLimit` of the server. */
const DEFAULT_MAX_LIMIT = 100;
/** A search may examine many records without a match, and return pages with few records. */
const MAX_SHORT_PAGES = 20;

/** Creates the function that loads the beginning of a list, in as many pages as necessary. */
export function createListLoader({ send }: Pick<Requester, 'send'>): (request: ListRequest) => Promise<LoadedList> {
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
