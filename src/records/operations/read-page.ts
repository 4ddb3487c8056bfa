import type { StoredRecord } from '../../declare/host.ts';
import type { CursorMeta, PageMeta } from '../../declare/service.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { createCursorAfter } from '../query/cursor.ts';
import { type ListQuery, MAX_FAST_OFFSET, type Position, sortsByRelated } from '../query/list-query.ts';
import type { Slice } from '../query/sql/list-statements.ts';
import type { FittingPage } from '../query/sql/within-bytes.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { readPageWithinResponseRoom } from '../serialize/response-bytes.ts';
import type { Store } from '../store/store.ts';

// The number at which `count=capped` stops counting.
const MAX_CAPPED_TOTAL = 10_000;

/** How to read a page. */
interface PageRead {
  store: Store;
  query: ListQuery;
  after: Position | undefined;
  operation: OperationContext;
  /** Maximum bytes of the records, as JSON; undefined for reads by code, which are not truncated. */
  bytes: number | undefined;
}

/** Stored records of a page, and the page's metadata. */
interface PageResult {
  records: StoredRecord[];
  meta: PageMeta | CursorMeta;
}

interface PageRecords extends FittingPage<StoredRecord> {
  /** The last row that a search in a window examined, if the list may continue after it. */
  end?: StoredRecord | undefined;
}

/** Reads the records of a slice, as many as fit into the response. */
async function readSlice(
  { store, query, after, operation, bytes }: PageRead,
  slice: Omit<Slice, 'after'>,
): Promise<PageRecords> {
  if (bytes === undefined) {
    return { records: await store.list(query, { ...slice, after }, query.slow), isCut: false };
  }
  const { windowSearch: search } = query;
  if (search === undefined) {
    return readPageWithinResponseRoom(operation.req, bytes, (room) =>
      store.listWithin(query, { ...slice, after }, query.slow, room),
    );
  }
  let end: StoredRecord | undefined;
  const page = await readPageWithinResponseRoom(operation.req, bytes, async (room) => {
    const searched = await store.searchWithin({ ...query, search }, { ...slice, after }, room);
    end = searched.end;
    return searched;
  });
  return page.isCut ? page : { ...page, end };
}

/** The slice of a deep page, read from the nearer end of the list. */
function readFromNearerEnd({ limit, offset }: Slice, total: number): Omit<Slice, 'after'> {
  const rows = Math.min(limit, total - offset);
  const rowsBehind = total - offset - rows;
  return offset > MAX_FAST_OFFSET && rowsBehind < offset
    ? { limit: rows, offset: rowsBehind, fromEnd: true }
    : { limit, offset };
}

/** Reads a deep slice from the range in which it begins; undefined if the list has no ranges. */
async function readFromRange(pageRead: PageRead, slice: Omit<Slice, 'after'>): Promise<PageRecords | undefined> {
  const { store, query, after } = pageRead;
  if (after !== undefined || query.windowSearch !== undefined) return undefined;
  if (!store.beginsInRange(query, slice.offset)) return undefined;
  const page = await readSlice(pageRead, { ...slice, byRanges: true });
  // Either the list has become shorter, or the ranges are gone.
  return page.records.length === 0 ? undefined : page;
}

/** Reads the records of a slice, and counts the whole list. */
async function readSliceAndTotal(pageRead: PageRead, slice: Omit<Slice, 'after'>): Promise<[PageRecords, number]> {
  const { store, query } = pageRead;
  if (slice.offset === 0 || !query.slow) {
    return Promise.all([readSlice(pageRead, slice), store.count(query, query.slow)]);
  }
  // Skipping rows takes time, so do not read a page beyond the end.
  const total = await store.count(query, query.slow);
  if (slice.offset >= total) return [{ records: [], isCut: false }, total];
  // Sorting by referenced records reads the whole list from either end.
  if (sortsByRelated(query.sort)) return [await readSlice(pageRead, slice), total];
  const fromRange = await readFromRange(pageRead, slice);
  if (fromRange !== undefined) return [fromRange, total];
  return [await readSlice(pageRead, readFromNearerEnd({ ...slice, after: undefined }, total)), total];
}

/** A total that may be capped, as in the metadata of a page. */
type CappedTotal = Pick<PageMeta, 'total' | 'totalCapped'>;

async function countUpToCap({ store, query }: PageRead): Promise<CappedTotal> {
  const { windowSearch: search } = query;
  const { matches, isFull } =
    search === undefined
      ? { matches: await store.count(query, query.slow, MAX_CAPPED_TOTAL + 1), isFull: false }
      : await store.countSearched({ ...query, search });
  const total = Math.min(matches, MAX_CAPPED_TOTAL);
  return isFull || matches > total ? { total, totalCapped: true } : { total };
}

/** Reads the records of a slice, and counts the list up to the cap, or not at all. */
async function readSliceAndCappedTotal(
  pageRead: PageRead,
  slice: Omit<Slice, 'after'>,
): Promise<[PageRecords, CappedTotal | undefined]> {
  const readRows = async () => (await readFromRange(pageRead, slice)) ?? readSlice(pageRead, slice);
  if (pageRead.query.count === 'none') return [await readRows(), undefined];
  if (slice.offset <= MAX_FAST_OFFSET) return Promise.all([readSlice(pageRead, slice), countUpToCap(pageRead)]);
  const counted = await countUpToCap(pageRead);
  return [counted.totalCapped ? await readRows() : { records: [], isCut: false }, counted];
}

/** Reads a page of a list, with the total that its query requests. */
export async function readPage(resource: CompiledResource, pageRead: PageRead): Promise<PageResult> {
  const { query } = pageRead;
  const { page, limit } = query;
  const offset = (page - 1) * limit;
  const nextCursorOf = (record: StoredRecord) => createCursorAfter(resource, query, record);
  if (query.count === 'exact') {
    const [{ records, isCut }, total] = await readSliceAndTotal(pageRead, { limit, offset });
    const isMore = isCut || (records.length === limit && offset + limit < total);
    const next = isMore ? { next: nextCursorOf(records.at(-1)!) } : {};
    const truncated = isCut ? { truncated: true as const } : {};
    return { records, meta: { total, page, limit, pages: Math.ceil(total / limit), ...next, ...truncated } };
  }
  // The additional record shows whether a next page exists. If only that record did not fit, the page is complete.
  const [{ records, isCut, end }, counted] = await readSliceAndCappedTotal(pageRead, { limit: limit + 1, offset });
  const hasExtra = records.length > limit;
  if (hasExtra) records.pop();
  const last = isCut || hasExtra ? records.at(-1) : end;
  const next = last === undefined ? null : nextCursorOf(last);
  const truncated = next !== null && records.length < limit ? { truncated: true as const } : {};
  if (counted === undefined) return { records, meta: { limit, next, ...truncated } };
  const pages = Math.ceil(counted.total / limit);
  return { records, meta: { ...counted, page, limit, pages, ...(next === null ? {} : { next }), ...truncated } };
}
